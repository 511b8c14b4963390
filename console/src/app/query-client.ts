import { QueryCache, QueryClient } from '@tanstack/react-query';
import { ApiError } from '../api/client.ts';
import { Outdated } from '../api/outdated.ts';

const queryCache = new QueryCache({
  onError(error, query) {
    if (query.state.data === undefined) return;
    outdated.add(query, error);
    // What is shown stays: pages show errors only instead of what has never come.
    query.setState({ status: 'success', error: null });
  },
});

/** What is shown, but could not be read again. */
export const outdated = new Outdated(queryCache);

/**
 * What the server refused is not asked for again; what did not reach it waits until it can be. What changes something does
 * not: whoever clicked is told at once.
 */
export const queryClient = new QueryClient({
  queryCache,
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
