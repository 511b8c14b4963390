import { z } from 'zod';
import { identifier, rate } from '../carrier-messages.ts';

/** Stream messages of Plivo, as far as a call needs them. @see Plivo, "Audio streaming: WebSocket protocol" */
export const plivoStart = z.object({
  start: z.object({
    callId: identifier,
    /** Nested here and here alone: later messages have it at the top. */
    streamId: identifier,
    mediaFormat: z.object({ encoding: z.string(), sampleRate: rate }),
  }),
});

export const plivoDtmf = z.object({ dtmf: z.object({ digit: identifier }) });

export const plivoPlayedStream = z.object({ name: z.string() });

export const plivoError = z.object({ reason: z.string().optional() });
