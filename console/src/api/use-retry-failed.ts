import { useQueryClient } from '@tanstack/react-query';

/** Asks again for all that the page at hand shows and could not get: one failure is told where several may be behind it. */
export function useRetryFailed(): () => void {
  const queries = useQueryClient();
  return () =>
    void queries.refetchQueries({ type: 'active', predicate: ({ state }) => state.status === 'error' });
}
