import t from 'tap';
import { decodeMulaw, encodeMulaw } from '@parley/shared/audio/g711';
import { seededRandom } from '@parley/shared/values/seeded-random';
import { ScriptedEars } from './ears.ts';
import { carriesMarks, markVoice, readLinearVoiceMark, readVoiceMark } from './voice-mark.ts';

const FORMAT = { encoding: 'mulaw', sampleRate: 8000 } as const;
const LINEAR = { encoding: 'linear16', sampleRate: 8000 } as const;

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

/** As somebody sends it on who decodes what the telephone gave. */
function linear(mulaw: Uint8Array): Uint8Array {
  const bytes = Buffer.alloc(2 * mulaw.length);
  decodeMulaw(mulaw).forEach((sample, at) => bytes.writeInt16LE(sample, 2 * at));
  return bytes;
}

void t.test('a mark is still there in the linear samples that were decoded, whatever the byte', async (t) => {
  // Every code of mu-law in every place, both zeros included.
  for (let first = 0; first < 256; first++) {
    const mulaw = Uint8Array.from({ length: 80 }, (_, i) => (first + i) & 0xff);
    for (const speaks of [true, false]) {
      markVoice(mulaw, speaks);
      t.equal(readLinearVoiceMark(linear(mulaw)), speaks);
    }
  }
  t.equal(readLinearVoiceMark(new Uint8Array(160)), undefined);
  t.equal(readLinearVoiceMark(linear(noise(10, 8000))), undefined);
  t.ok(carriesMarks(FORMAT));
  t.ok(carriesMarks(LINEAR));
  t.notOk(carriesMarks({ encoding: 'linear16', sampleRate: 16_000 }), 'resampled marks are none');
  t.notOk(carriesMarks({ encoding: 'alaw', sampleRate: 8000 }));
});

for (const [format, onTheWire] of [
  [FORMAT, (mulaw: Uint8Array) => mulaw],
  [LINEAR, linear],
] as const)
  void t.test(`ears that believe marks hear the caller in any noise: ${format.encoding}`, async (t) => {
    const ears = new ScriptedEars(format, [['Hello', 'there.'], ['Yes.']], { marked: true });
    const heard: string[] = [];
    ears.onTick = () =>
      heard.push(
        ears
          .words()
          .map((word) => word.text)
          .join(' '),
      );
    const say = (ms: number, speaks: boolean, amplitude: number) => {
      const mulaw = noise(ms, amplitude);
      markVoice(mulaw, speaks);
      const audio = onTheWire(mulaw);
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
  const browser = new ScriptedEars(LINEAR, [['Loud.']], { marked: true });
  browser.push(Buffer.from(new Int16Array(800).fill(9000).buffer));
  t.equal(browser.lastVoicedMs, 100);
});
