import { Button, Center, Group, Modal, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core';
import { useState } from 'react';
import type { FormEvent } from 'react';
import { session } from '../api/session.ts';
import { ErrorMessage } from '../components/error-message.tsx';
import type { Profile } from './project.ts';
import { queryClient } from './query-client.ts';

/** Above dialogs, drawers and notifications. */
const ABOVE_ALL = 2000;

/** Over the page while the sign-in has run out. The page stays as it is behind it, with what was typed. */
export function SignInAgain() {
  const known = queryClient.getQueryData<Profile>(['profile'])?.email;
  const [email, setEmail] = useState(known ?? '');
  const [password, setPassword] = useState('');
  const [attempt, setAttempt] = useState<{ busy: boolean; error?: unknown }>({ busy: false });
  async function signIn(event: FormEvent) {
    event.preventDefault();
    setAttempt({ busy: true });
    await session
      .signIn(email.trim(), password)
      .catch((error: unknown) => setAttempt({ busy: false, error }));
  }
  return (
    <Modal
      opened
      fullScreen
      onClose={() => {}}
      closeOnEscape={false}
      withCloseButton={false}
      zIndex={ABOVE_ALL}
      transitionProps={{ duration: 0 }}
      attributes={{ content: { 'aria-label': 'Sign in again' } }}
    >
      <Center mih="80vh">
        <form onSubmit={(event) => void signIn(event)} style={{ width: '100%', maxWidth: 380 }}>
          <Stack>
            <div>
              <Title order={1} size="h3">
                Sign in again
              </Title>
              <Text c="dimmed" size="sm">
                Your sign-in has ended. The page is kept as it is, with what you typed.
              </Text>
            </div>
            {attempt.error !== undefined && <ErrorMessage error={attempt.error} />}
            <TextInput
              label="E-mail"
              type="email"
              autoComplete="username"
              value={email}
              readOnly={known !== undefined}
              onChange={(event) => setEmail(event.currentTarget.value)}
            />
            <PasswordInput
              label="Password"
              autoComplete="current-password"
              value={password}
              onChange={(event) => setPassword(event.currentTarget.value)}
              data-autofocus
            />
            <Button type="submit" loading={attempt.busy} disabled={password === ''} fullWidth>
              Sign in
            </Button>
            <Group justify="center">
              <Button variant="subtle" size="compact-sm" onClick={() => void session.signOut()}>
                Sign in as somebody else
              </Button>
            </Group>
          </Stack>
        </form>
      </Center>
    </Modal>
  );
}
