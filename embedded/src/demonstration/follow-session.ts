import { sleep } from '@parley/shared/async/timeout';
import { TERMINAL_STATUSES } from '@parley/shared/contracts/session-values';
import type { RestClient } from './rest-client.ts';

export interface SessionEvent {
  index: number;
  /** ISO 8601, when it was written down. */
  at: string;
  offset_ms: number;
  type: string;
  data: Record<string, unknown>;
}

const POLL_MS = 400;

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
    // What was said stands in the transcript alone: events only tell that a turn was.
    const said = page.items.some((event) => event.type === 'turn')
      ? await readTranscript(rest, sessionId)
      : undefined;
    for (const event of page.items) {
      after = Math.max(after, event.index);
      const text = event.type === 'turn' ? said?.get(Number(event.data['turn_index'])) : undefined;
      onEvent(text === undefined ? event : { ...event, data: { ...event.data, text } });
      // A call that nobody answered has no report: its last state is the end.
      if (event.type === 'call_ended' || isLastState(event)) return;
    }
    if (page.items.length === 0) await sleep(POLL_MS, signal);
  }
}

function isLastState({ type, data }: SessionEvent): boolean {
  return type === 'state' && TERMINAL_STATUSES.some((status) => status === data['status']);
}

async function readTranscript(rest: RestClient, sessionId: string): Promise<Map<number, string>> {
  const { items } = await rest.get<{ items: { index: number; text: string }[] }>(
    `/v1/sessions/${sessionId}/transcript`,
  );
  return new Map(items.map((turn) => [turn.index, turn.text]));
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
