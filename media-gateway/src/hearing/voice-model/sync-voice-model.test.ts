import t from 'tap';
import { bytesFromPcm16 } from '@parley/shared/audio/audio-frame';
import { encodeAlaw, encodeMulaw } from '@parley/shared/audio/g711';
import { Resampler } from '@parley/shared/audio/resampler';
import { referenceSounds } from './fixtures/reference-sound.ts';
import { pushPieces, readVerdicts, type Verdict } from './fixtures/verdicts.ts';
import { SyncVoiceModel } from './sync-voice-model.ts';
import type { VoiceModelStream } from './voice-model.ts';

const PCMU = { encoding: 'pcmu', sampleRate: 8000 } as const;
const [voice] = await referenceSounds();
const mulaw = encodeMulaw(voice!);
const model = new SyncVoiceModel();

function judged(stream: VoiceModelStream, bytes: Uint8Array, pieceBytes: number): Verdict[] {
  stream.judging = true;
  pushPieces(stream, bytes, pieceBytes);
  return readVerdicts(stream);
}

void t.test('each window of 32 ms has a verdict, in order, however the audio is cut', async (t) => {
  const second = mulaw.subarray(0, 8000);
  const whole = judged(model.open(PCMU), second, 8000);
  t.same(
    whole.map(({ endMs }) => endMs),
    Array.from({ length: 31 }, (_, i) => 32 * (i + 1)),
  );
  t.same(judged(model.open(PCMU), second, 160), whole);
  t.same(judged(model.open(PCMU), second, 7), whole);
});

void t.test('the same voice gives the same verdicts in all formats', async (t) => {
  const samples = voice!.subarray(0, 5 * 8000);
  const expected = judged(model.open(PCMU), encodeMulaw(samples), 160);
  const share = (found: Verdict[]) => found.filter(({ probability }) => probability >= 0.5).length / 156;
  t.ok(share(expected) > 0.8);
  t.same(
    judged(model.open({ encoding: 'pcm16', sampleRate: 8000 }), bytesFromPcm16(samples), 321 * 2),
    expected,
    'PCM16 at 8 kHz',
  );
  t.ok(
    Math.abs(
      share(judged(model.open({ encoding: 'pcma', sampleRate: 8000 }), encodeAlaw(samples), 160)) -
        share(expected),
    ) < 0.03,
    'A-law',
  );
  for (const sampleRate of [16_000, 24_000, 48_000]) {
    const upsampled = bytesFromPcm16(new Resampler(8000, sampleRate).process(samples));
    const found = judged(model.open({ encoding: 'pcm16', sampleRate }), upsampled, sampleRate / 25);
    t.ok(found.length >= 155);
    t.ok(Math.abs(share(found) - share(expected)) < 0.03, `PCM16 at ${sampleRate} Hz`);
  }
});

void t.test('judging begins with the last 96 ms, and anew', async (t) => {
  const stream = model.open(PCMU);
  stream.push(mulaw.subarray(0, 9000));
  t.same(readVerdicts(stream), []);
  t.equal(stream.behindMs, 0);
  stream.judging = true;
  const begun = readVerdicts(stream);
  t.same(
    begun.map(({ endMs }) => endMs),
    [1061, 1093, 1125],
  );
  const other = model.open(PCMU);
  other.push(mulaw.subarray(0, 4000));
  judged(other, mulaw.subarray(4000, 6000), 160);
  other.judging = false;
  other.push(mulaw.subarray(6000, 9000));
  other.judging = true;
  t.same(readVerdicts(other), begun, 'whatever was judged before the pause');
});

void t.test('after a pause of less than 96 ms judging goes on', async (t) => {
  const expected = judged(model.open(PCMU), mulaw.subarray(0, 8000), 160);
  const stream = model.open(PCMU);
  judged(stream, mulaw.subarray(0, 4000), 160);
  const before = 15;
  stream.judging = false;
  stream.push(mulaw.subarray(4000, 4400));
  t.same(judged(stream, mulaw.subarray(4400, 8000), 160), expected.slice(before));
});

void t.test('what is not judged yet is told, and nothing is judged after the end', async (t) => {
  const stream = model.open(PCMU);
  stream.judging = true;
  stream.push(mulaw.subarray(0, 300));
  t.equal(stream.behindMs, 44 / 8);
  t.equal(readVerdicts(stream).length, 1);
  stream.close();
  stream.judging = true;
  stream.push(mulaw.subarray(300, 3000));
  t.same(readVerdicts(stream), []);
  t.equal(stream.behindMs, 0);
  stream.close();
});
