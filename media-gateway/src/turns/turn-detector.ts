import type { AgentConfig } from '@parley/shared/contracts/agent-config';
import { EVIDENCE, evidenceName, type Evidence } from '../hearing/voice-evidence.ts';
import type { SttTranscript } from '../providers/stt/stt-provider.ts';
import { backchannelPhrases, hesitations, stopPhrases, toWords, type PhraseList } from './phrases.ts';
import { dictationReader } from './dictation/dictation.ts';
import { isUnfinished, saysTheSame } from './utterance-text.ts';

/**
 * What the agent is doing, as far as turns are concerned.
 * `held`: its speech was stopped at the far end and waits for the decision; nothing of it is lost.
 */
export type AgentActivity = 'idle' | 'thinking' | 'speaking' | 'held';

/** Everything a decision depends on, told by the call. Times are monotonic milliseconds. */
export type TurnInput =
  /** A voice began, or there is more evidence of it. */
  | { type: 'voice'; evidence: Evidence }
  /** The STT heard a voice begin. */
  | { type: 'stt_speech'; evidence: Evidence }
  | { type: 'interim'; transcript: SttTranscript }
  | { type: 'turn_end'; transcript: SttTranscript }
  | { type: 'eager_end'; transcript: SttTranscript }
  | { type: 'resumed' }
  | { type: 'tick' };

/** What the call is to do, in this order. */
export type TurnAction =
  /** Stop at the far end at once; keep what was not heard. */
  | { type: 'hold' }
  /** Go on from the first sample that was not heard. @param mistaken the stop was for nothing */
  | { type: 'resume'; mistaken: boolean }
  /** The caller has the floor: cancel the reply, keep in the transcript what was heard. */
  | { type: 'cancel' }
  /** Think ahead: the caller has likely finished. */
  | { type: 'prepare'; text: string }
  /** What was thought ahead does not fit any more. */
  | { type: 'discard' }
  /** The caller's turn is over. `overlapped`: it was said while the agent spoke. */
  | { type: 'turn'; transcript: SttTranscript }
  /** Words that take no turn: a murmur of assent, or too little to interrupt. */
  | { type: 'backchannel'; transcript: SttTranscript }
  /** Ask the STT for its final transcript. */
  | { type: 'finalize' }
  /** Why: one line for the log of decisions. */
  | { type: 'decision'; decision: TurnDecision };

export interface TurnDecision {
  action: 'stop' | 'interrupt' | 'ignore' | 'resume' | 'wait' | 'answer' | 'cut_in';
  rule: string;
  words?: string;
  timer_ms?: number;
}

type VoiceInput = Extract<TurnInput, { type: 'voice' | 'stt_speech' }>;

/** What the detector reads but does not own. */
export interface TurnView {
  /** Monotonic ms. */
  nowMs: number;
  agent: AgentActivity;
  /** Some of what the agent is saying was already sent. */
  audible: boolean;
  /** What is being said may be interrupted. */
  interruptible: boolean;
  /** Which utterance of the agent it is. */
  utterance: number | undefined;
  /** Outbound call, greeting under way, and the call is younger than 2 s: "Hello?" is no interruption. */
  greetingGrace: boolean;
  /** The least evidence that stops the agent. */
  demand: Evidence;
  /** What the agent was stopped for is seen to be nothing. */
  isNothing: boolean;
  lastVoicedAt: number;
  /** Voiced ms since the caller's turn began. */
  voicedMs: number;
  lastVoicedAudioMs: number;
  /** Whether the agent has just asked something, or is about to end: "yeah" answers then. */
  expectsAnswer(): boolean;
}

/** After this much silence an interim transcript is likely the whole turn. */
const PREPARE_SILENCE_MS = 80;
const MAX_PREPARATIONS = 3;
/** A longer turn is not thought about ahead: its end changes too much. */
const MOST_PREPARED_WORDS = 60;
/** Without an end of turn from the STT after this much silence it is asked for one… */
const FINALIZE_AFTER_MS = 1000;
/** …and without an answer in this time what is known is taken. */
const FINALIZE_ANSWER_MS = 500;
/** …while its answer may still come, this late. */
const FINALIZE_LATE_MS = 5000;
/** A reply that was held before its first sample goes on after this, when there is silence again. */
const UNHEARD_FALSE_AFTER_MS = 500;
/** A voice this long ago has ended. */
const SILENT_AFTER_MS = 200;
/** Words of a voice that has ended come within this. */
const WORDS_AFTER_MS = 700;
/** So many stops for nothing are made in a reply; then only words stop it. */
const MOST_MISTAKEN_STOPS = 2;
/** Words count as the caller's with this much of the caller's voice, however few they are, ms. */
const LEAST_VOICE_MS = 60;

