import { sleep } from '@parley/shared/async/timeout';
import type { RestClient } from './rest-client.ts';

export interface SessionEvent {
  index: number;
  offset_ms: number;
  type: string;
  data: Record<string, unknown>;
}

const POLL_MS = 200;

/**
 * Follows a session's events as they are written, in order, until its end was reported.
 * @param onEvent told each event once
 */
export async function followSession(
  rest: RestClient,
  sessionId: string,
  onEvent: (event: SessionEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  let after = -1;
  for (;;) {
    const query = after < 0 ? '' : `&after_index=${after}`;
    const page = await rest.get<{ items: SessionEvent[] }>(
      `/v1/sessions/${sessionId}/events?limit=200${query}`,
    );
    for (const event of page.items) {
      after = Math.max(after, event.index);
      onEvent(event);
      if (event.type === 'call_ended') return;
    }
    if (page.items.length === 0) await sleep(POLL_MS, signal);
  }
}

/** Waits until everything after the call is done: analysis, and the webhook. @returns the session as it then is */
export async function waitForPostCall<
  T extends { status: string; detail?: { post_call?: { status: string } } },
>(rest: RestClient, sessionId: string, timeoutMs: number, signal: AbortSignal): Promise<T> {
  const until = Date.now() + timeoutMs;
  for (;;) {
    const session = await rest.get<T>(`/v1/sessions/${sessionId}`);
    const state = session.detail?.post_call?.status;
    if (state === 'done' || state === 'failed' || state === 'skipped' || Date.now() > until) return session;
    await sleep(POLL_MS, signal);
  }
}
