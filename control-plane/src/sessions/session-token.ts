import { z } from 'zod';
import { REALTIME_AUDIO_FORMATS } from './session-record.ts';

/** A session's token, which opens one connection, and where it does. */
export const mintSchema = z.object({
  session_id: z.uuid(),
  ws_url: z.string(),
  token: z.string(),
  expires_at: z.iso.datetime(),
  agent_id: z.string(),
  input_format: z.enum(REALTIME_AUDIO_FORMATS),
  output_format: z.enum(REALTIME_AUDIO_FORMATS),
});

/** The same as it is answered to a key that may be repeated: then without the token. */
export const mintedSchema = mintSchema
  .extend({
    token: z.string().nullable().meta({
      description: 'Opens one connection to `ws_url`. Null in a replay of the response.',
    }),
  })
  .meta({ id: 'RealtimeSession' });