const EAGERNESS = { patient: 1.5, balanced: 1, eager: 0.7 } as const;

/**
 * Decides whose turn it is: when the caller has finished, when the agent has to stop, and when it was nothing.
 * A state machine over inputs; it owns no timer and touches nothing, so that a test is a list of inputs.
 */
export class TurnDetector {
  readonly #config: Pick<AgentConfig, 'turn_taking' | 'interruption'>;
  readonly #backchannels: PhraseList;
  readonly #hesitations: PhraseList;
  readonly #stops: PhraseList;
  readonly #language: string;
  /** What a text that ends in something dictated lacks. */
  readonly #dictation: ReturnType<typeof dictationReader>;

  /** The turn in progress, as the STT last told it. */
  #interim: SttTranscript | undefined;
  /** Ended according to the STT, kept back in case the caller goes on. */
  #pending: SttTranscript | undefined;
  #heldAt = 0;
  /** Stops for nothing in the utterance that they concern. */
  #mistaken = { utterance: undefined as number | undefined, stops: 0 };
  #turnStartedAt: number | undefined;
  #finalizeAskedAt: number | undefined;
  /** What was taken for a turn without the STT's word for its end. */
  #guessed: { words: string; lastVoicedAt: number; untilMs: number } | undefined;
  #prepared: string | undefined;
  #preparations = 0;
  /** The text that was found unfit to think ahead for: not looked at again. */
  #unfit: string | undefined;
  #waitTold = false;

  /** @param country where the caller is, ISO 3166-1; undefined: the country of the language */
  constructor(
    config: Pick<AgentConfig, 'turn_taking' | 'interruption'>,
    language: string,
    country?: string | undefined,
  ) {
    this.#config = config;
    this.#language = language;
    this.#dictation = dictationReader({ language, country });
    this.#backchannels = backchannelPhrases(language, config.interruption.ignore_phrases);
    this.#hesitations = hesitations(language);
    this.#stops = stopPhrases(language, config.interruption.stop_phrases);
  }

