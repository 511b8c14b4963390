import t from 'tap';
import { MULAW_TO_PCM16 } from '@parley/shared/audio/g711';
import { GAIN_BITS } from '@parley/shared/audio/gain';
import type { RecordedSpeech } from '../speech/recorded-speech.ts';
import { BackgroundAudio } from './background-audio.ts';
import { fakeCall, wirePlan } from './fakes.ts';

const OFFICE = 'aud_office';
const MUSIC = 'aud_music';
const asset = { sha256: 'a', duration_ms: 1000, transcript: null };
/** A second of one value, as PCM16 bytes. */
const tone = (value: number) => {
  const { buffer, byteOffset, byteLength } = Int16Array.from({ length: 8000 }, () => value);
  return new Uint8Array(buffer, byteOffset, byteLength);
};

const planWith = (volume: number) =>
  wirePlan((plan, config) => {
    config.background_audio = { audio_asset_id: OFFICE, volume };
    plan.assets = { [OFFICE]: asset, [MUSIC]: asset };
  });

void t.test('rule 27: a background is heard from the beginning, and a call ends as without it', async (t) => {
  const call = fakeCall({
    plan: planWith(0.5),
    audio: async () => ({ samples: tone(8000), sampleRate: 8000 }),
  });
  await call.wait(2600);
  t.ok(call.phone.bufferedMs >= 80, 'it goes on when the greeting is over');
  const last = MULAW_TO_PCM16[call.phone.sent.at(-1)!.at(-1)!]!;
  t.ok(Math.abs(last - 4000) < 200, `half as loud: ${last}`);
  t.match(call.texts(), ['agent: Hello there friend.']);
  await call.hears('What time is it?');
  await call.wait(3000);
  t.match(call.texts().slice(1), ['caller: What time is it?', 'agent: All right then.']);
  t.match(call.turns().at(-1), { interrupted: false });
  call.call.end({ ended_by: 'api', hangup_reason: 'api_hangup' });
  const sent = call.phone.sent.length;
  await call.wait(400);
  t.equal(call.phone.sent.length, sent, 'nothing goes out any more');
});

void t.test('a background that cannot be had is a warning, once', async (t) => {
  const call = fakeCall({ plan: planWith(0.2) });
  await call.wait(2000);
  t.match(
    call.events.filter(({ type }) => type === 'warning').map(({ data }) => data),
    [{ code: 'background_audio_unavailable' }],
  );
  t.same(call.texts(), ['agent: Hello there friend.']);
  call.call.end({ ended_by: 'api', hangup_reason: 'api_hangup' });
});

void t.test('hold audio takes the place of the background until it is ended', async (t) => {
  const played: (number | undefined)[] = [];
  const plan = planWith(0.5);
  const loads = new Map<string, PromiseWithResolvers<RecordedSpeech>>();
  const audio = new BackgroundAudio({
    plan,
    participant: { ambience: true, outputFormat: { encoding: 'pcmu', sampleRate: 8000 } },
    bed: { play: (loop) => void played.push(loop && (loop.samples[0]! * loop.gain) / (1 << GAIN_BITS)) },
    loadAudio: (id) => {
      const load = Promise.withResolvers<RecordedSpeech>();
      loads.set(id, load);
      return load.promise;
    },
    emit: (type, data) => t.fail(`${type} ${JSON.stringify(data)}`),
  });
  const loaded = async (id: string, value: number) => {
    loads.get(id)!.resolve({ samples: tone(value), sampleRate: 8000 });
    await new Promise<void>((resolve) => setImmediate(resolve));
  };
  audio.begin();
  const end = audio.hold(MUSIC);
  await loaded(OFFICE, 1000);
  t.same(played, [undefined, undefined], 'what comes too late is not played');
  await loaded(MUSIC, 6000);
  t.equal(played.at(-1), 6000, 'as loud as it is');
  end();
  end();
  await loaded(OFFICE, 1000);
  t.same(played.slice(3), [undefined, 500]);
  audio.stop();
  audio.hold(MUSIC);
  await loaded(MUSIC, 6000);
  t.same(played.slice(5), [undefined], 'nothing after the end');
});
