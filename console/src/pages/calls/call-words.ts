import type { paths } from '../../api/schema.d.ts';
import { inWords } from '../../components/format.ts';

type Query = NonNullable<
  paths['/v1/orgs/{org_id}/projects/{project_id}/sessions']['get']['parameters']['query']
>;
type ValueOf<K extends keyof Query> =
  NonNullable<Query[K]> extends readonly (infer V extends string)[] ? V : never;

export const STATUS_WORDS = {
  created: 'Created',
  queued: 'Queued',
  dialing: 'Dialling',
  ringing: 'Ringing',
  in_progress: 'In progress',
  transferring: 'Transferring',
  transferred: 'Transferred',
  ended: 'Ended',
  failed: 'Failed',
  expired: 'Expired',
  cancelled: 'Cancelled',
} as const satisfies Record<ValueOf<'status'>, string>;

export const DIRECTION_WORDS = {
  web: 'Web',
  inbound: 'Inbound',
  outbound: 'Outbound',
} as const satisfies Record<ValueOf<'direction'>, string>;

export const HANGUP_WORDS = {
  caller_hangup: 'Caller hung up',
  agent_hangup: 'Agent hung up',
  api_hangup: 'Ended by API',
  silence: 'Silence',
  max_duration: 'Longest duration',
  voicemail: 'Voicemail',
  transferred: 'Transferred',
  budget: 'Budget used up',
  consent_refused: 'Recording refused',
  carrier_hangup: 'Carrier hung up',
  shutdown: 'Shutdown',
  outside_hours: 'Outside hours',
  overflow: 'All lines busy',
  blocked: 'Blocked',
} as const satisfies Record<ValueOf<'hangup_reason'>, string>;

export const FAILURE_WORDS = {
  no_answer: 'No answer',
  busy: 'Busy',
  rejected: 'Rejected',
  invalid_number: 'Invalid number',
  blocked: 'Blocked',
  outside_hours: 'Outside hours',
  queue_timeout: 'Waited too long',
  insufficient_balance: 'No balance',
  carrier_error: 'Carrier error',
  media_timeout: 'No sound',
  stt_error: 'Speech-to-text error',
  llm_error: 'Model error',
  tts_error: 'Voice error',
  flow_loop: 'Flow ran in a circle',
  missing_variable: 'Variable missing',
  internal: 'Internal error',
} as const satisfies Record<ValueOf<'failure_reason'>, string>;

/** A value of an open list in words: values may be added. */
export function wordFor(words: Readonly<Record<string, string>>, value: string): string {
  return Object.hasOwn(words, value) ? words[value]! : inWords(value);
}

/** A reason for which calls ended or failed, in words. */
export function endInWords(reason: string): string {
  return wordFor({ ...FAILURE_WORDS, ...HANGUP_WORDS }, reason);
}

/** How a call ended, in words; null while it has not. */
export function endOf(call: { hangup_reason: string | null; failure_reason: string | null }): string | null {
  if (call.failure_reason !== null) return wordFor(FAILURE_WORDS, call.failure_reason);
  return call.hangup_reason === null ? null : wordFor(HANGUP_WORDS, call.hangup_reason);
}

/** Who was called or has called: a number, or as whoever made the call knows them; null: nobody knows. */
export function farEndOf(call: {
  direction: string;
  user_identifier: string | null;
  detail?: { from_number: string | null; to_number: string | null };
}): string | null {
  const number = call.direction === 'outbound' ? call.detail?.to_number : call.detail?.from_number;
  return number ?? call.user_identifier;
}

/** The number of ours that the call came in on, or was made from. */
export function ownNumberOf(call: {
  direction: string;
  detail?: { from_number: string | null; to_number: string | null };
}): string | null {
  return (call.direction === 'outbound' ? call.detail?.from_number : call.detail?.to_number) ?? null;
}
