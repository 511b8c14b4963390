import t from 'tap';
import { encodeMulaw, MULAW_TO_PCM16 } from '@parley/shared/audio/g711';
import { Resampler } from '@parley/shared/audio/resampler';
import { FLITE_SAMPLE_RATE, openFlite } from '@parley/shared/speech/flite';
import { activeLevelDb } from '@parley/emulators/noise/active-level';
import { noiseAt } from '@parley/emulators/noise/line-noise';
import { makeNoise } from '@parley/emulators/noise/make-noise';
import type { NoiseKind } from '@parley/emulators/noise/noise-setting';
import { openVoices } from '@parley/emulators/noise/voices';
import { fakeCall, FakePhone, wirePlan } from '../src/call/fakes.ts';
import type { ParticipantListener } from '../src/participants/participant.ts';
import { SyncVoiceModel } from '../src/hearing/voice-model/sync-voice-model.ts';

// Whole calls with real voices, real noise and the real voice model, on a clock that the test moves: what is measured
// here is the call's own time, the same on every machine.

const FRAME = 160;
const QUESTION = 'Do you have a table by the window for four people tonight?';
const INTERRUPTION = 'Hang on, let me look at my calendar before we go on with this.';
const GREETING = 'Hello there, how may I help you today?';
/** An answer in the pieces in which it is spoken. */
const PIECES = [
  'We have a lovely table by the window,',
  'it seats four, and I can keep it for you from seven until half past nine.',
  'There is a small garden behind the house as well, where the children may play.',
];

const voices = await openVoices('development');
const flite = await openFlite();
const speech = new Map<string, Int16Array>();
for (const text of [QUESTION, INTERRUPTION, GREETING, ...PIECES])
  speech.set(text, toTelephone(await flite.synthesize(text)));
await flite[Symbol.asyncDispose]();
const callerDb = activeLevelDb(speech.get(QUESTION)!);
const model = new SyncVoiceModel();

/** @param line what the far end's line holds beside the caller */
function whole(line: { noise?: Int16Array; echo?: { db: number; delayMs: number } }) {
  let at = 0;
  let saying: Int16Array | undefined;
  const played: number[] = [];
  let queue: number[] = [];
  const call = fakeCall({
    voiceModel: model,
    speak: (text) => encodeMulaw(speech.get(text) ?? Int16Array.of()),
    llm: () => ({ events: [{ type: 'text', text: PIECES.join(' ') }] }),
    farEnd: (clock) => {
      const phone = new FakePhone(clock);
      let listener: ParticipantListener;
      const { attach, play, clear } = phone;
      phone.attach = (to) => {
        listener = to;
        attach.call(phone, { ...bound(to), onAudio() {} });
      };
      phone.play = (bytes) => {
        for (const byte of bytes) queue.push(MULAW_TO_PCM16[byte]!);
        play.call(phone, bytes);
      };
      phone.clear = () => {
        queue = [];
        clear.call(phone);
      };
      return {
        participant: phone,
        tick() {
          const frame = new Int16Array(FRAME);
          for (let i = 0; i < FRAME; i++, at++) {
            played.push(queue[i] ?? 0);
            const said = saying?.[i] ?? 0;
            const noise = line.noise?.[at % line.noise.length] ?? 0;
            const echo = line.echo
              ? (played[at - line.echo.delayMs * 8] ?? 0) * 10 ** (line.echo.db / 20)
              : 0;
            frame[i] = Math.max(-32_768, Math.min(32_767, said + noise + echo));
          }
          queue = queue.slice(FRAME);
          saying = saying && saying.length > FRAME ? saying.subarray(FRAME) : undefined;
          phone.tick(false);
          listener.onAudio(encodeMulaw(frame), undefined);
        },
      };
    },
    plan: wirePlan((plan) => (plan.agent.greeting = GREETING)),
  });
  const decisions = () =>
    call.events.flatMap(({ type, data, offsetMs }) =>
      type === 'turn_decision' ? [{ ...(data as { action: string; rule: string }), offsetMs }] : [],
    );
  const agentTurns = () => call.turns().filter(({ role }) => role === 'agent').length;
  return {
    call,
    stops: () => decisions().filter(({ action }) => action === 'stop'),
    resumes: () => decisions().filter(({ action }) => action === 'resume'),
    say(text: string, gain = 1) {
      saying = speech.get(text)!.map((sample) => sample * gain);
      return saying.length / 8;
    },
    /** The caller asks, and the STT understands. */
    async ask(gain = 1): Promise<void> {
      const ms = this.say(QUESTION, gain);
      await call.wait(ms / 2);
      call.stt.onInterim({ text: 'Do you have', confidence: 0.9, endMs: undefined, language: undefined });
      await call.wait(ms / 2 + 300);
      call.stt.onTurnEnd({ text: QUESTION, confidence: 0.9, endMs: undefined, language: undefined });
      await call.wait(400);
    },
    /** @returns how long the agent took to end, ms */
    async untilSaid(): Promise<number> {
      const before = agentTurns();
      let ms = 0;
      for (; agentTurns() === before && ms < 60_000; ms += 20) await call.wait(20);
      return ms;
    },
  };
}

