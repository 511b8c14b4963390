import { z } from 'zod';

/** Where each character stands in the audio. */
export interface Alignment {
  chars: string[];
  startsMs: number[];
  durationsMs: number[];
}

const messageSchema = z.object({
  contextId: z.string().nullish(),
  audio: z.string().nullish(),
  isFinal: z.boolean().nullish(),
  // Times of words are worth having; a form we do not know is no reason to be silent.
  alignment: z.unknown().optional().transform(readAlignment),
  error: z.string().nullish().catch(undefined),
});

/** What comes from `multi-stream-input`; `audio` is base64. */
export type VoiceMessage = z.output<typeof messageSchema>;

/** By hand: a schema for each number of each character takes more time than all else of a message. */
function readAlignment(value: unknown): Alignment | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { chars, charStartTimesMs, ...more } = value as Record<string, unknown>;
  // The second is an older spelling.
  const durations = more['charDurationsMs'] ?? more['charsDurationsMs'] ?? [];
  return areAll(chars, 'string') && areAll(charStartTimesMs, 'number') && areAll(durations, 'number')
    ? { chars, startsMs: charStartTimesMs, durationsMs: durations }
    : undefined;
}

function areAll(values: unknown, type: 'string'): values is string[];
function areAll(values: unknown, type: 'number'): values is number[];
function areAll(values: unknown, type: string): boolean {
  return Array.isArray(values) && values.every((value) => typeof value === type);
}

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
