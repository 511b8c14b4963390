import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import type { COMMAND_ARGS } from '@parley/shared/contracts/commands';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { CallEndReason } from '@parley/shared/contracts/session-values';
import type { z } from 'zod';
import {
  AnswerDetector,
  SILENCE_MS,
  type AnswerStep,
  type AnswerVerdict,
} from '../answering/answer-detector.ts';
import { RecorderWait, type RecorderStep } from '../answering/recorder-wait.ts';
import { ToneEar } from '../answering/tone-ear.ts';
import type { CallerHearing } from '../hearing/caller-hearing.ts';
import type { Emit } from '../reporting/call-reporter.ts';
import type { AgentSpeech } from '../speech/agent-speech.ts';
import type { CallerTurns } from '../turns/caller-turns.ts';
import type { CallClock } from './call-clock.ts';
import type { Goodbye } from './goodbye.ts';
import type { Dialogue } from './dialogue.ts';
import type { Greeting } from './greeting.ts';
import type { PromptTexts } from './prompt.ts';
import type { Transcript } from './transcript.ts';

const VOICEMAIL: CallEndReason = { ended_by: 'agent', hangup_reason: 'voicemail' };
const HANG_UP: CallEndReason = { ended_by: 'agent', hangup_reason: 'agent_hangup' };
/** A recorder whose beep does not come is known by so much silence, an assistant that waits by this. */
const RECORDER_QUIET_MS = 2500;
const ASSISTANT_QUIET_MS = 700;
const ASSISTANT_LIMIT_MS = 8000;
/** So long an assistant may take to bring a person. */
const PERSON_LIMIT_MS = 30_000;
/** So long a message may be. */
const MESSAGE_LIMIT_MS = 120_000;
/** Words of what was answered by the greeting come within this. */
const LATE_WORDS_MS = 1500;

/** What is said to whoever listens and does not answer. */
interface Message {
  /** Without one the model thinks of one by the note. */
  text: string;
  note: string;
  /** The call ends behind it. */
  ends: boolean;
}

/** What is asked of those who take part in finding out who has answered. */
export interface AnsweredCall {
  speech: AgentSpeech;
  turns: CallerTurns;
  transcript: Transcript;
  dialogue: Pick<Dialogue, 'greetAnswerer' | 'respond'>;
  greeting: Pick<Greeting, 'prepare'>;
  goodbye: Goodbye;
  end(reason: CallEndReason): void;
}

/** The agent listens to who has answered an outbound call, and does what is to be done about it. */
export class CallAnswering {
  readonly #config: SessionPlan['agent']['config']['answer_detection'];
  readonly #plan: SessionPlan;
  readonly #prompt: PromptTexts;
  readonly #clock: CallClock;
  readonly #hearing: CallerHearing;
  readonly #emit: Emit;
  readonly #call: AnsweredCall;
  readonly #tones: ToneEar;
  #detector: AnswerDetector | undefined;
  #wait: RecorderWait | undefined;
  #message: Message | undefined;
  /** Until when words are those that were answered already. */
  #lateWordsUntil = -Infinity;

  constructor(deps: {
    plan: SessionPlan;
    format: AudioFormat;
    prompt: PromptTexts;
    clock: CallClock;
    hearing: CallerHearing;
    emit: Emit;
    call: AnsweredCall;
  }) {
    this.#plan = deps.plan;
    this.#config = deps.plan.agent.config.answer_detection;
    this.#prompt = deps.prompt;
    this.#clock = deps.clock;
    this.#hearing = deps.hearing;
    this.#emit = deps.emit;
    this.#call = deps.call;
    this.#tones = new ToneEar(deps.format);
  }

