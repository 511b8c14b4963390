import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { Timer } from '@parley/shared/time/clock';
import type { CallRecorder } from '../recording/call-recorder.ts';
import type { Emit } from '../reporting/call-reporter.ts';
import type { AgentSpeech } from '../speech/agent-speech.ts';
import { builtInSentences } from '../speech/built-in-sentences.ts';
import type { CallerWords } from '../turns/caller-turns.ts';
import { yesOrNo } from '../turns/yes-no.ts';
import type { CallClock } from './call-clock.ts';
import type { PhaseOfCall } from './call-phase.ts';
import type { PromptTexts } from './prompt.ts';
import type { Transcript } from './transcript.ts';

/** A caller who says nothing for so long has not said yes. */
export const ANSWER_MS = 8000;

/** Whether the recording of a call waits for its caller's consent. */
export function needsConsent({ record, leg, agent }: Pick<SessionPlan, 'record' | 'leg' | 'agent'>): boolean {
  const { mode } = agent.config.recording.consent;
  // Who comes back was told on an earlier leg; what they answered is not known here.
  return record.enabled && mode !== 'none' && (leg === 0 || mode === 'ask');
}

/** Tells the caller of the recording, or asks, before anything else is said. The recording begins after that, or not at all. */
export class RecordingConsent {
  readonly #plan: SessionPlan;
  readonly #prompt: PromptTexts;
  readonly #clock: CallClock;
  readonly #phase: PhaseOfCall;
  readonly #speech: AgentSpeech;
  readonly #transcript: Transcript;
  readonly #recorder: Pick<CallRecorder, 'begin'>;
  readonly #emit: Emit;
  #then: (() => void) | undefined;
  #question = '';
  #asked = 0;
  #timer: Timer | undefined;

  constructor(deps: {
    plan: SessionPlan;
    prompt: PromptTexts;
    clock: CallClock;
    phase: PhaseOfCall;
    speech: AgentSpeech;
    transcript: Transcript;
    recorder: Pick<CallRecorder, 'begin'>;
    emit: Emit;
  }) {
    this.#plan = deps.plan;
    this.#prompt = deps.prompt;
    this.#clock = deps.clock;
    this.#phase = deps.phase;
    this.#speech = deps.speech;
    this.#transcript = deps.transcript;
    this.#recorder = deps.recorder;
    this.#emit = deps.emit;
  }

  /** Whether the caller is to be told or asked before they are greeted. */
  get isDue(): boolean {
    return this.#plan.leg === 0 && needsConsent(this.#plan);
  }

  /** The caller is being told or asked. */
  get underWay(): boolean {
    return this.#then !== undefined;
  }

  /** @param then goes on with the call: the agent greets */
  begin(then: () => void): void {
    const { mode, message } = this.#plan.agent.config.recording.consent;
    const sentences = builtInSentences(this.#plan.agent.config.language.primary);
    const standard = mode === 'ask' ? sentences.recordingQuestion : sentences.recordingNotice;
    this.#question = this.#prompt.render(message).trim() || standard;
    this.#then = then;
    void (mode === 'ask' ? this.#ask() : this.#announce());
  }

  /** Takes words of the caller. @returns whether they answer the question */
  take(words: CallerWords): boolean {
    if (this.#then === undefined || this.#asked === 0) return false;
    this.#speech.discardPrepared();
    if (words.text === '') return true;
    this.#transcript.callerTurn(words);
    const { primary } = this.#plan.agent.config.language;
    const answer = yesOrNo(words.text, this.#question, words.language ?? primary);
    if (answer === 'unclear' && this.#asked === 1) void this.#ask();
    else this.#decide(answer);
    return true;
  }

  /** The call is over. */
  close(): void {
    this.#timer?.cancel();
    this.#then = undefined;
  }

  async #announce(): Promise<void> {
    await this.#speech.say(this.#question, 'say', { interruptible: false }).done;
    if (this.#then === undefined) return;
    this.#begin('announce', 'told');
    this.#goOn();
  }

  async #ask(): Promise<void> {
    this.#timer?.cancel();
    this.#asked++;
    const asked = this.#asked;
    await this.#speech.say(this.#question, 'say', { interruptible: true }).done;
    if (this.#then === undefined || this.#asked !== asked) return;
    this.#timer = this.#clock.setTimeout(() => this.#decide('silent'), ANSWER_MS);
  }

  #decide(answer: 'yes' | 'no' | 'unclear' | 'silent'): void {
    if (answer === 'yes') this.#begin('ask', answer);
    else this.#emit('recording_consent', { mode: 'ask', answer });
    this.#goOn();
  }

  #begin(mode: 'announce' | 'ask', answer: 'told' | 'yes'): void {
    this.#emit('recording_consent', { mode, answer });
    this.#recorder.begin?.();
    this.#emit('recording', { recording_id: this.#plan.record.recording_id, status: 'recording' });
  }

  #goOn(): void {
    const then = this.#then;
    this.close();
    if (this.#phase.answerTo('greeting_due') === 'greet') then?.();
  }
}
