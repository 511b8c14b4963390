import t from 'tap';
import { setTimeout as pause } from 'node:timers/promises';
import { decodeMulaw, encodeMulaw } from '@parley/shared/audio/g711';
import {
  isNoiseSuppressorInstalled,
  loadRnnoise,
  NoiseSuppressor,
} from '@parley/shared/audio/noise-suppressor';
import { silentLogger } from '@parley/shared/logging/logger';
import { fakeCall, wirePlan } from '../../call/fakes.ts';
import { ThreadedNoiseSuppression } from './noise-suppression.ts';

const PCMU = { encoding: 'pcmu', sampleRate: 8000 } as const;

/** Noise that is the same each time, 20 ms at 8 kHz. */
function noise() {
  let state = 1;
  return () =>
    encodeMulaw(
      Int16Array.from({ length: 160 }, () => {
        state = (state * 1_103_515_245 + 12_345) & 0x7fff_ffff;
        return (state / 0x7fff_ffff - 0.5) * 4000;
      }),
    );
}

const level = (frames: readonly Uint8Array[]) => {
  const samples = frames.flatMap((frame) => [...decodeMulaw(frame)]);
  return (
    10 * Math.log10(samples.reduce((sum, sample) => sum + sample * sample, 1) / Math.max(1, samples.length))
  );
};

void t.test('noise is softer, and softest at the higher level; nothing gets lost', async (t) => {
  t.ok(isNoiseSuppressorInstalled());
  const rnnoise = await loadRnnoise();
  const heard = (['standard', 'high'] as const).map((strength) => {
    const suppressor = new NoiseSuppressor(rnnoise, PCMU, strength);
    const next = noise();
    const frames = Array.from({ length: 150 }, () => suppressor.process(next()).slice());
    const bytes = frames.reduce((sum, frame) => sum + frame.length, 0);
    suppressor[Symbol.dispose]();
    t.ok(bytes > 149 * 160 - 400 && bytes <= 150 * 160, `${bytes} bytes of ${150 * 160}`);
    return level(frames.slice(75));
  });
  const next = noise();
  const raw = level(Array.from({ length: 75 }, next));
  t.comment(`noise of ${raw.toFixed(1)} dB: ${heard.map((one) => one.toFixed(1)).join(', ')}`);
  t.ok(heard[0]! < raw - 6 && heard[1]! < heard[0]! - 6);
});

void t.test('a thread does it for streams of all calls, each by itself', async (t) => {
  const suppression = new ThreadedNoiseSuppression({ maxStreams: 2, logger: silentLogger() });
  t.teardown(() => suppression[Symbol.asyncDispose]());
  const first = suppression.open(PCMU, 'high')!;
  const second = suppression.open({ encoding: 'pcm16', sampleRate: 16_000 }, 'standard')!;
  t.equal(suppression.open(PCMU, 'high'), undefined, 'no more than there is room for');
  const next = noise();
  const raw = next();
  // Until the thread works, audio stays as it came.
  t.equal(first.clean(raw), raw);
  const clean: Uint8Array[] = [];
  let bytes = 0;
  for (let i = 0; i < 20_000 && bytes < 24_000; i++) {
    const frame = next();
    const out = first.clean(frame);
    second.clean(new Uint8Array(640));
    if (out !== frame) clean.push(out.slice());
    bytes += out === frame ? 0 : out.length;
    await pause(1);
  }
  t.ok(bytes >= 24_000, `${bytes} bytes`);
  t.ok(level(clean.slice(clean.length / 2)) < level([raw]) - 12);
  first.close();
  const again = suppression.open(PCMU, 'high')!;
  t.ok(again, 'a place is used again');
  again.close();
  second.close();
  await suppression[Symbol.asyncDispose]();
  t.equal(again.clean(raw), raw, 'and without the thread, too');
});

void t.test('the STT of an agent that wants it gets the audio without noise, and nobody else', async (t) => {
  for (const wanted of ['high', 'off'] as const) {
    const opened: string[] = [];
    let closed = 0;
    const call = fakeCall({
      plan: wirePlan((_plan, config) => (config.stt.noise_suppression = wanted)),
      noise: {
        open: (format, strength) => {
          opened.push(`${format.encoding} ${strength}`);
          return { clean: (bytes) => bytes.subarray(0, 80), close: () => closed++ };
        },
      },
    });
    await call.wait(1000);
    t.same(opened, wanted === 'high' ? ['pcmu high'] : []);
    t.equal(
      call.sttFrames.every(({ ms }) => ms === (wanted === 'high' ? 10 : 20)),
      true,
      wanted,
    );
    call.call.end({ ended_by: 'api' });
    await call.call.ended;
    t.equal(closed, opened.length);
  }
});
