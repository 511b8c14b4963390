import { z } from 'zod';

const alignmentSchema = z
  .object({
    chars: z.array(z.string()),
    charStartTimesMs: z.array(z.number()),
    charDurationsMs: z.array(z.number()).optional(),
    /** An older spelling. */
    charsDurationsMs: z.array(z.number()).optional(),
  })
  .transform((one) => ({
    chars: one.chars,
    startsMs: one.charStartTimesMs,
    durationsMs: one.charDurationsMs ?? one.charsDurationsMs ?? [],
  }));
const messageSchema = z.object({
  contextId: z.string().nullish(),
  audio: z.string().nullish(),
  isFinal: z.boolean().nullish(),
  // Times of words are worth having; a form we do not know is no reason to be silent.
  alignment: alignmentSchema.nullish().catch(undefined),
  error: z.string().nullish().catch(undefined),
});

/** What comes from `multi-stream-input`; `audio` is base64. */
export type VoiceMessage = z.output<typeof messageSchema>;

const AUDIO_KEY = '"audio":';
const SPACE = 0x20;
const QUOTE = 0x22;

/** @returns undefined when it is not valid */
export function parseMessage(data: Buffer): VoiceMessage | undefined {
  try {
    return parseAround(data) ?? messageSchema.parse(JSON.parse(data.toString()));
  } catch {
    return undefined;
  }
}

/**
 * Parses what stands around the audio, which is nearly all of a message and needs no parser.
 * @returns undefined where the message has no audio, or not in its usual form. @throws when the rest is not valid
 */
function parseAround(data: Buffer): VoiceMessage | undefined {
  const key = data.indexOf(AUDIO_KEY);
  if (key === -1) return undefined;
  let start = key + AUDIO_KEY.length;
  if (data[start] === SPACE) start++;
  if (data[start++] !== QUOTE) return undefined;
  const end = data.indexOf(QUOTE, start);
  if (end === -1) return undefined;
  const audio = data.toString('latin1', start, end);
  if (audio.includes('\\')) return undefined;
  const rest = messageSchema.parse(JSON.parse(data.toString('utf8', 0, start) + data.toString('utf8', end)));
  // Else the key was not that of the message itself.
  return rest.audio === '' ? { ...rest, audio } : undefined;
}
