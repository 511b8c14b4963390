import t from 'tap';
import { dtmfTones } from './dtmf-tones.ts';
import { decodeMulaw, encodeMulaw } from './g711.ts';

const FREQUENCIES = [697, 770, 852, 941, 1209, 1336, 1477, 1633];
const KEYS = '123A456B789C*0#D';

/** Power of one frequency (Goertzel). */
function power(pcm: Int16Array, frequency: number, sampleRate: number): number {
  const factor = 2 * Math.cos((2 * Math.PI * frequency) / sampleRate);
  let [before, last] = [0, 0];
  for (const sample of pcm) [before, last] = [last, sample + factor * last - before];
  return before ** 2 + last ** 2 - factor * before * last;
}

/** The keys in a line, each heard for 40 ms at least and followed by as much silence. */
function keysIn(pcm: Int16Array, sampleRate: number): string {
  const frame = sampleRate / 50;
  let heard = '';
  for (let at = 0; at + frame <= pcm.length; at += frame) {
    const piece = pcm.subarray(at, at + frame);
    const loud = piece.some((sample) => Math.abs(sample) > 500);
    const powers = FREQUENCIES.map((frequency) => power(piece, frequency, sampleRate));
    const strongest = (from: number) => powers.indexOf(Math.max(...powers.slice(from, from + 4)), from);
    heard += loud ? KEYS[strongest(0) * 4 + strongest(4) - 4]! : ' ';
  }
  return [...heard.matchAll(/(\S)\1+(?= {2})/g)].map(([, key]) => key).join('');
}

void t.test('every key is heard as itself, at each rate, through mu-law', (t) => {
  for (const rate of [8000, 16_000, 24_000]) t.equal(keysIn(dtmfTones(KEYS, rate), rate), KEYS, `${rate} Hz`);
  const line = decodeMulaw(encodeMulaw(dtmfTones('0055#', 8000)));
  t.equal(keysIn(line, 8000), '0055#', 'a key twice is two keys');
  t.equal(dtmfTones('12#', 8000).length, 700 * 8, 'whole frames: 100 ms each of pause and tone');
  t.equal(dtmfTones('w', 8000).length, 800, 'what is no key is left out');
  const peak = dtmfTones(KEYS, 8000).reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
  t.ok(peak > 14_000 && peak < 20_000, `as loud as speech, and not clipped: ${peak}`);
  t.end();
});
