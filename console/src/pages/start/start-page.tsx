import { Button, Stack, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { session } from '../../api/session.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { Loading } from '../../components/loading.tsx';
import { OutsideFrame } from '../sign-in/outside-frame.tsx';

/** Taken from the address before anything else sees it: it is good for one sign-in. */
let attempt: Promise<void> | undefined;

function signInOnce(): Promise<void> {
  if (!attempt) {
    const code = new URLSearchParams(location.hash.slice(1)).get('code') ?? '';
    history.replaceState(history.state, '', '/start');
    attempt = session.signInByCode(code);
  }
  return attempt;
}

/** Where the link of `npm start` leads: signs in and goes on. */
export default function StartPage() {
  useDocumentTitle('Welcome · Parley');
  const navigate = useNavigate();
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    signInOnce().then(() => navigate({ to: '/', replace: true }), setError);
  }, [navigate]);
  if (error === undefined) return <Loading label="Signing in" height="100vh" />;
  return (
    <OutsideFrame>
      <Stack>
        <Title order={1} size="h3">
          This link does not sign you in
        </Title>
        <ErrorMessage error={error} />
        <Button component={Link} to="/sign-in" variant="default">
          Sign in with a password
        </Button>
      </Stack>
    </OutsideFrame>
  );
}
