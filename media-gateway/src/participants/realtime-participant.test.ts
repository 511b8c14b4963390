import t from 'tap';
import type { Gone } from './participant.ts';
import { RealtimeParticipant } from './realtime-participant.ts';

const PCM = { encoding: 'pcm16', sampleRate: 24_000 } as const;
const PCMU = { encoding: 'pcmu', sampleRate: 8000 } as const;

function open() {
  const closed: number[] = [];
  const frames: { bytes: Buffer; timestampMs: number | undefined }[] = [];
  const gone: Gone[] = [];
  const participant = new RealtimeParticipant({
    inputFormat: PCM,
    outputFormat: PCM,
    outlet: { onAgentAudio() {}, onClosed: (code) => void closed.push(code), bufferedBytes: () => 0 },
  });
  const listener = {
    onAudio: (bytes: Uint8Array, timestampMs: number | undefined) =>
      void frames.push({ bytes: Buffer.from(bytes), timestampMs }),
    onMark() {},
    onDtmf() {},
    onGone: (how: Gone) => void gone.push(how),
  };
  return { participant, listener, frames, gone, closed };
}

void t.test('pieces of any length become short ones, and no sample is split', async (t) => {
  const { participant, listener, frames } = open();
  participant.attach(listener);
  await Promise.resolve();
  const sent = Buffer.from(Array.from({ length: 4801 }, (_, i) => i % 251));
  for (const [from, to] of [
    [0, 3],
    [3, 4],
    [4, 2000],
    [2000, 4801],
  ] as const)
    participant.receive(sent.subarray(from, to), PCM);
  t.ok(frames.every(({ bytes }) => bytes.length <= 960 && bytes.length % 2 === 0));
  t.same(Buffer.concat(frames.map(({ bytes }) => bytes)), sent.subarray(0, 4800));
  t.same(frames.at(-1)!.timestampMs! + frames.at(-1)!.bytes.length / 48, 100, 'with its place in time');
});

void t.test('the form of the audio may change on the way', async (t) => {
  const { participant, listener, frames } = open();
  participant.attach(listener);
  await Promise.resolve();
  participant.receive(new Uint8Array(800).fill(0xff), PCMU);
  const ms = frames.reduce((sum, { bytes }) => sum + bytes.length / 48, 0);
  t.ok(ms > 80 && ms <= 100, `100 ms of mu-law, less what the resampler holds: ${ms}`);
  participant.receive(new Uint8Array(960), PCM);
  t.equal(frames.at(-1)!.bytes.length, 960);
});

void t.test('before the call listens the newest second is kept', async (t) => {
  const { participant, listener, frames } = open();
  for (let second = 0; second < 3; second++) participant.receive(new Uint8Array(48_000).fill(second), PCM);
  participant.attach(listener);
  await Promise.resolve();
  t.equal(frames.length, 50);
  t.ok(frames.every(({ bytes }) => bytes.every((byte) => byte === 2)));
});

void t.test('an end is told once, even when it came before the call', async (t) => {
  const early = open();
  early.participant.leave({ lost: true });
  early.participant.leave({ lost: false });
  early.participant.attach(early.listener);
  await Promise.resolve();
  t.same(early.gone, [{ by: 'caller', lost: true }]);
  early.participant.receive(new Uint8Array(960), PCM);
  early.participant.end('over', 'over');
  t.same([early.frames.length, early.closed.length], [0, 0], 'nothing after it');

  const closed = open();
  closed.participant.attach(closed.listener);
  await Promise.resolve();
  closed.participant.end('over', 'done');
  closed.participant.end('failed', 'twice');
  closed.participant.leave({ lost: true });
  t.same(closed.closed, [1000]);
  t.same(closed.gone, [], 'nobody is told of what they did themselves');
});