  /** The call was answered: from here on the agent listens. */
  begin(): void {
    const { greeting } = this.#plan.agent.config;
    const first =
      greeting.mode === 'caller_first' ? greeting.caller_first_timeout_seconds * 1000 : SILENCE_MS;
    this.#detector = new AnswerDetector(
      {
        language: this.#plan.agent.config.language.primary,
        deadlineMs: this.#plan.answer_detection?.deadline_ms ?? 0,
        silenceMs: Math.max(first, greeting.delay_ms),
      },
      this.#clock.monotonic(),
    );
    this.#listen(true);
    this.#call.greeting.prepare();
  }

  /** Whether the agent may not speak of its own accord. */
  get listening(): boolean {
    return this.#wait !== undefined || this.#detector?.listening === true;
  }

  /** Whether words are those that the greeting has answered: they take no turn. */
  get coversWords(): boolean {
    return this.#lateWordsUntil !== -Infinity;
  }

  /** Takes audio of the far end, as it came. */
  audio(bytes: Uint8Array): void {
    if (!this.#detector && !this.#wait) return;
    if (!this.#tones.push(bytes)) return;
    const now = this.#clock.monotonic();
    const endedAt = now - ToneEar.delayMs;
    if (this.#detector) this.#take(this.#detector.beep(endedAt, this.#tones.hz, this.#tones.toneMs));
    if (this.#wait) this.#recorder(this.#wait.beep(endedAt));
  }

  /** Takes words of the far end. @param over their turn is over */
  words(text: string, over: boolean): void {
    if (this.#detector) this.#take(this.#detector.words(text, over));
  }

  /** Takes the carrier's verdict. */
  carrierVerdict({ class: verdict, beep_at }: z.output<typeof COMMAND_ARGS.answer_verdict>): void {
    const beep = beep_at !== undefined;
    if (this.#detector) this.#take(this.#detector.carrier(verdict, beep));
    if (beep && this.#wait) this.#recorder(this.#wait.beep(this.#clock.monotonic()));
  }

  tick(now: number): void {
    const { lastSpeechAt } = this.#hearing;
    // Whoever speaks again is not repeating what was answered.
    if (
      this.#lateWordsUntil !== -Infinity &&
      (now >= this.#lateWordsUntil || this.#speaksAgain(lastSpeechAt))
    )
      this.#lateWordsUntil = -Infinity;
    if (this.#detector) {
      this.#take(this.#detector.passed(now, lastSpeechAt));
      if (this.#detector?.settled) this.#detector = undefined;
    }
    if (this.#wait) this.#recorder(this.#wait.passed(now, lastSpeechAt));
  }

  // ---- inside ----

  #speaksAgain(lastSpeechAt: number): boolean {
    return lastSpeechAt > this.#lateWordsUntil - LATE_WORDS_MS;
  }

  /** The agent answers nothing, as long as it listens. */
  #listen(on: boolean): void {
    this.#call.turns.setDetection({ respond: !on, interrupt: true, listen: true });
  }

  #take({ greet, verdict }: AnswerStep): void {
    if (verdict) this.#emit('answer_class', { ...verdict, after_ms: this.#clock.offset() });
    if (greet) this.#greet();
    if (verdict) this.#act(verdict);
  }

  #greet(): void {
    const { turns, transcript, dialogue } = this.#call;
    this.#listen(false);
    const heard = turns.takeOpen();
    if (heard) transcript.callerTurn(heard);
    this.#answered();
    dialogue.greetAnswerer(this.#detector?.heard ?? false);
  }

  /** What the far end has said by now needs no further answer. */
  #answered(): void {
    this.#lateWordsUntil = this.#clock.monotonic() + LATE_WORDS_MS;
  }

  #act({ class: answer }: AnswerVerdict): void {
    const { voicemail, screening, ivr } = this.#config;
    if (answer === 'voicemail') {
      this.#detector = undefined;
      if (voicemail.action === 'hangup') this.#call.end(VOICEMAIL);
      else if (voicemail.action === 'continue') this.#goOn('A voicemail has answered.');
      else {
        const note =
          'A voicemail has answered and records now; nobody answers. Leave a short message of one or two sentences.';
        this.#say({ text: voicemail.message, note, ends: true }, voicemail.wait_for_beep_seconds * 1000);
      }
    } else if (answer === 'screening') {
      this.#detector = undefined;
      if (screening.action === 'hangup') this.#call.end(HANG_UP);
      else {
        const note =
          'An assistant screens the call for the person. Say in one or two sentences who you are and why you call.';
        this.#say({ text: screening.message, note, ends: false }, ASSISTANT_LIMIT_MS);
      }
    } else if (answer === 'ivr') {
      this.#detector = undefined;
      if (ivr.action === 'hangup') this.#call.end(HANG_UP);
      else
        this.#goOn(
          'An automatic voice menu has answered. Choose by pressing keys or by saying the word until a person is there.',
        );
    }
  }

  /** The agent converses, whatever has answered. */
  #goOn(note: string): void {
    const { dialogue, speech, turns, transcript } = this.#call;
    speech.cancel();
    this.#listen(false);
    transcript.note(note);
    if (transcript.unanswered !== undefined && turns.openText === '') dialogue.respond();
  }

  // ---- who listens, and does not answer ----

  #say(message: Message, limitMs: number): void {
    this.#call.speech.cancel();
    this.#listen(true);
    this.#message = message;
    this.#wait = new RecorderWait({
      quietMs: message.ends ? RECORDER_QUIET_MS : ASSISTANT_QUIET_MS,
      limitMs,
      now: this.#clock.monotonic(),
    });
  }

  #recorder(step: RecorderStep): void {
    if (step === undefined || !this.#message) return;
    const { text, note, ends } = this.#message;
    const { speech, goodbye } = this.#call;
    const said = this.#prompt.render(text).trim();
    // What the model has thought of is not thought of once more.
    if (said === '' && step === 'again') return;
    if (said === '') speech.answer({ note });
    else speech.say(said, ends ? 'goodbye' : 'say', { interruptible: false });
    if (ends) goodbye.say(VOICEMAIL, undefined, MESSAGE_LIMIT_MS);
    else this.#awaitPerson();
  }

  /** The assistant was answered: perhaps it brings a person. */
  #awaitPerson(): void {
    this.#wait = undefined;
    this.#answered();
    this.#detector = new AnswerDetector(
      {
        language: this.#plan.agent.config.language.primary,
        deadlineMs: PERSON_LIMIT_MS,
        silenceMs: Infinity,
        afterScreening: true,
      },
      this.#clock.monotonic(),
    );
  }
}
