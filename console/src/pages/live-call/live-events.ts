import { useEffect, useReducer, useRef, useState } from 'react';
import { followEvents } from '../../api/client.ts';
import type { StreamState } from '../../api/follow-events.ts';
import type { LogEvent } from '../call/session-log.ts';
import { EMPTY_LOG, withEvent, type LiveLog } from './live-log.ts';

/**
 * Follows a call from its first event on. The component has the session as its key: another one begins anew.
 * @returns `error`: why the server refuses to go on, until `retry` asks it again; what was told before stays
 */
export function useLiveEvents(sessionId: string): {
  log: LiveLog;
  state: StreamState;
  error: unknown;
  retry: () => void;
} {
  const [log, take] = useReducer(withEvent, EMPTY_LOG);
  const [state, setState] = useState<StreamState>('connecting');
  const [error, setError] = useState<unknown>();
  const [tries, setTries] = useState(1);
  const last = useRef('');
  useEffect(() => {
    const leaving = new AbortController();
    followEvents(`/v1/sessions/${sessionId}/events`, {
      onEvent({ id, data }) {
        last.current = id;
        take(JSON.parse(data) as LogEvent);
      },
      onState: setState,
      signal: leaving.signal,
      lastEventId: last.current,
    }).catch((failure: unknown) => !leaving.signal.aborted && setError(failure));
    return () => leaving.abort();
  }, [sessionId, tries]);
  const retry = () => {
    setError(undefined);
    setTries(tries + 1);
  };
  return { log, state, error, retry };
}
