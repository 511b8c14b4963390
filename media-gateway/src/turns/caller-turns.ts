import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { ProviderError } from '@parley/shared/errors/provider-error';
import type { Clock } from '@parley/shared/time/clock';
import type { SttProvider, SttTranscript, SttWord } from '../providers/stt/stt-provider.ts';
import { languagesOf } from '../languages/plan-languages.ts';
import { countryOfNumber } from './dictation/dialled-number.ts';
import { PushToTalk, type PushedUtterance } from './push-to-talk.ts';
import { SttCadence } from './stt-cadence.ts';
import { SttChain } from './stt-chain.ts';
import {
  TurnDetector,
  type AgentActivity,
  type TurnAction,
  type TurnDecision,
  type TurnInput,
  type TurnView,
} from './turn-detector.ts';
import { CallerHearing } from '../hearing/caller-hearing.ts';
import { EVIDENCE, type Evidence } from '../hearing/voice-evidence.ts';

/** How long after the answer a short word ("Hello?") counts as a greeting and does not interrupt. */
const GREETING_GRACE_MS = 2000;
/** How long another agent's STT waits for the caller to have finished. */
const CHANGE_MS = 5000;
/** How much silence must follow a voice without words before it is forgotten. */
const FORGET_VOICE_MS = 2000;
/** The input for passing time, shared to save an allocation a tick. */
const TICK: TurnInput = { type: 'tick' };

/** Words of the caller, and when they were said. */
export interface CallerWords {
  text: string;
  confidence: number | undefined;
  language: string | undefined;
  /** Those whose times the STT has told, ms from the answer. */
  words?: readonly SttWord[] | undefined;
  /** Where the words begin and end in the recording, ms from the answer. */
  startMs: number;
  endMs: number;
  /** When their end arrived, monotonic ms; -Infinity when no voice was heard. */
  endedAt: number;
  /** Where the words end in the caller's audio, ms. */
  audioEndMs: number;
}

/** The agent's speech, as turn-taking sees and controls it. */
export interface Floor {
  readonly activity: AgentActivity;
  /** The present utterance. */
  readonly current:
    { readonly id: number; readonly kind: string; readonly interruptible: boolean } | undefined;
  /** Whether some of the present utterance was already sent. */
  readonly audible: boolean;
  /** Stops playback at the far end and keeps the audio that was not heard. @param options `soft`: only makes it soft */
  hold(options: { soft: boolean }): void;
  /** Resumes behind the audio that was heard. */
  resume(): void;
  /** Ends the present utterance: the caller has the floor. */
  interrupt(): unknown;
  /** Prepares a reply before the turn has ended, unless the agent is busy. */
  prepare(text: string): void;
  discardPrepared(): void;
}

/** What the call does by itself, see `CallSteering.setTurnDetection`. */
export interface TurnDetection {
  respond: boolean;
  interrupt: boolean;
  listen: boolean;
}

export interface CallerTurnEvents {
  /** What the caller's words do at present: `take_turn`, `write_down` (without a turn), `ignore`. */
  attention(): 'take_turn' | 'write_down' | 'ignore';
  /** Whether the agent has just asked something, or is about to end. */
  expectsAnswer(): boolean;
  /** The caller gave a sign of life. Called each time the caller says something. */
  onSign(): void;
  /** A voice began. @param audioMs caller audio received by then */
  onVoice(now: number, audioMs: number): void;
  /** A voice that began ended without words. */
  onVoiceForgotten(audioMs: number): void;
  onInterim(transcript: SttTranscript): void;
  /** The caller's turn is over. */
  onTurn(words: CallerWords): void;
  /** The caller said words that take no turn. */
  onBackchannel(words: CallerWords): void;
  /** The words that the far end committed. @param thenRespond the far end asked for an answer to them */
  onPushed(words: CallerWords, thenRespond: { textOnly?: boolean } | undefined): void;
  onDecision(decision: TurnDecision): void;
  /** An STT failed and was replaced, if there was another one. */
  onTrouble(error: ProviderError): void;
  /** Whether the last STT has failed. */
  onRecognitionLost(error: ProviderError): void;
}

/**
 * The caller's side of a call: audio becomes words by the STT (and those that stand in for it), words and voice
 * become turns, or the far end says itself when a turn is over.
 */
