import type { FailureReason } from '@parley/shared/contracts/session-values';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { CarrierEnd, CarrierError } from './carrier.ts';

type DialledSession = Pick<SessionRecord, 'dial' | 'from_number' | 'to_number'>;

/** One outbound call, as a carrier is asked for it. Numbers are E.164. */
export interface DialRequest {
  /** Ours, and new for every attempt. Goes to the carrier where it has a field for such an id. */
  dialId: string;
  from: string;
  to: string;
  /** Asked for the document when somebody answers; told of every event by carriers that have one address for all. */
  answerUrl: string;
  /** Told that it rings, and of the end. */
  statusUrl: string;
  /** Told who or what has answered, while the call goes on; null: nobody asks. */
  machineUrl: string | null;
  ringTimeoutSeconds: number;
  timeLimitSeconds: number;
  /** With the ticket, never logged: for carriers that open the stream with the dial. Others get it by the document. */
  streamUrl: string | null;
}

/**
 * What is known after a request to dial. `no` is certain: nobody is called, and the call may be dialled again where
 * `again` says so. `unknown`: the request may have been taken; look the dial up before anything is repeated.
 */
export type DialAnswer =
  | { placed: 'yes'; carrierCallId: string | null; requestId: string | null }
  | { placed: 'no'; failure: FailureReason; code: CarrierError['code']; cause: string | null; again: boolean }
  | { placed: 'unknown'; code: CarrierError['code'] | 'aborted' };

/** A dial that was sent, by which its call is looked up. */
export interface SentDial {
  dialId: string;
  from: string;
  to: string;
  /** When the request left, ms since the epoch, on our clock. */
  sentAtMs: number;
}

/** A call that a dial may have become. */
export interface FoundCall {
  /** null where the carrier only says that there was one. */
  carrierCallId: string | null;
  stage: 'queued' | 'live' | 'over';
  /** How it ended, where it is over and the carrier's record says so. */
  end: CarrierEnd | null;
}

/** Outbound calls of one telephony account. Nothing is ever repeated in here. */
export interface CarrierDialling {
  /** Never throws for what the carrier or the network does: see `DialAnswer`. */
  dial(request: DialRequest, signal?: AbortSignal): Promise<DialAnswer>;

  /**
   * Ends a call, answered or not; one that is gone counts as done. Of a call that is known by its request alone the
   * carrier may say the same once it was answered: its callbacks name it then.
   * @throws CarrierError
   */
  cancel(
    dial: { carrierCallId: string | null; requestId: string | null },
    signal?: AbortSignal,
  ): Promise<void>;

  /**
   * The calls that a dial may have become: all of the carrier's that could be it.
   * @throws CarrierError when the carrier does not say; then nothing is known
   */
  find(dial: SentDial, signal?: AbortSignal): Promise<FoundCall[]>;

  /**
   * Whether a call that is over was answered: for carriers whose word on the end does not say so.
   * @throws CarrierError when the carrier does not say
   */
  wasAnswered?(dial: SentDial, signal?: AbortSignal): Promise<boolean>;
}

/** What a dial whose request has left is looked up by. */
export function sentDial({ dial, from_number, to_number }: DialledSession): SentDial {
  return {
    dialId: dial!.id!,
    from: from_number!,
    to: to_number!,
    sentAtMs: dial!.sent_at!.getTime(),
  };
}

/** A carrier's clock may be behind ours by as much. */
export const CLOCK_SKEW_MS = 60_000;

/** A request may still be on its way, and a carrier's records come late: before this, "none" means nothing. */
export const DIAL_SETTLED_MS = 60_000;

export type DialVerdict =
  | { verdict: 'placed'; call: FoundCall }
  /** Only then may the number be dialled again. */
  | { verdict: 'not_placed' }
  | { verdict: 'unknown' };

/**
 * What a look-up says of a dial whose request got no answer.
 * @param taken ids of calls that are known to be other dials'
 */
export function dialVerdict(
  dial: SentDial,
  found: readonly FoundCall[],
  { nowMs, taken }: { nowMs: number; taken: ReadonlySet<string> },
): DialVerdict {
  const [call, ...others] = found.filter(
    ({ carrierCallId }) => carrierCallId === null || !taken.has(carrierCallId),
  );
  if (call && others.length === 0) return { verdict: 'placed', call };
  // Of several, a callback will say which one it is.
  if (call || nowMs - dial.sentAtMs < DIAL_SETTLED_MS) return { verdict: 'unknown' };
  return { verdict: 'not_placed' };
}

/** How a dial that nobody answered went, in the words of contacts and events. */
export type DialOutcome = 'no_answer' | 'busy' | 'rejected' | 'invalid_number' | 'failed';

export function dialOutcome(failure: FailureReason): DialOutcome {
  switch (failure) {
    case 'no_answer':
    case 'busy':
    case 'rejected':
    case 'invalid_number':
      return failure;
    default:
      return 'failed';
  }
}
