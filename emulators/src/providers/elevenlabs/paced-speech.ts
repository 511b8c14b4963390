import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import { sampleMs, wait } from '../../server/delays.ts';
import type { Fault } from '../../server/faults.ts';
import type { ElevenLabsFault, SpeechSettings } from './speech-settings.ts';
import { cachedChunksOf } from './voice-renderer.ts';
import type { SpeechChunk } from './voice-renderer.ts';

/** What can go wrong within an utterance; the transport does it. */
export type StreamFault = Fault<ElevenLabsFault>;

/** One utterance, as it comes out of the model. */
export type SpeechEvent = { type: 'chunk'; chunk: SpeechChunk } | { type: 'fault'; fault: StreamFault };

/**
 * Speaks `text` at the pace of the emulated service: the first chunk after its delay, the others as much faster than
 * real time as set. A fault is reported once, where it is due; the stalls are made here.
 * @param requestedAt when the text was released (`clock.monotonic()`): waiting in line counts as part of the delay
 */
export async function* speakPaced(
  settings: SpeechSettings,
  options: { text: string; format: AudioFormat; requestedAt: number; signal: AbortSignal },
): AsyncGenerator<SpeechEvent> {
  const { renderer, faults, random, clock, stats } = settings;
  const { text, format, requestedAt, signal } = options;
  stats.utterances++;
  stats.characters += text.length;
  const fault = faults.take(
    ['zero_audio', 'stall', 'cut', 'reset', 'garbage', 'rate_limit'],
    (one) => one.kind !== 'rate_limit' || one.after !== undefined,
  );
  const firstAt = requestedAt + sampleMs(settings.firstAudio, random);
  const speech = renderer.render(text, format, signal)[Symbol.asyncIterator]();
  // The voice works while the delay runs. What became of it is looked at afterwards.
  let next = speech.next();
  next.catch(() => undefined);
  await wait(clock, firstAt - clock.monotonic(), signal);
  if (fault?.kind === 'zero_audio') return;
  let sent = 0;
  let dueAt = clock.monotonic();
  for (let piece = await next; !piece.done; piece = await next) {
    next = speech.next();
    next.catch(() => undefined);
    for (const chunk of cachedChunksOf(piece.value, format, random)) {
      await wait(clock, dueAt - clock.monotonic(), signal);
      if (fault && sent === (fault.after ?? 0)) {
        if (fault.kind === 'stall') await wait(clock, fault.delayMs ?? Infinity, signal);
        else yield { type: 'fault', fault };
      }
      signal.throwIfAborted();
      yield { type: 'chunk', chunk };
      sent++;
      stats.audioMs += chunk.durationMs;
      // A loop that was late does not make the next chunks early.
      dueAt =
        Math.max(dueAt, clock.monotonic() - chunk.durationMs) + chunk.durationMs / settings.realTimeFactor;
    }
  }
}
