import type { PlanAsset } from '@parley/shared/contracts/audio-assets';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { Timer } from '@parley/shared/time/clock';
import type { Emit } from '../reporting/call-reporter.ts';
import type { AgentSpeech } from '../speech/agent-speech.ts';
import type { RecordedSpeech } from '../speech/recorded-speech.ts';
import type { CallClock } from './call-clock.ts';
import type { PhaseOfCall } from './call-phase.ts';
import type { PromptTexts } from './prompt.ts';

/** How long a text that is due waits for its audio. Then it is spoken. */
export const AUDIO_PATIENCE_MS = 1500;
/** Stands in transcripts for audio of which nobody has said what it says. */
export const WORDLESS = '(audio)';

/** The agent speaks first: an audio asset, a fixed text, or what its model thinks of. */
export class Greeting {
  readonly #plan: SessionPlan;
  readonly #prompt: PromptTexts;
  readonly #clock: CallClock;
  readonly #phase: PhaseOfCall;
  readonly #speech: AgentSpeech;
  readonly #loadAudio: (assetId: string, asset: PlanAsset) => Promise<RecordedSpeech>;
  readonly #callerWasHeard: () => boolean;
  readonly #emit: Emit;
  #timer: Timer | undefined;
  #audio: Promise<RecordedSpeech | undefined> | undefined;
  #over = false;

  constructor(deps: {
    plan: SessionPlan;
    prompt: PromptTexts;
    clock: CallClock;
    phase: PhaseOfCall;
    speech: AgentSpeech;
    /** Rejects when an asset cannot be had. */
    loadAudio: (assetId: string, asset: PlanAsset) => Promise<RecordedSpeech>;
    /** The caller has given a sign of life: the agent answers that, and greets no more. */
    callerWasHeard: () => boolean;
    emit: Emit;
  }) {
    this.#plan = deps.plan;
    this.#prompt = deps.prompt;
    this.#clock = deps.clock;
    this.#phase = deps.phase;
    this.#speech = deps.speech;
    this.#loadAudio = deps.loadAudio;
    this.#callerWasHeard = deps.callerWasHeard;
    this.#emit = deps.emit;
  }

  /** The agent greets, now or in a while, as its configuration says. The audio is fetched at once. */
  begin(): void {
    const { greeting } = this.#plan.agent.config;
    this.#load();
    const due = () => void this.#due({ though: false });
    if (greeting.mode === 'caller_first') this.#after(greeting.caller_first_timeout_seconds * 1000, due);
    else if (this.#isNone) return;
    else if (greeting.delay_ms > 0) this.#after(greeting.delay_ms, due);
    else due();
  }

  /** Makes ready what is said when the answerer's turn is over: nobody is to wait for a voice then. */
  prepare(): void {
    this.#load();
    const { mode } = this.#plan.agent.config.greeting;
    if (mode === 'agent_first' && !this.#audio && this.#text !== '') this.#speech.prepareText(this.#text);
  }

  /**
   * The agent greets who has answered its call, as its turn has come.
   * @param heard they have said something: where there is no greeting, or they are to speak first, that is answered
   */
  greetAnswerer(heard: boolean): void {
    const callerFirst = this.waitsForCaller;
    if (heard && (callerFirst || this.#isNone)) this.#speech.answer();
    else if (!this.#isNone || callerFirst) void this.#due({ though: true });
  }

  /** The agent greets a caller who has just been told of the recording, or has answered. */
  greetAfterConsent(): void {
    this.#load();
    this.greetAnswerer(false);
  }

  stop(): void {
    this.#over = true;
    this.#timer?.cancel();
  }

  #after(ms: number, then: () => void): void {
    this.#timer = this.#clock.setTimeout(then, ms);
  }

  #load(): void {
    this.#audio = this.#loadAsset();
  }

  get #text(): string {
    return this.#prompt.render(this.#plan.agent.greeting).trim();
  }

  /** Whether the agent has something to say first, or waits for the caller to. */
  get exists(): boolean {
    const { audio_asset_id: id } = this.#plan.agent.config.greeting;
    return (
      this.#text !== '' || this.waitsForCaller || this.#isGenerated || (id !== null && !this.#plan.text_only)
    );
  }

  get waitsForCaller(): boolean {
    return this.#plan.agent.config.greeting.mode === 'caller_first';
  }

  get #isGenerated(): boolean {
    return this.#plan.agent.config.greeting.mode === 'agent_first_generated';
  }

  /** The agent has nothing to say first. */
  get #isNone(): boolean {
    return this.#text === '' && this.#plan.agent.config.greeting.mode === 'agent_first' && !this.#audio;
  }

  /** @returns undefined where the agent has no audio, or it will not be played */
  #loadAsset(): Promise<RecordedSpeech | undefined> | undefined {
    const { audio_asset_id: id } = this.#plan.agent.config.greeting;
    if (id === null || this.#plan.text_only) return undefined;
    const asset = this.#plan.assets[id];
    // One that is not ready, or was deleted, is not in the plan.
    const loaded = asset ? this.#loadAudio(id, asset) : Promise.reject(new Error('not ready'));
    return loaded.catch(() => undefined);
  }

  /** @param options.though the caller was heard */
  async #due(options: { though: boolean }): Promise<void> {
    const audio = this.#audio;
    if (!audio) {
      this.#greet(options);
      return;
    }
    const late = Promise.withResolvers<undefined>();
    this.#after(AUDIO_PATIENCE_MS, () => late.resolve(undefined));
    const recorded = await Promise.race([audio, late.promise]);
    this.#timer?.cancel();
    if (this.#over) return;
    if (!recorded) this.#emit('warning', { code: 'greeting_audio_unavailable' });
    this.#greet(options, recorded);
  }

  #greet({ though }: { though: boolean }, recorded?: RecordedSpeech): void {
    if (this.#phase.on('greeting_due') !== 'greet' || this.#speech.current) return;
    if (!though && this.#callerWasHeard()) return;
    const text = this.#text;
    const { mode, interruptible, audio_asset_id: id } = this.#plan.agent.config.greeting;
    const asset = id === null ? undefined : this.#plan.assets[id];
    if (recorded) {
      const words = asset?.transcript ?? (text || WORDLESS);
      this.#speech.say(words, 'greeting', { interruptible, recorded });
      return;
    }
    const fixed = text || asset?.transcript || '';
    if (mode === 'agent_first_generated' || (fixed === '' && mode === 'caller_first')) {
      const note = 'The call has just been answered. Greet the caller.';
      this.#speech.answer({ kind: 'greeting', note });
    } else if (fixed !== '') this.#speech.say(fixed, 'greeting', { interruptible });
  }
}
