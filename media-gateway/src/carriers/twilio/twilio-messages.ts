import { z } from 'zod';
import { identifier, rate } from '../carrier-messages.ts';

/** Stream messages of Twilio, as far as a call needs them. @see Twilio, "Media Streams: WebSocket Messages" */
export const twilioStart = z.object({
  start: z.object({
    callSid: identifier,
    streamSid: identifier,
    mediaFormat: z.object({ encoding: z.string(), sampleRate: rate }),
  }),
});

export const twilioDtmf = z.object({ dtmf: z.object({ digit: identifier }) });

export const twilioMark = z.object({ mark: z.object({ name: z.string() }) });
