import { bytesFromPcm16, bytesPerMs, durationMs } from '@parley/shared/audio/audio-frame';
import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import { AudioConverter } from '@parley/shared/audio/convert';
import { FLITE_SAMPLE_RATE } from '@parley/shared/speech/flite';
import type { LocalSpeech } from '@parley/shared/speech/flite';
import { renderToneWord, TONE_CHARACTER_MS, toneSamples } from '../../speech/tone-words.ts';

/** A stretch of speech and when each of its characters is heard, from its start. */
export interface RenderedSpeech {
  text: string;
  bytes: Uint8Array;
  durationMs: number;
  /** One for each character of `text`. */
  startsMs: number[];
}

/** Turns text into audio, as fast as it can. */
export interface VoiceRenderer {
  render(text: string, format: AudioFormat, signal: AbortSignal): AsyncIterable<RenderedSpeech>;
}

/** Longest run of text without the end of a sentence that is still spoken in one go. */
const MAX_SENTENCE_LENGTH = 400;

/**
 * Really speaks, sentence by sentence. The time of a sentence is shared evenly by its characters: flite does not say
 * when it speaks which.
 */
export function speechRenderer(speech: LocalSpeech): VoiceRenderer {
  return {
    async *render(text, format, signal) {
      for (const sentence of sentences(text)) {
        const samples = await speech.synthesize(sentence, { signal });
        const converter = new AudioConverter({ encoding: 'pcm16', sampleRate: FLITE_SAMPLE_RATE }, format);
        const bytes = Buffer.concat([converter.convert(bytesFromPcm16(samples)), converter.flush()]);
        const lengthMs = durationMs({ ...format, bytes });
        const startsMs = Array.from({ length: sentence.length }, (_, i) => (i * lengthMs) / sentence.length);
        yield { text: sentence, bytes, durationMs: lengthMs, startsMs };
      }
    },
  };
}

/** Cuts after sentences, else between words; "3.5" is no end of a sentence. Nothing is lost. */
const SENTENCE = new RegExp(
  `[^]{0,${MAX_SENTENCE_LENGTH}}?[.!?]+(?:\\s+|$)|[^]{1,${MAX_SENTENCE_LENGTH}}(?:\\s+|$)|[^]{1,${MAX_SENTENCE_LENGTH}}`,
  'g',
);

function sentences(text: string): string[] {
  return text.match(SENTENCE) ?? [];
}

const TONE_CACHE_BYTES = 16 * 1024 * 1024;

/** Speaks in tones, a word each: next to no work, and what is heard can be decoded (tone-words.ts). */
export function toneRenderer(): VoiceRenderer {
  const cache = new Map<string, Uint8Array>();
  let cachedBytes = 0;
  function toneWord(token: string, format: AudioFormat): Uint8Array {
    const key = `${format.encoding} ${format.sampleRate} ${token}`;
    const known = cache.get(key);
    if (known) return known;
    const samples =
      token.trim() === ''
        ? new Int16Array(toneSamples(token.length, format.sampleRate))
        : renderToneWord(token, format.sampleRate);
    const encoder = new AudioConverter({ encoding: 'pcm16', sampleRate: format.sampleRate }, format);
    const bytes = encoder.convert(bytesFromPcm16(samples));
    // The words of a load run fit many times over; whoever sends ever new ones starts again.
    if (cachedBytes + bytes.length > TONE_CACHE_BYTES) {
      cache.clear();
      cachedBytes = 0;
    }
    cache.set(key, bytes);
    cachedBytes += bytes.length;
    return bytes;
  }
  const spoken = new Map<string, RenderedSpeech>();
  let spokenBytes = 0;
  function speak(sentence: string, format: AudioFormat): RenderedSpeech {
    const key = `${format.encoding} ${format.sampleRate} ${sentence}`;
    const known = spoken.get(key);
    if (known) return known;
    const words = sentence.match(/\s+|\S{1,200}/g) ?? [];
    const bytes = Buffer.concat(words.map((word) => toneWord(word, format)));
    const startsMs = Array.from({ length: sentence.length }, (_, i) => i * TONE_CHARACTER_MS);
    const speech = { text: sentence, bytes, durationMs: sentence.length * TONE_CHARACTER_MS, startsMs };
    if (spokenBytes + bytes.length > TONE_CACHE_BYTES) {
      spoken.clear();
      spokenBytes = 0;
    }
    spoken.set(key, speech);
    spokenBytes += bytes.length;
    return speech;
  }
  return {
    async *render(text, format) {
      for (const sentence of sentences(text)) yield speak(sentence, format);
    },
  };
}

/** Times within the chunk that carries them, as the socket sends them. */
export interface Alignment {
  chars: string[];
  charStartTimesMs: number[];
  charDurationsMs: number[];
}

/** What goes out at once. */
export interface SpeechChunk {
  bytes: Uint8Array;
  durationMs: number;
  alignment: Alignment;
}

/** Cuts speech into chunks of 100 to 200 ms. */
export function* chunksOf(
  speech: RenderedSpeech,
  format: AudioFormat,
  random: () => number,
): Generator<SpeechChunk> {
  const sampleBytes = format.encoding === 'pcm16' ? 2 : 1;
  const perMs = bytesPerMs(format);
  let character = 0;
  for (let at = 0; at < speech.bytes.length;) {
    const wantedMs = 100 + Math.floor(random() * 101);
    const wanted = Math.max(1, Math.round((wantedMs * perMs) / sampleBytes)) * sampleBytes;
    const bytes = speech.bytes.subarray(at, at + wanted);
    const startMs = at / perMs;
    at += bytes.length;
    const last = at >= speech.bytes.length;
    const alignment: Alignment = { chars: [], charStartTimesMs: [], charDurationsMs: [] };
    for (; character < speech.text.length; character++) {
      const start = speech.startsMs[character]!;
      if (!last && start >= at / perMs) break;
      const end = speech.startsMs[character + 1] ?? speech.durationMs;
      alignment.chars.push(speech.text[character]!);
      alignment.charStartTimesMs.push(Math.round(start - startMs));
      alignment.charDurationsMs.push(Math.round(end - start));
    }
    yield { bytes, durationMs: bytes.length / perMs, alignment };
  }
}

const cuts = new WeakMap<RenderedSpeech, readonly SpeechChunk[]>();

/** As `chunksOf`, once for each piece of speech: what is spoken again is cut where it was cut before. */
export function cachedChunksOf(
  speech: RenderedSpeech,
  format: AudioFormat,
  random: () => number,
): readonly SpeechChunk[] {
  const known = cuts.get(speech);
  if (known) return known;
  const chunks = [...chunksOf(speech, format, random)];
  cuts.set(speech, chunks);
  return chunks;
}

/** @returns undefined for formats that are not emulated: MP3, Opus and the like */
export function parseOutputFormat(name: string): AudioFormat | undefined {
  const found = /^(ulaw|alaw|pcm)_(\d+)$/.exec(name);
  const sampleRate = Number(found?.[2]);
  if (found?.[1] === 'ulaw' && sampleRate === 8000) return { encoding: 'pcmu', sampleRate };
  if (found?.[1] === 'alaw' && sampleRate === 8000) return { encoding: 'pcma', sampleRate };
  if (found?.[1] === 'pcm' && [8000, 16_000, 22_050, 24_000, 44_100].includes(sampleRate)) {
    return { encoding: 'pcm16', sampleRate };
  }
  return undefined;
}
