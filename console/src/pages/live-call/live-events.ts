import { useEffect, useReducer, useState } from 'react';
import { followEvents } from '../../api/client.ts';
import type { StreamState } from '../../api/follow-events.ts';
import type { LogEvent } from '../call/session-log.ts';
import { EMPTY_LOG, withEvent, type LiveLog } from './live-log.ts';

/** Follows a call from its first event on. The component has the session as its key: another one begins anew. */
export function useLiveEvents(sessionId: string): { log: LiveLog; state: StreamState; error: unknown } {
  const [log, take] = useReducer(withEvent, EMPTY_LOG);
  const [state, setState] = useState<StreamState>('connecting');
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const leaving = new AbortController();
    followEvents(`/v1/sessions/${sessionId}/events`, {
      onEvent: ({ data }) => take(JSON.parse(data) as LogEvent),
      onState: setState,
      signal: leaving.signal,
    }).catch(setError);
    return () => leaving.abort();
  }, [sessionId]);
  return { log, state, error };
}
