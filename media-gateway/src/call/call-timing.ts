import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { CallEndReason } from '@parley/shared/contracts/session-values';
import type { AgentSpeech } from '../speech/agent-speech.ts';
import { endsInSentence } from '../speech/built-in-sentences.ts';
import type { CallerTurns } from '../turns/caller-turns.ts';
import { SilenceWatch } from '../turns/silence-watch.ts';
import type { CallClock } from './call-clock.ts';
import type { PhaseOfCall } from './call-phase.ts';
import type { MediaClock } from './media-clock.ts';
import type { PromptTexts } from './prompt.ts';
import { SLOW_TICK_MS } from '../speech/ticker.ts';

export interface CallTimingEvents {
  /** A time limit is reached: the call ends after the present utterance. @param message said before the end */
  onTimeToEnd(reason: CallEndReason, message: string | undefined): void;
  /** The caller is to be told that the call will end. @param text at the time when it is said */
  onEndIsNear(text: () => string): void;
  /** So many reminders have gone unanswered. @returns whether that led anywhere */
  onUnanswered(count: number): boolean;
  /** Whether the agent waits for something else than the caller. */
  isWaiting(): boolean;
  /** No audio at all has come for too long: the line is lost. */
  onAudioMissing(): void;
}

/** No call is longer, however often it is handed over. */
const MAX_CALL_MS = 14_400_000;

/** The timers of a call: reminders, limits. */
export class CallTiming {
  readonly #plan: SessionPlan;
  readonly #prompt: PromptTexts;
  readonly #clock: CallClock;
  readonly #phase: PhaseOfCall;
  readonly #media: MediaClock;
  readonly #speech: AgentSpeech;
  readonly #turns: CallerTurns;
  readonly #events: CallTimingEvents;
  readonly #silence: SilenceWatch;
  /** When the longest duration of the call is reached; monotonic ms. */
  #endsAt: number;
  /** When the caller is told of that; Infinity: never, or they were. */
  #warnsAt = Infinity;
  /** Sounds without words are taken for silence, until there are words. */
  #ignoresSound = false;

  constructor(deps: {
    plan: SessionPlan;
    prompt: PromptTexts;
    clock: CallClock;
    phase: PhaseOfCall;
    media: MediaClock;
    speech: AgentSpeech;
    turns: CallerTurns;
    events: CallTimingEvents;
  }) {
    this.#plan = deps.plan;
    this.#prompt = deps.prompt;
    this.#clock = deps.clock;
    this.#phase = deps.phase;
    this.#media = deps.media;
    this.#speech = deps.speech;
    this.#turns = deps.turns;
    this.#events = deps.events;
    this.#endsAt = deps.clock.zero + deps.plan.limits.max_duration_seconds * 1000;
    this.#planWarning();
    this.#silence = new SilenceWatch(deps.plan.agent.config.silence);
  }

  /** Another agent is in the plan: its longest duration counts from now on. */
  agentChanged(): void {
    const { agent, limits } = this.#plan;
    const endsAt = this.#clock.monotonic() + limits.max_duration_seconds * 1000;
    this.#endsAt = Math.min(endsAt, this.#clock.zero + MAX_CALL_MS);
    this.#planWarning();
    this.#silence.configure(agent.config.silence);
  }

  /** A node of a flow, with settings of its own, was entered: its reminders are counted anew. */
  nodeChanged(): void {
    this.#silence.configure(this.#plan.agent.config.silence);
    this.#silence.remindAnew();
  }

  /** The call goes on in another language: reminders are in it. */
  languageChanged(): void {
    this.#silence.configure(this.#plan.agent.config.silence);
  }

  /** The caller has given any sign of life at all. */
  get callerWasHeard(): boolean {
    return this.#silence.everBroken;
  }

  /** Reminders that have gone unanswered one after the other. */
  get unanswered(): number {
    return this.#silence.unanswered;
  }

  /** Notes a sign of life of the caller: the wait for a reminder starts anew. */
  onSign(): void {
    this.#ignoresSound = false;
    this.#silence.broken();
  }

  /** Notes a sound or words of the caller. */
  onSound(): void {
    if (!this.#ignoresSound || this.#turns.openText !== '') this.onSign();
  }

  /** Takes sounds for silence until there are words: they have lasted too long to be a caller's. */
  ignoreSound(): void {
    this.#ignoresSound = true;
  }

  /** Called each `SLOW_TICK_MS`. */
  tick(now: number): void {
    if (now >= this.#warnsAt) this.#warn();
    if (now >= this.#endsAt && this.#phase.on('limit_reached') === 'say_goodbye') {
      const { message } = this.#plan.agent.config.end_call;
      this.#events.onTimeToEnd(
        { ended_by: 'system', hangup_reason: 'max_duration' },
        message === '' ? undefined : message,
      );
    }
    if (this.#media.isMissing(now) && this.#phase.on('audio_missing') === 'end')
      this.#events.onAudioMissing();
    else if (this.#phase.on('silence') === 'count' && this.#isSilent(now)) this.#countSilence();
  }

  /** A warning whose time is past has been given, on an earlier leg, or would come before anything was said. */
  #planWarning(): void {
    const { warn_before_end_seconds: seconds } = this.#plan.agent.config.limits;
    const warnsAt = this.#endsAt - seconds * 1000;
    this.#warnsAt = seconds > 0 && warnsAt > this.#clock.monotonic() ? warnsAt : Infinity;
  }

  #warn(): void {
    this.#warnsAt = Infinity;
    this.#events.onEndIsNear(() =>
      endsInSentence(
        this.#plan.agent.config.language.primary,
        (this.#endsAt - this.#clock.monotonic()) / 1000,
      ),
    );
  }

  /** Whether a reminder may be due: the caller is expected to speak, and neither side speaks or works. */
  #isSilent(now: number): boolean {
    // No microphone is open: the caller writes, or pushes to talk.
    if (!this.#turns.expected || this.#media.isOff(now) || this.#events.isWaiting()) return false;
    if (this.#ignoresSound && this.#turns.openText !== '') this.onSign();
    return !this.#speech.busy && (this.#ignoresSound || !this.#turns.speaking);
  }

  #countSilence(): void {
    let step = this.#silence.pass(SLOW_TICK_MS);
    if (step?.type === 'unanswered') {
      if (this.#events.onUnanswered(step.count)) return;
      step = this.#silence.pass(0);
    }
    if (!step || step.type === 'unanswered') return;
    if (step.type === 'end') {
      const { end_message: message } = this.#plan.agent.config.silence;
      this.#events.onTimeToEnd(
        { ended_by: 'system', hangup_reason: 'silence' },
        message === '' ? undefined : this.#prompt.render(message),
      );
    } else if (step.message !== undefined)
      this.#speech.say(this.#prompt.render(step.message), 'reminder', { interruptible: true });
    else {
      const note = 'The caller has been silent for a while. Ask briefly whether they are still there.';
      this.#speech.answer({ kind: 'reminder', note });
    }
  }
}
