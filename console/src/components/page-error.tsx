import { Title } from '@mantine/core';
import { ApiError } from '../api/client.ts';
import { NotFound } from '../app/not-found.tsx';
import { ErrorMessage } from './error-message.tsx';

/** Why a page cannot be shown: there is nothing at its address, or something went wrong. */
export function PageError({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  if (error instanceof ApiError && error.status === 404) return <NotFound />;
  return (
    <>
      <Title order={1} size="h2" mb="lg">
        The page cannot be shown
      </Title>
      <ErrorMessage error={error} onRetry={onRetry} />
    </>
  );
}
