import { z } from 'zod';

const id = z.string().min(1).max(128);
const eventId = z.string().max(512).optional().catch(undefined);

const contentPart = z.looseObject({
  type: z.string().max(64),
  text: z.string().nullish(),
  transcript: z.string().nullish(),
  audio: z.string().nullish(),
});

const item = z.looseObject({
  id: id.nullish(),
  type: z.string().max(64),
  role: z.enum(['user', 'assistant', 'system', 'developer']).nullish(),
  content: z.array(contentPart).max(64).nullish(),
  call_id: z.string().max(256).nullish(),
  name: z.string().max(256).nullish(),
  arguments: z.string().nullish(),
  output: z.string().nullish(),
});
export type ClientItem = z.output<typeof item>;

/** Settings of a session, as far as any of them is looked at. */
const session = z.looseObject({
  type: z.string().optional(),
  output_modalities: z.array(z.string()).nullish(),
  tools: z.array(z.unknown()).max(128).nullish(),
  tool_choice: z.unknown().optional(),
  audio: z
    .looseObject({
      input: z
        .looseObject({
          format: z.unknown().optional(),
          transcription: z.unknown().optional(),
          noise_reduction: z.unknown().optional(),
          turn_detection: z
            .looseObject({
              type: z.string().optional(),
              threshold: z.number().optional(),
              prefix_padding_ms: z.number().optional(),
              silence_duration_ms: z.number().optional(),
              idle_timeout_ms: z.number().nullish(),
              eagerness: z.string().optional(),
              create_response: z.boolean().nullish(),
              interrupt_response: z.boolean().nullish(),
            })
            .nullish(),
        })
        .nullish(),
      output: z
        .looseObject({
          format: z.unknown().optional(),
          voice: z.unknown().optional(),
          speed: z.unknown().optional(),
        })
        .nullish(),
    })
    .nullish(),
});
export type SessionUpdate = z.output<typeof session>;

const clientEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('session.update'), event_id: eventId, session }),
  z.object({ type: z.literal('input_audio_buffer.append'), event_id: eventId, audio: z.string() }),
  z.object({ type: z.literal('input_audio_buffer.commit'), event_id: eventId }),
  z.object({ type: z.literal('input_audio_buffer.clear'), event_id: eventId }),
  z.object({
    type: z.literal('conversation.item.create'),
    event_id: eventId,
    item,
    previous_item_id: id.nullish(),
  }),
  z.object({ type: z.literal('conversation.item.retrieve'), event_id: eventId, item_id: id }),
  z.object({ type: z.literal('conversation.item.delete'), event_id: eventId, item_id: id }),
  z.object({
    type: z.literal('conversation.item.truncate'),
    event_id: eventId,
    item_id: id,
    content_index: z.number().default(0),
    audio_end_ms: z.number(),
  }),
  z.object({
    type: z.literal('response.create'),
    event_id: eventId,
    response: z
      .looseObject({
        conversation: z.string().nullish(),
        input: z.array(z.unknown()).nullish(),
        output_modalities: z.array(z.string()).nullish(),
        metadata: z.record(z.string(), z.unknown()).nullish(),
      })
      .nullish(),
  }),
  z.object({ type: z.literal('response.cancel'), event_id: eventId, response_id: id.nullish() }),
  // Not of the protocol: keys, which a telephone's caller has and a client of it has not.
  z.object({
    type: z.literal('parley.dtmf'),
    event_id: eventId,
    digits: z.string().regex(/^[0-9A-D*#]{1,32}$/),
  }),
  // Of WebRTC: there is no such buffer here.
  z.object({ type: z.literal('output_audio_buffer.clear'), event_id: eventId }),
]);
export type ClientEvent = z.output<typeof clientEvent>;
export type ResponseParams = NonNullable<Extract<ClientEvent, { type: 'response.create' }>['response']>;

/** What is wrong with an event, in the words of the protocol's `error` event. */
export interface EventFault {
  code: string;
  message: string;
  param: string | null;
  event_id: string | null;
}

const TYPES: ReadonlySet<string> = new Set(clientEvent.options.map((option) => option.shape.type.value));

/** Reads one message of a client. */
export function parseClientEvent(bytes: Uint8Array): { event: ClientEvent } | { fault: EventFault } {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
  } catch {
    return {
      fault: { code: 'invalid_json', message: 'The event is not valid JSON.', param: null, event_id: null },
    };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return {
      fault: {
        code: 'invalid_event',
        message: 'An event must be a JSON object.',
        param: null,
        event_id: null,
      },
    };
  }
  const { type, event_id: given, audio } = value as { type?: unknown; event_id?: unknown; audio?: unknown };
  const event_id = typeof given === 'string' ? given : null;
  // Nearly all messages are these.
  if (type === 'input_audio_buffer.append' && typeof audio === 'string') {
    return { event: { type, audio, event_id: event_id ?? undefined } };
  }
  if (typeof type !== 'string' || !TYPES.has(type)) {
    const message =
      typeof type === 'string' ? `Unknown event type '${type.slice(0, 64)}'.` : 'An event needs a type.';
    return { fault: { code: 'invalid_event', message, param: 'type', event_id } };
  }
  const parsed = clientEvent.safeParse(value);
  if (parsed.success) return { event: parsed.data };
  const issue = parsed.error.issues[0]!;
  const param = issue.path.join('.');
  return { fault: { code: 'invalid_value', message: `${param}: ${issue.message}`, param, event_id } };
}