  /** Whether the caller has said anything in the turn that is going on: asked for every frame. */
  get isOpen(): boolean {
    return (this.#pending?.text ?? '') !== '' || (this.#interim?.text ?? '') !== '';
  }

  /** No turn is going on: time changes nothing, unless the agent is held. */
  get isIdle(): boolean {
    return this.#turnStartedAt === undefined && !this.isOpen;
  }

  /** What the caller has said in the turn that is going on. */
  get openText(): string {
    return join(this.#pending, this.#interim)?.text ?? '';
  }

  /** Takes what is known as the end of the turn, whatever the STT thinks (end of call, DTMF, push-to-talk). */
  take(): SttTranscript | undefined {
    const transcript = join(this.#pending, this.#interim);
    this.#closeTurn();
    return transcript;
  }

  handle(input: TurnInput, view: TurnView): TurnAction[] {
    const actions: TurnAction[] = [];
    if ('transcript' in input && this.#isLate(input.transcript, view)) return actions;
    switch (input.type) {
      case 'voice':
      case 'stt_speech':
        this.#onVoice(input, view, actions);
        break;
      case 'resumed':
        if (this.#prepared !== undefined) this.#discard(actions);
        break;
      case 'interim':
        this.#turnStartedAt ??= view.nowMs;
        this.#interim = input.transcript;
        if (input.transcript.text === '') break;
        if (this.#overlapping(view)) this.#weighWords(input.transcript, false, view, actions);
        else this.#considerPreparing(false, view, actions);
        break;
      case 'eager_end':
        this.#interim = input.transcript;
        if (!this.#overlapping(view)) this.#considerPreparing(true, view, actions);
        break;
      case 'turn_end':
        this.#onTurnEnd(input.transcript, view, actions);
        break;
      case 'tick':
        this.#onTick(view, actions);
        break;
    }
    return actions;
  }

  /** Whether the words were taken before: nobody has spoken since, and the STT only says its own word for them. */
  #isLate({ text }: SttTranscript, view: TurnView): boolean {
    if (this.#guessed === undefined) return false;
    const { words, lastVoicedAt, untilMs } = this.#guessed;
    if (view.lastVoicedAt > lastVoicedAt || view.nowMs >= untilMs) {
      this.#guessed = undefined;
      return false;
    }
    const late = toWords(text);
    return late.length > 0 && ` ${words} `.includes(` ${late.join(' ')} `);
  }

  #onVoice({ type, evidence }: VoiceInput, view: TurnView, actions: TurnAction[]): void {
    if (evidence === EVIDENCE.none) return;
    this.#turnStartedAt ??= view.nowMs;
    // Before its first sample, too: an agent must not begin to speak while the caller goes on.
    if (
      (view.agent !== 'speaking' && view.agent !== 'thinking') ||
      !view.interruptible ||
      !this.#config.interruption.enabled ||
      evidence < view.demand ||
      this.#mistakenStops(view) >= MOST_MISTAKEN_STOPS
    )
      return;
    this.#hold(type === 'voice' ? evidenceName(evidence)! : type, view, actions);
  }

  #mistakenStops(view: TurnView): number {
    return this.#mistaken.utterance === view.utterance ? this.#mistaken.stops : 0;
  }

  #resumeFromNothing(rule: string, timerMs: number, view: TurnView, actions: TurnAction[]): void {
    this.#mistaken = { utterance: view.utterance, stops: this.#mistakenStops(view) + 1 };
    actions.push(
      { type: 'resume', mistaken: true },
      decision({ action: 'resume', rule, timer_ms: Math.round(timerMs) }),
    );
  }

  #hold(rule: string, view: TurnView, actions: TurnAction[]): void {
    this.#heldAt = view.nowMs;
    actions.push({ type: 'hold' }, decision({ action: 'stop', rule }));
  }

  /** The agent has the floor, or is about to take it. */
  #overlapping(view: TurnView): boolean {
    return view.agent !== 'idle';
  }

  /** Words that came while the agent speaks, is held, or thinks. @returns whether they took the floor */
  #weighWords(transcript: SttTranscript, final: boolean, view: TurnView, actions: TurnAction[]): boolean {
    const words = toWords(transcript.text);
    if (words.length === 0) return false;
    const { interruption } = this.#config;
    const said = words.join(' ');

    // Nothing was heard of the reply yet: the caller simply goes on, and the answer must take it in.
    if (view.agent === 'thinking' || (view.agent === 'held' && !view.audible)) {
      if (this.#backchannels.covers(words, !final) || this.#isBackground(view)) return false;
      actions.push({ type: 'cancel' }, decision({ action: 'interrupt', rule: 'went_on', words: said }));
      return true;
    }
    if (!view.interruptible || !interruption.enabled) return false;
    if (view.greetingGrace && words.length <= 2) return false;

    if (this.#isBackground(view)) return false;
    const stop = this.#stops.startOf(words);
    const answer = stop === undefined && this.#isAnswer(words) && view.expectsAnswer();
    if (stop === undefined && !answer) {
      if (this.#backchannels.covers(words, !final)) return false;
      if (words.length < Math.max(1, interruption.min_words)) return false;
      if (view.voicedMs < interruption.min_speech_ms) return false;
    }
    if (view.agent === 'speaking') this.#hold('words', view, actions);
    actions.push(
      { type: 'cancel' },
      decision({
        action: 'interrupt',
        rule: stop !== undefined ? 'stop_phrase' : answer ? 'answer' : 'words',
        words: said,
      }),
    );
    return true;
  }

  /** Whether words on a noisy line came without the caller's voice. */
  #isBackground(view: TurnView): boolean {
    return view.demand > EVIDENCE.sound && view.voicedMs < LEAST_VOICE_MS;
  }

  /** Whether words that elsewhere show that somebody listens answer a question. */
  #isAnswer(words: readonly string[]): boolean {
    return this.#backchannels.covers(words, false) && !this.#hesitations.covers(words, false);
  }

  /** Begins to think ahead when the caller has likely finished. */
  #considerPreparing(eager: boolean, view: TurnView, actions: TurnAction[]): void {
    const open = join(this.#pending, this.#interim);
    if (!this.#config.turn_taking.preemptive_generation || open === undefined) return;
    const { text, endMs } = open;
    if (this.#prepared !== undefined) {
      if (saysTheSame(this.#prepared, text)) return;
      this.#discard(actions);
    }
    if (this.#preparations >= MAX_PREPARATIONS) return;
    const covered = endMs === undefined || endMs >= view.lastVoicedAudioMs - 250;
    if (!eager && (view.nowMs - view.lastVoicedAt < PREPARE_SILENCE_MS || !covered)) return;
    if (this.#unfit === text) return;
    if (
      this.#dictation(text) === 'incomplete' ||
      (!eager && isUnfinished(text, this.#language)) ||
      toWords(text).length > MOST_PREPARED_WORDS
    ) {
      this.#unfit = text;
      return;
    }
    this.#prepared = text;
    this.#preparations++;
    actions.push({ type: 'prepare', text });
  }

  #discard(actions: TurnAction[]): void {
    this.#prepared = undefined;
    actions.push({ type: 'discard' });
  }

  #onTurnEnd(ended: SttTranscript, view: TurnView, actions: TurnAction[]): void {
    // An empty answer to `finalize` still means that nothing more will come for what was guessed.
    const transcript = ended.text === '' && this.#interim !== undefined ? this.#interim : ended;
    this.#interim = undefined;
    this.#finalizeAskedAt = undefined;
    if (transcript.text === '') return;

    if (view.agent === 'speaking' || view.agent === 'held' || view.agent === 'thinking') {
      const took = this.#weighWords(transcript, true, view, actions);
      if (!took) {
        // Before it is heard, a reply to a turn that was only a backchannel long stays what it is.
        this.#closeTurn();
        actions.push(
          { type: 'backchannel', transcript },
          decision({ action: 'ignore', rule: 'backchannel', words: toWords(transcript.text).join(' ') }),
        );
        if (view.agent === 'held')
          actions.push(
            { type: 'resume', mistaken: false },
            decision({ action: 'resume', rule: 'backchannel' }),
          );
        return;
      }
    }

    this.#pending = join(this.#pending, transcript);
    if (this.#endsNow(this.#pending!.text, view)) this.#finish('stt_end', actions);
    else if (!this.#waitTold) {
      this.#waitTold = true;
      actions.push(
        decision({
          action: 'wait',
          rule: this.#dictation(this.#pending!.text) === 'incomplete' ? 'dictating' : 'unfinished',
          timer_ms: Math.round(this.#delayMs(this.#pending!.text)),
        }),
      );
    }
  }

  /** How long after the last voice the turn is over, once the STT has ended it. */
  #delayMs(text: string): number {
    const { turn_taking: turns } = this.#config;
    const factor = EAGERNESS[turns.eagerness];
    const dictation = turns.entity_patience ? this.#dictation(text) : 'none';
    if (dictation === 'incomplete') return turns.max_endpointing_ms * factor;
    if (turns.mode !== 'semantic' || dictation === 'complete') return 0;
    return (
      (isUnfinished(text, this.#language) ? turns.max_endpointing_ms : turns.min_endpointing_ms) * factor
    );
  }

  #endsNow(text: string, view: TurnView): boolean {
    return view.nowMs - view.lastVoicedAt >= this.#delayMs(text);
  }

  #finish(rule: string, actions: TurnAction[]): void {
    const transcript = join(this.#pending, this.#interim)!;
    if (this.#prepared !== undefined && !saysTheSame(this.#prepared, transcript.text)) this.#discard(actions);
    this.#closeTurn();
    actions.push(
      { type: 'turn', transcript },
      decision({ action: rule === 'too_long' ? 'cut_in' : 'answer', rule }),
    );
  }

  #closeTurn(): void {
    this.#interim = undefined;
    this.#pending = undefined;
    this.#turnStartedAt = undefined;
    this.#finalizeAskedAt = undefined;
    this.#prepared = undefined;
    this.#preparations = 0;
    this.#waitTold = false;
  }

  /** The agent was stopped: was it for nothing? @returns whether it is decided */
  #decideHeld(silentMs: number, view: TurnView, actions: TurnAction[]): boolean {
    const { interruption } = this.#config;
    const heldMs = view.nowMs - this.#heldAt;
    if (heldMs >= interruption.false_after_ms) {
      if (interruption.resume_on_false)
        this.#resumeFromNothing('no_words', interruption.false_after_ms, view, actions);
      else
        actions.push(
          { type: 'cancel' },
          decision({ action: 'interrupt', rule: 'no_words', timer_ms: interruption.false_after_ms }),
        );
      return true;
    }
    const wordless = this.#interim === undefined || this.#interim.text === '';
    const unheard = !view.audible && heldMs >= UNHEARD_FALSE_AFTER_MS && silentMs >= SILENT_AFTER_MS;
    if (!wordless || !(interruption.resume_on_false || !view.audible)) return false;
    if (view.isNothing) this.#resumeFromNothing('no_voice', heldMs, view, actions);
    else if (unheard || (heldMs >= WORDS_AFTER_MS && silentMs >= WORDS_AFTER_MS))
      this.#resumeFromNothing('no_words', heldMs, view, actions);
    else return false;
    return true;
  }

  #onTick(view: TurnView, actions: TurnAction[]): void {
    const { turn_taking: turns } = this.#config;
    const silentMs = view.nowMs - view.lastVoicedAt;

    if (view.agent === 'held' && this.#decideHeld(silentMs, view, actions)) return;

    const open = join(this.#pending, this.#interim);
    if (open === undefined || open.text === '') {
      if (silentMs > 5000) this.#turnStartedAt = undefined;
      return;
    }
    if (view.agent === 'idle') {
      if (
        this.#pending !== undefined &&
        this.#interim === undefined &&
        this.#endsNow(this.#pending.text, view)
      )
        return this.#finish('pause', actions);
      if (
        this.#turnStartedAt !== undefined &&
        view.nowMs - this.#turnStartedAt >= turns.max_caller_turn_seconds * 1000
      )
        return this.#finish('too_long', actions);
    }
    if (view.agent === 'idle' && this.#prepared === undefined) this.#considerPreparing(false, view, actions);
    if (this.#interim === undefined || this.#interim.text === '' || silentMs < SILENT_AFTER_MS) {
      this.#finalizeAskedAt = undefined;
      return;
    }
    // The STT owes an end of turn. One absolute deadline, counted from the last voice.
    if (this.#finalizeAskedAt === undefined) {
      if (silentMs < (turns.mode === 'silence' ? turns.vad_min_silence_ms : FINALIZE_AFTER_MS)) return;
      this.#finalizeAskedAt = view.nowMs;
      actions.push({ type: 'finalize' });
    } else if (view.nowMs - this.#finalizeAskedAt >= FINALIZE_ANSWER_MS) {
      this.#guessed = {
        words: toWords(open.text).join(' '),
        lastVoicedAt: view.lastVoicedAt,
        untilMs: view.nowMs + FINALIZE_LATE_MS,
      };
      this.#onTurnEnd(
        { text: '', confidence: undefined, endMs: undefined, language: undefined },
        view,
        actions,
      );
    }
  }
}

function decision(value: TurnDecision): TurnAction {
  return { type: 'decision', decision: value };
}

/** Two pieces of one turn as one transcript. */
function join(
  first: SttTranscript | undefined,
  second: SttTranscript | undefined,
): SttTranscript | undefined {
  if (first === undefined || first.text === '') return second ?? first;
  if (second === undefined || second.text === '') return first;
  const confidence =
    first.confidence === undefined || second.confidence === undefined
      ? second.confidence
      : Math.min(first.confidence, second.confidence);
  return {
    text: `${first.text} ${second.text}`,
    confidence,
    endMs: second.endMs,
    language: second.language ?? first.language,
    words: [...(first.words ?? []), ...(second.words ?? [])],
  };
}
