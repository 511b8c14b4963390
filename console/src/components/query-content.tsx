import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ErrorMessage } from './error-message.tsx';
import { Loading } from './loading.tsx';

/** What a query found; until then that it is on its way, or why it did not come. */
export function QueryContent<Data>({
  query,
  children,
}: {
  query: UseQueryResult<Data>;
  children: (data: Data) => ReactNode;
}) {
  const { data, error, refetch } = query;
  if (data !== undefined) return <>{children(data)}</>;
  if (error) return <ErrorMessage error={error} onRetry={() => void refetch()} />;
  return <Loading />;
}
