import { Button, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDocumentTitle } from '@mantine/hooks';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState, useSyncExternalStore } from 'react';
import { acceptInvite } from '../../api/accounts.ts';
import { api, take } from '../../api/client.ts';
import { renew, session } from '../../api/session.ts';
import { queryClient } from '../../app/query-client.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { OutsideFrame } from '../sign-in/outside-frame.tsx';
import { takeToken } from '../sign-in/mailed-token.ts';

/** Where the link of an invite leads: for somebody new, or for who is signed in. */
export default function AcceptInvitePage() {
  useDocumentTitle('Invite · Parley');
  const navigate = useNavigate();
  const [token] = useState(takeToken);
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const state = useSyncExternalStore(session.subscribe, () => session.state);
  useEffect(() => {
    if (state === 'unknown') renew().catch(setError);
  }, [state]);
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { name: '', email: '', password: '' },
    validate: {
      name: (value) => (value.trim() === '' ? 'Enter your name' : null),
      email: (value) => (value.includes('@') ? null : 'Enter the address that was invited'),
      password: (value) => (value === '' ? 'Choose a password' : null),
    },
  });
  async function run(accept: () => Promise<unknown>) {
    setError(undefined);
    setBusy(true);
    try {
      await accept();
      queryClient.clear();
      await navigate({ to: '/', replace: true });
    } catch (reason) {
      setError(reason);
      setBusy(false);
    }
  }
  return (
    <OutsideFrame>
      <Stack>
        <Title order={1} size="h3">
          You are invited
        </Title>
        {error !== undefined && <ErrorMessage error={error} />}
        {state === 'in' ? (
          <Button
            loading={busy}
            onClick={() => void run(() => take(api.POST('/auth/v1/invites/accept', { body: { token } })))}
          >
            Join with your account
          </Button>
        ) : (
          <form
            onSubmit={form.onSubmit((person) =>
              run(() =>
                acceptInvite(token, { ...person, email: person.email.trim(), name: person.name.trim() }),
              ),
            )}
            noValidate
          >
            <Stack>
              <Text c="dimmed" size="sm">
                If you have an account here, sign in first and open the link again.
              </Text>
              <TextInput label="Name" autoComplete="name" {...form.getInputProps('name')} />
              <TextInput
                label="E-mail"
                type="email"
                autoComplete="username"
                {...form.getInputProps('email')}
              />
              <PasswordInput
                label="Password"
                autoComplete="new-password"
                {...form.getInputProps('password')}
              />
              <Button type="submit" loading={busy}>
                Join
              </Button>
            </Stack>
          </form>
        )}
      </Stack>
    </OutsideFrame>
  );
}
