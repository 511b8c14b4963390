import { Anchor, Button, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDocumentTitle } from '@mantine/hooks';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { register } from '../../api/accounts.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { OutsideFrame } from '../sign-in/outside-frame.tsx';

export default function RegisterPage() {
  useDocumentTitle('Register · Parley');
  const navigate = useNavigate();
  const [error, setError] = useState<unknown>();
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { name: '', email: '', password: '', org_name: '', setup_code: '' },
    validate: {
      name: (value) => (value.trim() === '' ? 'Enter your name' : null),
      email: (value) => (value.includes('@') ? null : 'Enter your e-mail address'),
      password: (value) => (value === '' ? 'Choose a password' : null),
    },
  });
  async function submit(values: typeof form.values) {
    setError(undefined);
    const { org_name, setup_code } = values;
    try {
      await register({
        name: values.name.trim(),
        email: values.email.trim(),
        password: values.password,
        ...(org_name.trim() !== '' && { org_name: org_name.trim() }),
        ...(setup_code.trim() !== '' && { setup_code: setup_code.trim() }),
      });
      await navigate({ to: '/', replace: true });
    } catch (reason) {
      setError(reason);
    }
  }
  return (
    <OutsideFrame>
      <form onSubmit={form.onSubmit(submit)} noValidate>
        <Stack>
          <div>
            <Title order={1} size="h3">
              Register
            </Title>
            <Text c="dimmed" size="sm">
              The first person of an installation needs the setup code that it printed when it started.
            </Text>
          </div>
          {error !== undefined && <ErrorMessage error={error} />}
          <TextInput label="Name" autoComplete="name" autoFocus {...form.getInputProps('name')} />
          <TextInput label="E-mail" type="email" autoComplete="username" {...form.getInputProps('email')} />
          <PasswordInput label="Password" autoComplete="new-password" {...form.getInputProps('password')} />
          <TextInput
            label="Organisation"
            description="Its name, if this makes a new one"
            autoComplete="organization"
            {...form.getInputProps('org_name')}
          />
          <TextInput label="Setup code" autoComplete="off" {...form.getInputProps('setup_code')} />
          <Button type="submit" loading={form.submitting} fullWidth>
            Register
          </Button>
          <Anchor component={Link} to="/sign-in" size="sm" underline="always">
            Sign in instead
          </Anchor>
        </Stack>
      </form>
    </OutsideFrame>
  );
}
