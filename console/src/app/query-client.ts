import { QueryClient } from '@tanstack/react-query';
import { ApiError } from '../api/client.ts';

/**
 * What the server refused is not asked for again; what did not reach it waits until it can be. What changes something does
 * not: whoever clicked is told at once.
 */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      refetchOnWindowFocus: true,
      refetchOnReconnect: 'always',
      retry: (count, error) =>
        count < 2 && !(error instanceof ApiError && error.status >= 400 && error.status < 500),
    },
    mutations: { networkMode: 'always' },
  },
});
