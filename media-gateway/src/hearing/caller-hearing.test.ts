import t from 'tap';
import { encodeMulaw } from '@parley/shared/audio/g711';
import { CallerHearing } from './caller-hearing.ts';
import { EVIDENCE } from './voice-evidence.ts';
import type { VoiceModelStream } from './voice-model/voice-model.ts';

const FORMAT = { encoding: 'pcmu', sampleRate: 8000 } as const;
const LOUD = encodeMulaw(Int16Array.from({ length: 160 }, (_, i) => (i % 8 < 4 ? 4000 : -4000)));
const QUIET = encodeMulaw(new Int16Array(160));

/** A model that judges what it is told to, and may stop judging. */
class ScriptedModel implements VoiceModelStream {
  judging = false;
  behindMs = 0;
  pushedMs = 0;
  closed = false;
  #verdicts: [number, number][] = [];

  push(bytes: Uint8Array): void {
    this.pushedMs += bytes.length / 8;
  }
  judge(probability: number): void {
    this.#verdicts.push([probability, this.pushedMs]);
  }
  read(each: (probability: number, endMs: number) => void): void {
    for (const [probability, endMs] of this.#verdicts.splice(0)) each(probability, endMs);
  }
  close(): void {
    this.closed = true;
  }
}

function listen() {
  const model = new ScriptedModel();
  const hearing = new CallerHearing({ format: FORMAT, threshold: 0.5, model: { open: () => model } });
  let now = 0;
  return {
    model,
    hearing,
    /** @returns the most evidence of these frames and of what the model says of them */
    frames(count: number, bytes: Uint8Array, probability?: number): number {
      let most = 0;
      for (let i = 0; i < count; i++) {
        most = Math.max(most, hearing.push(bytes, 20, (now += 20)));
        if (probability !== undefined) model.judge(probability);
        most = Math.max(most, hearing.tick());
      }
      return most;
    },
  };
}

void t.test('the model is asked while something is loud, and shortly after', async (t) => {
  const { model, frames } = listen();
  frames(50, QUIET);
  t.equal(model.judging, false);
  frames(1, LOUD);
  t.equal(model.judging, true);
  frames(20, QUIET);
  t.equal(model.judging, true);
  frames(1, QUIET);
  t.equal(model.judging, false);
});

void t.test(
  'all audio reaches the model, whose places count from the first: also while it is late',
  async (t) => {
    const { model, hearing, frames } = listen();
    frames(10, QUIET);
    model.behindMs = 800;
    t.equal(frames(20, LOUD), EVIDENCE.lasting_voice, 'loudness decides meanwhile');
    t.equal(model.pushedMs, hearing.audioMs);
    model.behindMs = 0;
    frames(30, QUIET);
    t.equal(frames(20, LOUD, 0.9), EVIDENCE.lasting_voice);
    t.equal(hearing.lastSpeechAudioMs, hearing.audioMs);
  },
);

void t.test('loud sounds that are no voice make the line noisy, and quiet again in time', async (t) => {
  const { hearing, frames } = listen();
  t.equal(frames(4, LOUD, 0.1), EVIDENCE.sound, 'at first any sound may be the caller');
  frames(10, LOUD, 0.1);
  t.equal(hearing.noisy, true);
  t.equal(hearing.demand, EVIDENCE.voice);
  frames(10, QUIET);
  t.equal(frames(14, LOUD, 0.1), EVIDENCE.sound, 'heard, and less than is asked for');
  t.equal(hearing.speechMs, 0, 'nobody spoke');
  frames(400, QUIET);
  t.equal(hearing.demand, EVIDENCE.sound);
});

void t.test('a stop is seen to be nothing once enough of it was judged', async (t) => {
  const { hearing, frames } = listen();
  frames(4, LOUD, 0.1);
  hearing.stopped();
  frames(6, LOUD, 0.1);
  t.equal(hearing.isNothing, false);
  frames(8, LOUD, 0.1);
  t.equal(hearing.isNothing, true);
  hearing.stopped();
  frames(20, LOUD, 0.9);
  t.equal(hearing.isNothing, false, 'a voice is something');
});

void t.test('the place at the model is given back', async (t) => {
  const { model, hearing } = listen();
  hearing[Symbol.dispose]();
  t.equal(model.closed, true);
});

void t.test('the very first sound of a line can be told from the echo of the agent', async (t) => {
  const { hearing } = listen();
  hearing.agentSaid(LOUD, FORMAT, 0);
  hearing.push(encodeMulaw(Int16Array.from({ length: 160 }, (_, i) => (i % 8 < 4 ? 600 : -600))), 20, 20);
  t.equal(hearing.sttSpeech(), EVIDENCE.none, 'softer than the agent by 16 dB');
});
