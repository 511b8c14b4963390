import { z } from 'zod';
import { parseNoise } from '@parley/emulators/noise/noise-setting';
import { CARRIERS } from '@parley/shared/contracts/session-values';

// What `npm run call` and the call desk say to each other.

const text = z.string().min(1).max(500);

/** As `--noise` has it: `tv:-20`. */
const noise = z.string().superRefine((given, ctx) => {
  try {
    parseNoise(given);
  } catch (error) {
    ctx.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) });
  }
});

/** What the caller does, in order. */
export const callOrderSchema = z.strictObject({
  /** `browser`: no carrier at all, but a person at the talk page. */
  carrier: z.enum([...CARRIERS, 'browser']),
  /** The number that is called; without one the demonstration's at this carrier. A browser calls none, and for the agent one is made up. */
  to: z.string().optional(),
  /** The agent calls, and the steps are those of whoever answers. */
  outbound: z.boolean().optional(),
  /** Variables of a call of the agent. */
  variables: z.record(z.string(), z.string()).optional(),
  /** Whoever answers says nothing by themselves before the steps. */
  no_hello: z.boolean().optional(),
  /** The caller's number; made up without it. */
  from: z.string().optional(),
  /** Another agent than the one that answers the number: its session is made first, and the stream dialled directly. */
  agent_id: z.string().optional(),
  /** What is heard around the caller. */
  noise: noise.optional(),
  steps: z
    .array(
      z.union([
        /** Waits for the agent to finish, unless `at_once`. */
        z.strictObject({ say: text, at_once: z.boolean().optional() }),
        z.strictObject({ interrupt: text, after_ms: z.number().int().min(0).max(60_000) }),
        /** A recording, base64 of a WAV file, and what it says. */
        z.strictObject({ wav: z.base64(), text }),
        z.strictObject({ press: z.string().regex(/^[0-9A-D*#]{1,32}$/), at_once: z.boolean().optional() }),
        z.strictObject({ pause_ms: z.number().int().min(0).max(60_000) }),
        /** The tone of an answering machine. Not of a browser, as the next one. */
        z.strictObject({ beep_ms: z.number().int().min(100).max(5000) }),
        z.strictObject({ hang_up: z.literal(true) }),
      ]),
    )
    .min(1)
    .max(100),
});
export type CallOrder = z.infer<typeof callOrderSchema>;

export interface PlacedCall {
  call_id: string;
  /** The caller's number: made up for this call alone, unless the agent calls. A browser has none. */
  from: string | null;
  /** Whom the agent has called. */
  to?: string;
  /** Known beforehand only for browsers, for calls to an agent that was named, and for those of the agent. */
  session_id?: string;
}

export const callOutcomeSchema = z.object({
  call_id: z.string(),
  from: z.string().nullable(),
  ended_by: z.string(),
  transferred_to: z.string().nullable(),
  duration_seconds: z.number(),
});
export type CallOutcome = z.infer<typeof callOutcomeSchema>;
