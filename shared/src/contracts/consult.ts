import { z } from 'zod';

/** How a call to whom a caller is to be transferred can go. */
export const CONSULT_RESULTS = ['accepted', 'declined', 'machine', 'no_answer'] as const;
export type ConsultResult = (typeof CONSULT_RESULTS)[number];

/** What a gateway does in such a call: it tells of the caller, and asks whether they are taken. */
export const planConsultSchema = z.object({
  transfer_id: z.string(),
  /** Keys that are pressed when it has answered: 0-9, * and #; `w` waits half a second, `W` a whole one. */
  extension: z.string().nullable(),
  /** What is said before the question; empty: nothing. */
  brief: z.string(),
});

/** Whoever does not say what they want within so long, from the answer on, does not take the caller. */
export const CONSULT_TALK_MS = 90_000;
/** A call that cannot be dialled within so long is not dialled. */
export const CONSULT_QUEUE_MS = 15_000;
/** So long may all that is between those parts take. */
const MARGIN_MS = 10_000;

/** How long a caller waits at most, ms. */
export function consultLimitMs(ringTimeoutSeconds: number): number {
  return CONSULT_QUEUE_MS + ringTimeoutSeconds * 1000 + CONSULT_TALK_MS + MARGIN_MS;
}
