import { sleep, TimeoutError, withTimeout } from '@parley/shared/async/timeout';
import type { CallOrder, CallOutcome, PlacedCall } from './call-order.ts';
import { BROWSER_NOTES } from './conversation.ts';
import { followSession, waitForPostCall } from './follow-session.ts';
import { ConversationPrinter, type Write } from './print-conversation.ts';
import { RestError, type RestClient } from './rest-client.ts';

/** One line of JSON for programs: what became of a call. */
export interface CallResult {
  carrier: CallOrder['carrier'];
  session_id: string;
  status: string;
  ended_by: string | null;
  hangup_reason: string | null;
  failure_reason: string | null;
  /** How the last attempt to transfer the call came out; null when there was none. */
  transfer: 'bridged' | 'failed' | null;
  transferred_to: string | null;
  duration_seconds: number | null;
  turns: {
    role: string;
    text: string;
    start_ms: number;
    end_ms: number;
    interrupted: boolean;
    latency_ms: number | null;
  }[];
  tools: { name: string; ok: boolean; code: string | null; duration_ms: number }[];
  /** Entries of keys, as the agent got them. */
  keys: string[];
  /** What this way of calling cannot do. */
  notes: readonly string[];
  recording_id: string | null;
  /** Below the data folder; null when nothing was recorded. */
  recording_path: string | null;
}

interface Session {
  session_id: string;
  status: string;
  ended_by: string | null;
  hangup_reason: string | null;
  failure_reason: string | null;
  duration_seconds: number | null;
  detail?: { post_call?: { status: string } };
}

const FIND_LIMIT_MS = 10_000;
const POST_CALL_LIMIT_MS = 60_000;
const OUTCOME_LIMIT_MS = 15_000;

/** Prints a placed call as it happens and waits until everything after it is done. */
export async function followCall(options: {
  carrier: CallOrder['carrier'];
  rest: RestClient;
  orgId: string;
  projectId: string;
  placed: PlacedCall;
  outcome: Promise<CallOutcome>;
  write: Write;
  signal: AbortSignal;
}): Promise<CallResult> {
  const { rest, placed, write, signal } = options;
  options.outcome.catch(() => {});
  const sessionId = placed.session_id ?? (await findSession(options));
  const notes = options.carrier === 'browser' ? BROWSER_NOTES : [];
  const printer = new ConversationPrinter(write);
  for (const note of notes) printer.note(note);
  let recording: Record<string, unknown> | undefined;
  let transfer: CallResult['transfer'] = null;
  const tools: CallResult['tools'] = [];
  const keys: string[] = [];
  const latencies = new Map<number, number | null>();
  await followSession(
    rest,
    sessionId,
    (event) => {
      if (event.type === 'recording') recording = event.data;
      if (event.type === 'turn')
        latencies.set(
          Number(event.data['turn_index']),
          (event.data['latency'] as { e2e: number | null } | undefined)?.e2e ?? null,
        );
      if (event.type === 'dtmf' && event.data['direction'] === 'entry')
        keys.push(String(event.data['digits']));
      if (event.type === 'transfer' && event.data['phase'] !== 'begun')
        transfer = event.data['phase'] as 'bridged' | 'failed';
      if (event.type === 'tool_finished')
        tools.push({
          name: String(event.data['name']),
          ok: event.data['ok'] === true,
          code: (event.data['code'] as string | undefined) ?? null,
          duration_ms: Number(event.data['duration_ms']),
        });
      printer.event(event);
    },
    signal,
  );
  // What the telephone tells comes at once, unless the carrier was never asked to dial.
  const outcome = await withTimeout(options.outcome, OUTCOME_LIMIT_MS, 'The call', signal).catch(
    (error: unknown) => {
      if (error instanceof TimeoutError) return undefined;
      throw error;
    },
  );
  const session = await waitForPostCall<Session>(rest, sessionId, POST_CALL_LIMIT_MS, signal);
  const transcript = await rest.get<{
    items: {
      index: number;
      role: string;
      text: string;
      start_ms: number;
      end_ms: number;
      interrupted: boolean;
    }[];
  }>(`/v1/sessions/${sessionId}/transcript`);
  return {
    carrier: options.carrier,
    session_id: sessionId,
    status: session.status,
    ended_by: session.ended_by,
    hangup_reason: session.hangup_reason,
    failure_reason: session.failure_reason,
    transfer,
    transferred_to: outcome?.transferred_to ?? null,
    duration_seconds: session.duration_seconds,
    turns: transcript.items.map(({ index, role, text, start_ms, end_ms, interrupted }) => ({
      role,
      text,
      start_ms,
      end_ms,
      interrupted,
      latency_ms: latencies.get(index) ?? null,
    })),
    tools,
    keys,
    notes,
    recording_id: (recording?.['recording_id'] as string | undefined) ?? null,
    recording_path: recording?.['status'] === 'stored' ? String(recording['key']) : null,
  };
}

/** The session of a call is found by the caller's number, which is the call's alone. */
export async function findSession({
  rest,
  orgId,
  projectId,
  placed,
  signal,
}: {
  rest: RestClient;
  orgId: string;
  projectId: string;
  placed: PlacedCall;
  signal: AbortSignal;
}): Promise<string> {
  const until = Date.now() + FIND_LIMIT_MS;
  for (;;) {
    try {
      const page = await rest.get<{ items: Session[] }>(
        `/v1/orgs/${orgId}/projects/${projectId}/sessions?limit=1&phone_number=${encodeURIComponent(placed.from ?? '')}`,
      );
      if (page.items[0]) return page.items[0].session_id;
    } catch (error) {
      if (!(error instanceof RestError) || error.status < 500) throw error;
    }
    if (Date.now() > until)
      throw new Error(
        'The carrier placed the call, but no session appeared. The log of the platform says why.',
      );
    await sleep(100, signal);
  }
}
