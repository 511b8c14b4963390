import t from 'tap';
import { decodeMulaw, encodeMulaw } from '@parley/shared/audio/g711';
import { seededRandom } from '@parley/shared/values/seeded-random';
import { ScriptedEars } from './ears.ts';
import { markVoice, readVoiceMark } from './voice-mark.ts';

const FORMAT = { encoding: 'mulaw', sampleRate: 8000 } as const;

function noise(ms: number, amplitude: number): Uint8Array {
  const random = seededRandom(ms);
  return encodeMulaw(Int16Array.from({ length: ms * 8 }, () => amplitude * (2 * random() - 1)));
}

void t.test(
  'a mark changes at most every eighth sample, by a step of mu-law, and is read again',
  async (t) => {
    const plain = noise(20, 8000);
    for (const speaks of [true, false]) {
      const marked = plain.slice();
      markVoice(marked, speaks);
      t.equal(readVoiceMark(marked.subarray(0, 80)), speaks);
      t.equal(readVoiceMark(marked.subarray(80)), speaks);
      const [before, after] = [decodeMulaw(plain), decodeMulaw(marked)];
      for (const [i, sample] of before.entries())
        if (sample !== after[i]) t.ok(i % 8 === 0 && Math.abs(sample - after[i]!) <= 512);
    }
    t.equal(readVoiceMark(plain), undefined);
  },
);

void t.test('ears that believe marks hear the caller in any noise, and no noise without', async (t) => {
  const ears = new ScriptedEars(FORMAT, [['Hello', 'there.'], ['Yes.']], { marked: true });
  const heard: string[] = [];
  ears.onTick = () =>
    heard.push(
      ears
        .words()
        .map((word) => word.text)
        .join(' '),
    );
  const say = (ms: number, speaks: boolean, amplitude: number) => {
    const audio = noise(ms, amplitude);
    markVoice(audio, speaks);
    // In pieces that are no whole blocks.
    for (let at = 0; at < audio.length; at += 50) ears.push(audio.subarray(at, at + 50));
  };
  say(500, false, 20_000);
  t.equal(heard.length, 50);
  t.same(new Set(heard), new Set(['']), 'loud noise is nothing, from the first block on');
  say(700, true, 100);
  t.equal(heard.at(-1), 'Hello there.', 'a faint caller is heard');
  t.equal(ears.lastVoicedMs, 1200);
  say(300, false, 20_000);
  t.equal(ears.lastVoicedMs, 1200, 'and stops in noise');
  ears.endUtterance();
  say(100, true, 100);
  t.equal(heard.at(-1), 'Yes.');
});

void t.test('audio without marks is as loud as it is, whatever its bits are by chance', async (t) => {
  const telephone = new ScriptedEars(FORMAT, [['Loud.']], { marked: true });
  const audio = noise(1000, 9000);
  for (let at = 0; at < audio.length; at += 800) markVoice(audio.subarray(at, at + 80), false);
  telephone.push(audio);
  t.equal(telephone.lastVoicedMs, 1000);
  telephone.push(noise(500, 50));
  t.equal(telephone.lastVoicedMs, 1000);
  const linear = new ScriptedEars({ encoding: 'linear16', sampleRate: 8000 }, [['Loud.']], { marked: true });
  linear.push(Buffer.from(new Int16Array(800).fill(9000).buffer));
  t.equal(linear.lastVoicedMs, 100);
});
