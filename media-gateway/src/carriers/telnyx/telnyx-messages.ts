import { z } from 'zod';
import { identifier, rate } from '../carrier-messages.ts';

/** Stream messages of Telnyx, as far as a call needs them. @see Telnyx, "Media streaming over WebSockets" */
export const telnyxStart = z.object({
  stream_id: identifier,
  start: z.object({
    call_control_id: identifier,
    media_format: z.object({ encoding: z.string(), sample_rate: rate }),
  }),
});

export const telnyxDtmf = z.object({ dtmf: z.object({ digit: identifier }) });

export const telnyxMark = z.object({ mark: z.object({ name: z.string() }) });

export const telnyxError = z.object({
  payload: z.object({ code: identifier.optional(), title: z.string().optional() }).optional(),
});
