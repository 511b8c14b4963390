import { decodeAlaw, encodeAlaw, encodeMulaw } from '@parley/shared/audio/g711';
import type { AnswerClass } from '@parley/shared/contracts/answer-detection';
import type { AnswerScript, AnswererKind } from '@parley/emulators/answers/answer-script';
import { renderAnswer } from '@parley/emulators/answers/answer-sound';
import { openSpeaker } from '@parley/emulators/noise/voices';
import { seededRandom } from '@parley/shared/values/seeded-random';
import { fakeCall, wirePlan } from '../../src/call/fakes.ts';
import type { VoiceModel } from '../../src/hearing/voice-model/voice-model.ts';

const FRAME_MS = 20;
const FRAME_SAMPLES = 160;
/** Silence behind each answer. */
const AFTER_MS = 2500;
/** How late an STT tells a word, and that a turn is over; and how many words it does not hear. */
const STT_MS = 300;
const STT_END_MS = 600;
const STT_PAUSE_MS = 400;
const STT_MISSES = 0.05;
/** First audio of the agent's voice. */
const TTS_MS = 200;

/** What one answer was taken for. */
export interface AnswerResult {
  kind: AnswererKind;
  said: string;
  /** The last verdict; undefined where there was none by the end. */
  class: AnswerClass | undefined;
  by: string | undefined;
  /** All verdicts in order. */
  verdicts: AnswerClass[];
  /** Of the last verdict, from the answer on. */
  afterMs: number | undefined;
  /** From the end of the first thing said to the agent's first audio; undefined where the agent never spoke. */
  silenceMs: number | undefined;
  /** When the agent's first audio went out. */
  spokeAt: number | undefined;
}

/**
 * Plays an answer to a whole call: through a telephone's codec, into the gateway's own ears, on a clock moved by hand.
 * The STT is told the words, late and with gaps.
 */
export async function measureAnswer(
  script: AnswerScript,
  options: {
    speak: Awaited<ReturnType<typeof openSpeaker>>;
    seed: number;
    model: VoiceModel | undefined;
    /** The far end's codec. */
    law: 'pcmu' | 'pcma';
    /** What the call does with a machine. */
    voicemail?: 'hangup' | 'leave_message';
  },
): Promise<AnswerResult> {
  const { seed } = options;
  const sound = renderAnswer(script, options.speak, seed);
  const random = seededRandom(seed + 1000);
  const plan = wirePlan((wire, config) => {
    wire.direction = 'outbound';
    wire.answer_detection = { deadline_ms: 6000, carrier: 'none' };
    wire.agent.greeting = 'Hello, this is the desk, I am calling about your appointment tomorrow.';
    config.answer_detection.voicemail.action = options.voicemail ?? 'hangup';
    config.answer_detection.voicemail.message = 'Please call us back.';
    config.answer_detection.screening.message = 'This is the desk, about an appointment.';
  });
  const ears = options.model ? { voiceModel: options.model } : {};
  const call = fakeCall({ plan, ttsMs: TTS_MS, ...ears });
  const heard = sound.words.filter(() => random() >= STT_MISSES);
  const coded = codec(sound.samples, options.law);
  const frames = Math.ceil(sound.samples.length / FRAME_SAMPLES) + AFTER_MS / FRAME_MS;
  let spokeAt: number | undefined;
  let told = 0;
  let openFrom = 0;
  for (let frame = 0; frame < frames && !call.phone.closed; frame++) {
    const at = frame * FRAME_SAMPLES;
    const bytes = new Uint8Array(FRAME_SAMPLES).fill(0xff);
    bytes.set(coded.subarray(at, at + FRAME_SAMPLES));
    call.phone.tick(bytes);
    const nowMs = (frame + 1) * FRAME_MS;
    while (told < heard.length && nowMs >= heard[told]!.endMs + STT_MS) {
      told++;
      call.stt.onInterim(transcript(textOf(heard, openFrom, told)));
    }
    const last = heard[told - 1];
    const pause = last !== undefined && (heard[told]?.endMs ?? Infinity) - last.endMs > STT_PAUSE_MS + 500;
    if (told > openFrom && pause && nowMs >= last.endMs + STT_END_MS) {
      call.stt.onTurnEnd(transcript(textOf(heard, openFrom, told)));
      openFrom = told;
    }
    call.clock.advance(FRAME_MS);
    await call.settle();
    if (spokeAt === undefined && call.phone.sent.length > 0) spokeAt = nowMs;
  }
  const answers = call.events.filter(({ type }) => type === 'answer_class');
  call.call.end({ ended_by: 'api', hangup_reason: 'api_hangup' });
  await call.call.ended;
  const verdict = answers.at(-1)?.data;
  const before = sound.utterances.filter(({ toMs }) => spokeAt !== undefined && toMs <= spokeAt).at(-1);
  return {
    kind: script.kind,
    said: sound.utterances.map(({ text }) => text).join(' '),
    class: verdict?.['class'] as AnswerClass | undefined,
    by: verdict?.['by'] as string | undefined,
    verdicts: answers.map(({ data }) => data['class'] as AnswerClass),
    afterMs: verdict?.['after_ms'] as number | undefined,
    silenceMs: spokeAt === undefined || !before ? undefined : spokeAt - before.toMs,
    spokeAt,
  };
}

/** Mu-law as the call hears it, where the far end's telephone speaks A-law coded twice. */
function codec(samples: Int16Array, law: 'pcmu' | 'pcma'): Uint8Array {
  return encodeMulaw(law === 'pcmu' ? samples : decodeAlaw(encodeAlaw(samples)));
}

const transcript = (text: string) => ({ text, confidence: 0.9, endMs: undefined, language: undefined });

const textOf = (words: readonly { text: string }[], from: number, to: number) =>
  words
    .slice(from, to)
    .map(({ text }) => text)
    .join(' ');
