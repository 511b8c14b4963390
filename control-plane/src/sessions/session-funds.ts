import type { SessionRecord } from './session-record.ts';

/** What sessions cost, as far as it decides whether there may be one more. */
export interface SessionFunds {
  /** Sets aside what a session will cost at least. @throws PaymentRequiredError */
  reserve(session: FundedSession): Promise<void>;
  /** Gives it back: the session was not made. */
  release(session: FundedSession): Promise<void>;
}

export type FundedSession = Pick<
  SessionRecord,
  | '_id'
  | 'org_id'
  | 'project_id'
  | 'channel'
  | 'direction'
  | 'to_number'
  | 'llm_id'
  | 'stt_id'
  | 'tts_id'
  | 'tts_voice_id'
>;
