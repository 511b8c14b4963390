import { Anchor, Button, Group, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDocumentTitle } from '@mantine/hooks';
import { Link, Navigate, useNavigate, useSearch } from '@tanstack/react-router';
import { useState, useSyncExternalStore } from 'react';
import { session } from '../../api/session.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { OutsideFrame } from './outside-frame.tsx';
import { safeTarget } from './safe-target.ts';

export default function SignInPage() {
  useDocumentTitle('Sign in · Parley');
  const search: { to?: unknown } = useSearch({ strict: false });
  const target = safeTarget(search.to);
  const navigate = useNavigate();
  const state = useSyncExternalStore(session.subscribe, () => session.state);
  const [error, setError] = useState<unknown>();
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { email: '', password: '' },
    validate: {
      email: (value) => (value.trim() === '' ? 'Enter your e-mail address' : null),
      password: (value) => (value === '' ? 'Enter your password' : null),
    },
  });
  async function signIn({ email, password }: { email: string; password: string }) {
    setError(undefined);
    try {
      await session.signIn(email.trim(), password);
      await navigate({ to: target, replace: true });
    } catch (reason) {
      setError(reason);
    }
  }
  if (state === 'in' && !form.submitting) return <Navigate to={target} replace />;
  return (
    <OutsideFrame>
      <form onSubmit={form.onSubmit(signIn)} noValidate>
        <Stack>
          <div>
            <Title order={1} size="h3">
              Sign in
            </Title>
            <Text c="dimmed" size="sm">
              to the console of this installation
            </Text>
          </div>
          {error !== undefined && <ErrorMessage error={error} />}
          <TextInput
            label="E-mail"
            type="email"
            autoComplete="username"
            autoFocus
            key={form.key('email')}
            {...form.getInputProps('email')}
          />
          <PasswordInput
            label="Password"
            autoComplete="current-password"
            key={form.key('password')}
            {...form.getInputProps('password')}
          />
          <Button type="submit" loading={form.submitting} fullWidth>
            Sign in
          </Button>
          <Group justify="space-between">
            <Anchor component={Link} to="/reset-password" size="sm" underline="always">
              Forgotten password
            </Anchor>
            <Anchor component={Link} to="/register" size="sm" underline="always">
              Register
            </Anchor>
          </Group>
        </Stack>
      </form>
    </OutsideFrame>
  );
}