export class CallerTurns {
  readonly #plan: SessionPlan;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #placeOf: (arrivedAt: number) => number;
  readonly #floor: Floor;
  readonly #events: CallerTurnEvents;
  #detector: TurnDetector;
  readonly #hearing: CallerHearing;
  readonly #pushed: PushToTalk;
  #cadence: SttCadence;
  readonly #view: TurnView;
  readonly #stt: SttChain;

  #startedAt: number | undefined;
  /** Where that is in the recording. */
  #startMs = 0;
  #detection: TurnDetection = { respond: true, interrupt: true, listen: true };
  /** What another agent listens with, and by when it does, monotonic ms. */
  #next: { providers: readonly (() => SttProvider)[] | undefined; by: number } | undefined;

  constructor(deps: {
    plan: SessionPlan;
    providers: readonly (() => SttProvider)[];
    format: AudioFormat;
    clock: Clock;
    /** Where audio that arrives at `arrivedAt` (monotonic ms) stands in the recording, ms from the answer. */
    placeOf: (arrivedAt: number) => number;
    hearing: CallerHearing;
    floor: Floor;
    events: CallerTurnEvents;
  }) {
    this.#plan = deps.plan;
    this.#clock = deps.clock;
    this.#placeOf = deps.placeOf;
    this.#floor = deps.floor;
    this.#events = deps.events;
    this.#detector = newDetector(deps.plan);
    this.#cadence = newCadence(deps.plan);
    this.#hearing = deps.hearing;
    this.#pushed = new PushToTalk({
      clock: deps.clock,
      finalize: () => this.#stt.finalize(),
      onUtterance: (utterance) => this.#onPushed(utterance),
    });
    this.#view = {
      nowMs: 0,
      agent: 'idle',
      audible: false,
      interruptible: true,
      utterance: undefined,
      greetingGrace: false,
      demand: EVIDENCE.sound,
      isNothing: false,
      lastVoicedAt: -Infinity,
      voicedMs: 0,
      lastVoicedAudioMs: 0,
      expectsAnswer: () => this.#events.expectsAnswer(),
    };
    this.#stt = new SttChain({
      providers: deps.providers,
      options: () => {
        const { language, stt } = this.#plan.agent.config;
        return {
          format: deps.format,
          language: language.primary,
          ...(language.detection === 'off' ? {} : { among: languagesOf(this.#plan) }),
          keywords: stt.keywords,
          endpointingMs: stt.endpointing_ms,
        };
      },
      events: {
        onSpeechStarted: () => {
          this.#onEvidence('stt_speech', this.#hearing.sttSpeech(), this.#clock.monotonic());
        },
        onInterim: (transcript) => {
          if (transcript.text !== '') this.#hearing.hasWords();
          if (this.#detection.listen) this.#begins(this.#clock.monotonic());
          else this.#pushed.interim(transcript);
          this.#events.onInterim(transcript);
          this.#input({ type: 'interim', transcript });
        },
        onTurnEnd: (transcript) => {
          this.#cadence.turnEnded();
          if (this.#detection.listen) this.#input({ type: 'turn_end', transcript });
          else this.#pushed.text(transcript);
        },
        onEagerTurnEnd: (transcript) => this.#input({ type: 'eager_end', transcript }),
        onTurnResumed: () => this.#input({ type: 'resumed' }),
        onTrouble: (error) => this.#events.onTrouble(error),
        onLost: (error) => this.#events.onRecognitionLost(error),
      },
    });
  }

  /** Begins to listen. */
  open(): void {
    this.#hearing.suppressNoise(this.#plan.agent.config.stt.noise_suppression);
    this.#stt.open();
  }

  /** Takes caller audio, as it came. */
  audio(bytes: Uint8Array, durationMs: number, now: number): void {
    const evidence = this.#hearing.push(bytes, durationMs, now);
    const mayWait = this.#cadence.mayWait(durationMs, this.#hearing, this.#detector.isOpen);
    const audio = this.#hearing.forStt(bytes);
    if (audio.length > 0) this.#stt.write(audio, mayWait, this.#placeOf(now) - durationMs);
    if (!this.#detection.listen) this.#pushed.audio(durationMs);
    else this.#onEvidence('voice', evidence, now);
  }

  /** Ends turns and forgets voices without words, as time passes. */
  tick(now: number): void {
    this.#onEvidence('voice', this.#hearing.tick(), now);
    if (!this.#detector.isIdle || this.#floor.activity === 'held') this.#input(TICK);
    if (this.#next && (now >= this.#next.by || isQuiet(this.#detector, this.#hearing, this.#floor))) {
      const { providers } = this.#next;
      this.#next = undefined;
      this.closeTurn();
      this.#detector = newDetector(this.#plan);
      this.#cadence = newCadence(this.#plan);
      this.#hearing.setThreshold(this.#plan.agent.config.turn_taking.vad_threshold);
      this.#hearing.suppressNoise(this.#plan.agent.config.stt.noise_suppression);
      if (providers !== undefined) this.#stt.replace(providers);
    }
    if (
      (this.#startedAt !== undefined || this.#hearing.speechMs > 0) &&
      now - this.#hearing.lastSpeechAt > FORGET_VOICE_MS &&
      !this.#detector.isOpen &&
      this.#floor.activity !== 'held'
    )
      this.#forgetVoice();
  }

  /**
   * Another agent is in the plan: it listens as soon as the caller is silent, so that no word falls between two.
   * @param providers its STT; undefined: the same as before
   */
  agentChanged(providers: readonly (() => SttProvider)[] | undefined): void {
    this.#next = { providers, by: this.#clock.monotonic() + CHANGE_MS };
  }

  /** What hears the caller now, or did last, and whether it was the last one and has failed. */
  get stt(): Pick<SttChain, 'model' | 'lost'> {
    return this.#stt;
  }

  /** Whether the caller is in a turn, by voice or by words. */
  get speaking(): boolean {
    return this.#startedAt !== undefined;
  }

  /** Words of the caller's unfinished turn. */
  get openText(): string {
    return this.#detector.openText;
  }

  /** Whether the agent answers turns by itself. */
  get answered(): boolean {
    return this.#detection.respond;
  }

  /** Whether turns are detected and answered, so that silence is worth a reminder. */
  get expected(): boolean {
    return this.#detection.listen && this.#detection.respond;
  }

  /** Takes what the caller was saying, as far as it was understood. */
  takeOpen(): CallerWords | undefined {
    const open = this.#detector.take();
    return open && open.text !== '' ? this.#take(open) : undefined;
  }

  /** Ends the open turn with the words that are known. */
  closeTurn(): void {
    const words = this.takeOpen();
    if (words) this.#events.onTurn(words);
  }

  /** Commits the caller's words for the far end. @returns false when no audio was there to commit */
  commit(): boolean {
    if (this.#detection.listen) {
      if (!this.#detector.isOpen && this.#startedAt === undefined) return false;
      this.#stt.finalize();
      return true;
    }
    if (!this.#pushed.commit()) return false;
    this.#events.onSign();
    return true;
  }

  /** Answers as soon as the committed words are known. @returns false when nothing was committed */
  respondThen(options: { textOnly?: boolean }): boolean {
    if (!this.#pushed.committing) return false;
    this.#pushed.respondThen(options);
    return true;
  }

  /** Push to talk: forgets what was said since the last commit. */
  clear(): void {
    if (!this.#detection.listen) this.#pushed.clear();
  }

  setDetection(detection: TurnDetection): void {
    if (detection.listen !== this.#detection.listen) {
      this.#detector.take();
      this.#floor.discardPrepared();
      this.#forgetVoice();
      if (this.#floor.activity === 'held') this.#floor.resume();
      this.#pushed.reset();
    }
    this.#detection = detection;
  }

  /** Stops listening. Rejects when the STT does not close. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#pushed.reset();
    this.#hearing[Symbol.dispose]();
    await this.#stt[Symbol.asyncDispose]();
  }

  // ---- inside ----

  #onEvidence(type: 'voice' | 'stt_speech', evidence: Evidence, now: number): void {
    if (evidence === EVIDENCE.none || !this.#detection.listen) return;
    // Where there is noise, a sound is no sign of the caller.
    if (evidence >= Math.min(this.#hearing.demand, EVIDENCE.voice)) this.#begins(now);
    this.#input({ type, evidence });
  }

  #begins(now: number): void {
    this.#events.onSign();
    if (this.#startedAt !== undefined) return;
    this.#startedAt = now;
    this.#startMs = this.#placeOf(now);
    this.#events.onVoice(now, this.#hearing.audioMs);
  }

  /** Forgets a voice that ended without words. */
  #forgetVoice(): void {
    this.#hearing.resetSpeech();
    this.#voiceOver();
  }

  /** A voice ended without words. They may still come: how long it was stays known. */
  #voiceOver(): void {
    const began = this.#startedAt !== undefined;
    this.#startedAt = undefined;
    if (began) this.#events.onVoiceForgotten(this.#hearing.lastSpeechAudioMs);
  }

  #input(input: TurnInput): void {
    if (!this.#detection.listen) return;
    const attention = this.#events.attention();
    if (attention === 'ignore') return;
    const view = this.#view;
    const floor = this.#floor;
    const { current } = floor;
    // Words that may take no turn are treated as said during an utterance that cannot be interrupted.
    const closed = attention === 'write_down';
    view.nowMs = this.#clock.monotonic();
    view.agent = closed ? 'speaking' : floor.activity;
    view.audible = floor.audible;
    view.interruptible = !closed && (current?.interruptible ?? true) && this.#detection.interrupt;
    view.greetingGrace =
      current?.kind === 'greeting' &&
      this.#plan.direction === 'outbound' &&
      this.#startedAt !== undefined &&
      this.#startMs <= GREETING_GRACE_MS;
    view.utterance = current?.id;
    view.demand = this.#hearing.demand;
    view.isNothing = this.#hearing.isNothing;
    view.lastVoicedAt = this.#hearing.lastSpeechAt;
    view.voicedMs = this.#hearing.speechMs;
    view.lastVoicedAudioMs = this.#hearing.lastSpeechAudioMs;
    for (const action of this.#detector.handle(input, view)) this.#act(action);
  }

  #act(action: TurnAction): void {
    switch (action.type) {
      case 'hold':
        this.#hearing.stopped();
        this.#floor.hold({ soft: this.#plan.agent.config.interruption.while_deciding === 'duck' });
        break;
      case 'resume':
        if (action.mistaken) this.#hearing.wasNothing();
        this.#voiceOver();
        this.#floor.resume();
        break;
      case 'cancel':
        this.#floor.interrupt();
        break;
      case 'prepare':
        if (this.#detection.respond) this.#floor.prepare(action.text);
        break;
      case 'discard':
        this.#floor.discardPrepared();
        break;
      case 'turn':
        this.#events.onTurn(this.#take(action.transcript));
        break;
      case 'backchannel':
        this.#events.onBackchannel(this.#take(action.transcript));
        break;
      case 'finalize':
        this.#stt.finalize();
        break;
      case 'decision':
        this.#events.onDecision(action.decision);
        break;
    }
  }

  #onPushed({ thenRespond, ...said }: PushedUtterance): void {
    const audioEndMs = this.#hearing.audioMs;
    const words = { ...said, endMs: undefined };
    const spoken = said.text === '' ? this.#words(words) : this.#take(words);
    this.#events.onPushed({ ...spoken, audioEndMs }, thenRespond);
  }

  /** Takes words as the end of a turn: the next turn begins with the next voice. */
  #take(transcript: SttTranscript): CallerWords {
    const words = this.#words(transcript);
    this.#startedAt = undefined;
    this.#hearing.wasCaller();
    this.#hearing.resetSpeech();
    return words;
  }

  #words({ text, confidence, language, words }: SttTranscript): CallerWords {
    const endedAt = this.#hearing.lastSpeechAt;
    const endMs = this.#placeOf(endedAt);
    const startMs = this.#startedAt === undefined ? endMs : this.#startMs;
    return {
      text,
      confidence,
      language,
      words,
      startMs,
      endMs: Math.max(startMs, endMs),
      endedAt,
      audioEndMs: this.#hearing.lastSpeechAudioMs,
    };
  }
}

/** Whether the caller has said nothing that is not written down. */
function isQuiet(detector: TurnDetector, hearing: CallerHearing, floor: Floor): boolean {
  return !detector.isOpen && hearing.speechMs === 0 && floor.activity !== 'held';
}

function newDetector({ agent, system }: SessionPlan): TurnDetector {
  const { config } = agent;
  return new TurnDetector(config, config.language.primary, countryOfNumber(system.caller_number));
}

function newCadence({ agent }: SessionPlan): SttCadence {
  return new SttCadence(agent.config.stt.endpointing_ms ?? undefined);
}
