import { AudioConverter } from '@parley/shared/audio/convert';
import { bytesPerMs, type AudioFormat } from '@parley/shared/audio/audio-frame';
import { ProviderError } from '@parley/shared/errors/provider-error';
import type { Clock } from '@parley/shared/time/clock';
import type { TtsProvider } from '../providers/tts/tts-provider.ts';

const TIMEOUT_MS = 5000;

/**
 * Has a voice speak a few words into memory.
 * @param maxMs of a longer one nothing is returned
 * @returns audio in `output`
 * @throws ProviderError; the reason of `signal`
 */
export function spokenPhrase(
  text: string,
  {
    voice,
    output,
    maxMs,
    clock,
    signal,
  }: { voice: TtsProvider; output: AudioFormat; maxMs: number; clock: Clock; signal: AbortSignal },
): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const abort = new AbortController();
  const converter = new AudioConverter(voice.format, output);
  const pieces: Uint8Array[] = [];
  const fail = (reason: string) => reject(new ProviderError(voice.name, 'timeout', reason));
  const onAbort = () => reject(signal.reason as Error);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  const timer = clock.setTimeout(() => fail('The phrase was not spoken in time.'), TIMEOUT_MS);
  let bytes = 0;
  const utterance = voice.open(
    {
      onAudio: (audio) => {
        pieces.push(converter.convert(audio).slice());
        bytes += pieces.at(-1)!.length;
        if (bytes > maxMs * bytesPerMs(output)) fail('The phrase is too long.');
      },
      onDone: () => {
        pieces.push(converter.flush());
        resolve(Buffer.concat(pieces));
      },
      onFailed: reject,
    },
    abort.signal,
  );
  utterance.push(text);
  utterance.end();
  return promise.finally(() => {
    timer.cancel();
    signal.removeEventListener('abort', onAbort);
    abort.abort(new Error('The phrase is over.'));
  });
}
