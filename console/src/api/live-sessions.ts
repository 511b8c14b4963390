import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { followEvents } from './client.ts';
import type { StreamState } from './follow-events.ts';

/** Changes that come within this time are one. */
const TOGETHER_MS = 300;

/**
 * Follows the sessions of a project while a page shows them: whenever one begins, changes its status or ends, the lists of
 * calls are read again (queries whose key begins with `calls` and the project).
 * @returns how the stream stands; null where the server refuses it, and lists are to be looked at now and then
 */
export function useLiveSessions({
  orgId,
  projectId,
}: {
  orgId: string;
  projectId: string;
}): StreamState | null {
  const client = useQueryClient();
  const [state, setState] = useState<StreamState | null>('connecting');
  useEffect(() => {
    const leaving = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const changed = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        void client.invalidateQueries({
          predicate: ({ queryKey: [what, project] }) => what === 'calls' && project === projectId,
          refetchType: 'active',
        });
      }, TOGETHER_MS);
    };
    followEvents(`/v1/orgs/${orgId}/projects/${projectId}/sessions/live`, {
      onEvent: changed,
      onState(next) {
        setState(next);
        // What came while nothing was followed.
        if (next === 'open') changed();
      },
      signal: leaving.signal,
    }).catch(() => setState(null));
    return () => {
      leaving.abort();
      clearTimeout(timer);
    };
  }, [client, orgId, projectId]);
  return state;
}
