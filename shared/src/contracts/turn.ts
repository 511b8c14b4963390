import { z } from 'zod';

/** Milliseconds each part of a reply took; null where it did not happen. */
export const turnLatencySchema = z.object({
  /** Last voiced caller sample to first agent audio sent. */
  e2e: z.number().int().nullable(),
  /** Last voiced caller sample to the decision that the turn is over (final transcript included). */
  stt_final: z.number().int().nullable(),
  /** Request to first token. */
  llm_first_token: z.number().int().nullable(),
  /** First text given to the TTS to its first audio. */
  tts_first_audio: z.number().int().nullable(),
  /** What thinking ahead saved: so long before the turn was over the reply was already being made. */
  thought_ahead: z.number().int().nullable().default(null),
});
export type TurnLatency = z.infer<typeof turnLatencySchema>;

/** Words of a turn whose times are told; of a turn with more, none are. */
export const MAX_TIMED_WORDS = 1000;
/** Where nothing separates words, one may be a whole sentence. */
export const MAX_TIMED_WORD_LENGTH = 200;

/** A word of a turn and when it was said, on the axis of the turn's own times. */
export const timedWordSchema = z.object({
  text: z.string().min(1).max(MAX_TIMED_WORD_LENGTH),
  start_ms: z.number().int().min(0),
  end_ms: z.number().int().min(0),
});
export type TimedWord = z.infer<typeof timedWordSchema>;

/** One thing said, once it is sure: for the agent, what was heard and no more. */
export const turnSchema = z.object({
  turn_index: z.number().int().min(0),
  role: z.enum(['agent', 'caller', 'operator']),
  text: z.string(),
  /** From `answered_at`. */
  start_ms: z.number().int(),
  end_ms: z.number().int(),
  language: z.string().optional(),
  /** The agent was cut off here; `text` ends with the last word that was heard. */
  interrupted: z.boolean().default(false),
  /** Said while the other side had the floor: it takes no turn. */
  backchannel: z.boolean().optional(),
  confidence: z.number().min(0).max(1).optional(),
  node_id: z.string().optional(),
  redacted: z.boolean().default(false),
  latency: turnLatencySchema.optional(),
});
export type Turn = z.infer<typeof turnSchema>;
