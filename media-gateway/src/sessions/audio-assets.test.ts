import t from 'tap';
import type { PlanAsset } from '@parley/shared/contracts/audio-assets';
import { AudioAssets } from './audio-assets.ts';

/** A second of audio; at 8 kHz 16,002 bytes are reserved for it. */
const asset = (name: string): PlanAsset => ({ sha256: name, duration_ms: 1000, transcript: null });

function open(maxBytes?: number) {
  const asked: string[] = [];
  const waiting: { resolve(samples: Uint8Array): void; reject(error: Error): void }[] = [];
  const assets = new AudioAssets({
    source: {
      audioSamples: (id, rate, maxBytes) => {
        asked.push(`${id} ${rate} ${maxBytes}`);
        const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
        waiting.push({ resolve, reject });
        return promise;
      },
    },
    ...(maxBytes === undefined ? {} : { maxBytes }),
  });
  return { assets, asked, waiting };
}

void t.test('the same content is fetched once, at the lowest rate that loses nothing', async (t) => {
  const { assets, asked, waiting } = open();
  const both = [assets.load('aud_1', asset('a'), 8000), assets.load('aud_2', asset('a'), 8000)];
  const wide = assets.load('aud_1', asset('a'), 24_000);
  t.same(asked, ['aud_1 8000 16016', 'aud_1 48000 96096']);
  const samples = Uint8Array.of(1, 2);
  waiting[0]!.resolve(samples);
  waiting[1]!.resolve(samples);
  t.same(await Promise.all(both), [
    { samples, sampleRate: 8000 },
    { samples, sampleRate: 8000 },
  ]);
  t.equal((await wide).sampleRate, 48_000);
  t.equal((await assets.load('aud_1', asset('a'), 8000)).samples, samples);
  t.equal(asked.length, 2);
});

void t.test('what failed is asked for again', async (t) => {
  const { assets, asked, waiting } = open();
  const first = assets.load('aud_1', asset('a'), 8000);
  waiting[0]!.reject(new Error('no'));
  await t.rejects(first, { message: 'no' });
  void assets.load('aud_1', asset('a'), 8000);
  t.equal(asked.length, 2);
});

void t.test('memory is bounded: what was played longest ago goes, what is being loaded stays', async (t) => {
  const { assets, asked, waiting } = open(2 * 16_016);
  const load = (name: string) => assets.load(`aud_${name}`, asset(name), 8000);
  const loaded = [load('a'), load('b')];
  await t.rejects(load('c'), { message: 'Too much audio is being loaded.' });
  for (const { resolve } of waiting) resolve(new Uint8Array(16_000));
  await Promise.all(loaded);
  await load('a');
  void load('c');
  await load('a');
  t.same(asked, ['aud_a 8000 16016', 'aud_b 8000 16016', 'aud_c 8000 16016'], 'b made room');
});
