import { Anchor, Button, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDocumentTitle } from '@mantine/hooks';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, take } from '../../api/client.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { takeToken } from '../sign-in/mailed-token.ts';
import { OutsideFrame } from '../sign-in/outside-frame.tsx';

/** Asks for a link by mail; with the token of one, for the new password. */
export default function ResetPasswordPage() {
  useDocumentTitle('Password · Parley');
  const [token] = useState(takeToken);
  const [done, setDone] = useState(false);
  const [error, setError] = useState<unknown>();
  const form = useForm({ mode: 'uncontrolled', initialValues: { email: '', password: '' } });
  async function submit({ email, password }: { email: string; password: string }) {
    setError(undefined);
    try {
      if (token === '') await take(api.POST('/auth/v1/password/forgot', { body: { email: email.trim() } }));
      else await take(api.POST('/auth/v1/password/reset', { body: { token, new_password: password } }));
      setDone(true);
    } catch (reason) {
      setError(reason);
    }
  }
  return (
    <OutsideFrame>
      <form onSubmit={form.onSubmit(submit)} noValidate>
        <Stack>
          <Title order={1} size="h3">
            {token === '' ? 'Forgotten password' : 'New password'}
          </Title>
          {error !== undefined && <ErrorMessage error={error} />}
          {done ? (
            <Text size="sm" role="status">
              {token === ''
                ? 'If there is an account with this address, a link is on its way to it.'
                : 'Your password is changed, and all sign-ins have ended.'}
            </Text>
          ) : token === '' ? (
            <>
              <TextInput
                label="E-mail"
                type="email"
                autoComplete="username"
                {...form.getInputProps('email')}
              />
              <Button type="submit" loading={form.submitting}>
                Send a link
              </Button>
            </>
          ) : (
            <>
              <PasswordInput
                label="New password"
                autoComplete="new-password"
                {...form.getInputProps('password')}
              />
              <Button type="submit" loading={form.submitting}>
                Change the password
              </Button>
            </>
          )}
          <Anchor component={Link} to="/sign-in" size="sm" underline="always">
            Sign in
          </Anchor>
        </Stack>
      </form>
    </OutsideFrame>
  );
}
