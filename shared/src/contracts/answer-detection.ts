import { z } from 'zod';

/** Who or what may answer an outbound call. `unknown` is treated as a person. */
export const ANSWER_CLASSES = ['human', 'voicemail', 'screening', 'ivr', 'unknown'] as const;
export type AnswerClass = (typeof ANSWER_CLASSES)[number];

/**
 * What it was known by. `greeting`: short words and a pause; `phrase`: words of a machine; `beep`: the tone of a recorder;
 * `carrier`: the carrier's machine detection; `deadline`: nothing until time was up.
 */
export const ANSWER_BY = ['greeting', 'phrase', 'beep', 'carrier', 'deadline'] as const;
export type AnswerBy = (typeof ANSWER_BY)[number];

/** What a carrier's machine detection says. */
export const CARRIER_VERDICTS = ['human', 'machine', 'fax', 'unknown'] as const;
export type CarrierVerdict = (typeof CARRIER_VERDICTS)[number];

/** Data of the event by which a gateway tells who has answered. A later one corrects it. */
export const answerClassSchema = z.object({
  class: z.enum(ANSWER_CLASSES),
  by: z.enum(ANSWER_BY).meta({
    description:
      'By what it was known: a short greeting, words of a machine, a beep, the carrier, or the deadline.',
  }),
  after_ms: z.number().int().min(0).meta({ description: 'From the answer until it was known, ms.' }),
  evidence: z
    .array(z.string().max(300))
    .max(16)
    .meta({ description: "Standard wordings and figures; never the far end's own words." }),
});

/** Part of an outbound call's plan. What is done about each class is in the agent's configuration. */
export const planAnswerDetectionSchema = z.object({
  /** From the answer on, until it counts as a person. */
  deadline_ms: z.number().int().min(0),
  /** `async`: the carrier was asked, too, and tells by the command `answer_verdict`. */
  carrier: z.enum(['async', 'none']),
});