const answerMs = PIECES.reduce((ms, piece) => ms + speech.get(piece)!.length / 8, 0);

void t.test('the television 20 dB below the caller: the agent goes on, and hears the caller', async (t) => {
  const heard = whole({ noise: noise('tv', -20) });
  await heard.untilSaid();
  t.ok(heard.stops().length <= 2, 'at first it may be the caller, twice at most');
  await heard.ask();
  t.match(heard.call.turns().at(-1), { role: 'caller', text: QUESTION });
  const before = heard.stops().length;
  const took = await heard.untilSaid();
  t.ok(took < 1.3 * answerMs, `${took} ms for an answer of ${answerMs} ms`);
  t.ok(heard.stops().length <= before + 1, 'hardly anything stopped it');

  await heard.ask();
  await heard.call.wait(2000);
  const undisturbed = heard.stops().length;
  heard.say(INTERRUPTION);
  await heard.call.wait(300);
  t.equal(heard.stops().length, undisturbed + 1, 'the caller stopped it');
});

void t.test('a knock in quiet holds the agent only until it is seen to be nothing', async (t) => {
  const knocks = whole({ noise: noise('knock', -10) });
  await knocks.untilSaid();
  await knocks.ask();
  await knocks.untilSaid();
  const stops = knocks.stops();
  t.ok(stops.length > 0, 'the first is taken for a voice');
  t.match(knocks.resumes()[0], { rule: 'no_voice' });
  t.ok(knocks.resumes()[0]!.offsetMs - stops[0]!.offsetMs <= 450);
  t.ok(stops.length <= 2, `${stops.length} stops`);
});

void t.test('rule 14: the echo of the agent does not stop it, the caller does', async (t) => {
  for (const delayMs of [50, 130, 285, 400]) {
    const echo = whole({ echo: { db: -20, delayMs } });
    await echo.untilSaid();
    await echo.ask();
    await echo.untilSaid();
    t.same(echo.stops(), [], `${delayMs} ms`);
    await echo.ask();
    await echo.call.wait(2000);
    echo.say(INTERRUPTION);
    await echo.call.wait(200);
    t.equal(echo.stops().length, 1, `${delayMs} ms: the caller is heard`);
  }
});

void t.test('a caller far softer than the agent is heard, if not at once', async (t) => {
  const soft = whole({});
  await soft.untilSaid();
  for (const waitMs of [1000, 2000, 3500]) {
    const before = soft.stops().length;
    await soft.ask(0.1);
    await soft.call.wait(waitMs);
    soft.say(INTERRUPTION, 0.1);
    await soft.call.wait(1000);
    t.ok(soft.stops().length > before, `after ${waitMs} ms`);
    await soft.untilSaid();
  }
});

function noise(kind: NoiseKind, levelDb: number): Int16Array {
  return noiseAt(makeNoise(kind, 'development', voices, 12), callerDb + levelDb);
}

function toTelephone(samples: Int16Array): Int16Array {
  const resampler = new Resampler(FLITE_SAMPLE_RATE, 8000);
  const whole = Int16Array.from([...resampler.process(samples), ...resampler.flush()]);
  const loud = (sample: number) => Math.abs(sample) > 400;
  return whole.subarray(whole.findIndex(loud), whole.findLastIndex(loud));
}

function bound(listener: ParticipantListener): ParticipantListener {
  return {
    onAudio: (bytes, timestampMs) => listener.onAudio(bytes, timestampMs),
    onMark: (name) => listener.onMark(name),
    onDtmf: (digit) => listener.onDtmf(digit),
    onGone: (gone) => listener.onGone(gone),
  };
}
