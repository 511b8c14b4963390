import type { Clock } from '@parley/shared/time/clock';
import type { Floor } from '../turns/caller-turns.ts';
import type { AgentActivity } from '../turns/turn-detector.ts';
import type { LlmMessage } from '../providers/llm/llm-provider.ts';
import { AgentUtterance, type UtteranceEnd } from './agent-utterance.ts';
import type { Playout } from './playout.ts';
import type { MakeReply } from './reply-maker.ts';
import type { ReplyKind, ReplyObserver } from './reply-observer.ts';
import type { RecordedSpeech } from './recorded-speech.ts';
import type { HeardSpeech } from './speech.ts';
import type { Reply, ReplyOutcome, ReplyPart } from './reply.ts';

/** An order to answer. */
export interface AnswerOrder {
  kind?: ReplyKind;
  /** A note that the model gets first. */
  note?: string;
  /** Text only: no voice speaks it. Otherwise as `setTextOnly` says. */
  textOnly?: boolean;
}

/** A reply of which nothing, or nothing more, could be said. */
export type SpeechFailure = Extract<ReplyOutcome, { status: 'failed' }>;

/** Takes down what the agent says, and what of it was heard; knows what the model is told. */
export interface SpokenRecord {
  note(text: string): void;
  /** @param extraCallerText words of the caller that are not settled yet */
  messages(systemPrompt: string, extraCallerText?: string): LlmMessage[];
  /** What the caller wants answered; undefined when a reply has followed it. */
  question(extraCallerText?: string): string | undefined;
  /** The reply appends to `parts` while it runs. */
  replyBegins(key: string, parts: ReplyPart[]): void;
  replyAudible(reply: AgentUtterance): void;
  replyEnded(
    reply: AgentUtterance,
    heard: HeardSpeech | undefined,
    end: { status: UtteranceEnd['status']; code?: string | undefined },
  ): void;
  replyCorrected(reply: AgentUtterance, heard: HeardSpeech): void;
}

export interface AgentSpeechEvents {
  /** Whether the phase of the call lets the agent answer. */
  mayThink(): boolean;
  /** Whether that can be done before the caller's turn is over. */
  mayThinkAhead(): boolean;
  /** All of an utterance was heard. */
  onHeard(text: string): void;
  /** An utterance breaks off; its end follows. */
  onError(failure: SpeechFailure): void;
  /** An utterance that broke off has ended. @param repeated the utterance before broke off too */
  onFailed(failure: SpeechFailure, repeated: boolean): void;
  /** The caller stopped the agent in the middle. */
  onInterrupted(turnIndex: number | undefined, heardMs: number): void;
}

/** What speech must know of the tools of the call. */
export interface SpeechTools {
  readonly busy: boolean;
  /** Whether a reply may be thought before the caller's turn is over. */
  readonly mayThinkAhead: boolean;
  idle(): Promise<void>;
}

interface PreparedReply {
  reply: Reply;
  /** The fixed text that it says; undefined where the model thinks. */
  speech?: string;
  words: FollowedText;
  textOnly: boolean;
  /** Makes the prepared reply count: the caller's turn is over and in the conversation. */
  commit(): void;
}

/**
 * What the agent says: one utterance at a time, one that is thought ahead, and the one that was said last. Everything
 * that is to be said goes through here, and nobody else begins or ends it.
 */
export class AgentSpeech implements Floor {
  readonly #makeReply: MakeReply;
  readonly #playout: Playout;
  /** The tools of the call: those of earlier utterances may still run. */
  readonly #tools: SpeechTools;
  readonly #transcript: SpokenRecord;
  readonly #systemPrompt: () => string;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #observer: ReplyObserver | undefined;
  readonly #events: AgentSpeechEvents;

  #current: AgentUtterance | undefined;
  /** The reply prepared for a turn that may not be over yet. */
  #prepared: PreparedReply | undefined;
  /** The utterance that ended last. */
  #last: AgentUtterance | undefined;
  #count = 0;
  /** How many utterances in a row have failed. */
  #failures = 0;
  #textOnly = false;
  /** When the last utterance had been heard, unless the caller has answered since; monotonic ms. */
  #unansweredSince: number | undefined;

  constructor(deps: {
    makeReply: MakeReply;
    playout: Playout;
    tools: SpeechTools;
    transcript: SpokenRecord;
    systemPrompt: () => string;
    clock: Pick<Clock, 'monotonic'>;
    observer: ReplyObserver | undefined;
    events: AgentSpeechEvents;
  }) {
    this.#makeReply = deps.makeReply;
    this.#playout = deps.playout;
    this.#tools = deps.tools;
    this.#transcript = deps.transcript;
    this.#systemPrompt = deps.systemPrompt;
    this.#clock = deps.clock;
    this.#observer = deps.observer;
    this.#events = deps.events;
  }

  // ---- what is being said ----

  get current(): AgentUtterance | undefined {
    return this.#current;
  }

  /** Whether the agent speaks, thinks, or runs a tool. */
  get busy(): boolean {
    return this.#current !== undefined || this.#prepared !== undefined || this.#tools.busy;
  }

  get activity(): AgentActivity {
    if (!this.#current) return 'idle';
    if (this.#playout.held) return 'held';
    return this.#playout.audible ? 'speaking' : 'thinking';
  }

  get audible(): boolean {
    return this.#current !== undefined && this.#playout.audible;
  }

  /** How far the present utterance has got: changes while words come or audio is heard. */
  get progress(): number {
    return this.#current ? this.#current.writtenLength + Math.round(this.#playout.heardMs) : -this.#count;
  }

  /** How long the caller took to answer the last utterance, ms. Each delay is returned once, then undefined. */
  takeCallerDelay(now: number): number | undefined {
    if (this.#unansweredSince === undefined || this.#current) return undefined;
    const delay = now - this.#unansweredSince;
    this.#unansweredSince = undefined;
    return delay;
  }

  // ---- beginning ----

  /** Begins a reply of the model, in place of the present utterance. */
  answer({ kind = 'answer', note, textOnly = this.#textOnly }: AnswerOrder = {}): void {
    if (!this.#events.mayThink()) return;
    this.cancel();
    if (note !== undefined) this.#transcript.note(note);
    this.#think({ kind, textOnly, lastVoicedAt: undefined, closedAt: this.#clock.monotonic() });
  }

  /**
   * Answers a turn of the caller, with the prepared reply if there is one.
   * @param lastVoicedAt end of the turn, monotonic ms
   */
  answerTurn(lastVoicedAt: number): void {
    const thought: Thought = {
      kind: 'answer',
      textOnly: this.#textOnly,
      lastVoicedAt,
      closedAt: this.#clock.monotonic(),
    };
    const prepared = this.#prepared;
    if (!prepared) {
      this.#think(thought);
      return;
    }
    this.#prepared = undefined;
    prepared.commit();
    this.#adopt(prepared, { ...thought, textOnly: prepared.textOnly }, true);
    prepared.reply.release();
    this.#playout.resume();
  }

  /**
   * Says a fixed text, in place of the present utterance.
   * @param options.recorded what it sounds like, instead of a voice that speaks it
   * @param options.keep other calls say it too: what a voice has spoken of it is heard again
   */
  say(
    text: string,
    kind: ReplyKind,
    options: { interruptible: boolean; recorded?: RecordedSpeech; keep?: boolean },
  ): AgentUtterance {
    const { interruptible, recorded, keep = false } = options;
    const prepared = this.#prepared;
    const ready = prepared?.speech === text && !recorded && prepared.textOnly === this.#textOnly;
    this.cancel({ keepPrepared: ready });
    if (ready) {
      this.#prepared = undefined;
      const closedAt = this.#clock.monotonic();
      const thought: Thought = { kind, textOnly: prepared.textOnly, lastVoicedAt: undefined, closedAt };
      const utterance = this.#adopt(prepared, thought, interruptible);
      prepared.reply.release();
      this.#playout.resume();
      return utterance;
    }
    this.#playoutBegins(false);
    const words = new FollowedText(this.#observer);
    const textOnly = this.#textOnly;
    const reply = this.#makeReply({
      speech: text,
      recorded,
      keep,
      messages: () => [],
      textOnly,
      released: true,
      onText: (delta) => words.add(delta),
    });
    const closedAt = this.#clock.monotonic();
    return this.#adopt(
      { reply, words },
      { kind, textOnly, lastVoicedAt: undefined, closedAt },
      interruptible,
    );
  }

  /** @inheritdoc @param text undefined: the turn is over and written down, and its answer may still be another one */
  prepare(text?: string): void {
    if (this.busy || !this.#tools.mayThinkAhead || !this.#events.mayThink()) return;
    if (text !== undefined && !this.#events.mayThinkAhead()) return;
    this.#playoutBegins(true);
    const words = new FollowedText(this.#observer);
    const textOnly = this.#textOnly;
    let committed = false;
    const reply = this.#makeReply({
      messages: () => this.#transcript.messages(this.#systemPrompt(), committed ? undefined : text),
      question: () => this.#transcript.question(text),
      textOnly,
      released: false,
      onText: (delta) => words.add(delta),
    });
    this.#prepared = { reply, words, textOnly, commit: () => (committed = true) };
  }

  /** Has a fixed text spoken ahead, unless the agent is busy: nothing is heard of it before `say` says the same. */
  prepareText(text: string): void {
    if (this.busy) return;
    this.#playoutBegins(true);
    const words = new FollowedText(this.#observer);
    const textOnly = this.#textOnly;
    const reply = this.#makeReply({
      speech: text,
      messages: () => [],
      textOnly,
      released: false,
      onText: (delta) => words.add(delta),
    });
    this.#prepared = { reply, words, textOnly, speech: text, commit: () => {} };
  }

  /** Makes replies text-only from now on, or spoken again. */
  setTextOnly(only: boolean): void {
    this.#textOnly = only;
  }

  // ---- stopping ----

  hold(options: { soft: boolean }): void {
    const current = this.#current;
    const heardBefore = this.#playout.audible && !this.#playout.held;
    this.#playout.hold(options);
    if (current && heardBefore && this.#playout.silent)
      this.#observer?.onReplyHeld?.({ id: current.id, text: this.#playout.textUntil(this.#playout.heardMs) });
  }

  resume(): void {
    const current = this.#current;
    // Before audio goes out again.
    if (current && this.#playout.silent && this.#playout.audible)
      this.#observer?.onReplyResumed?.({ id: current.id });
    this.#playout.resume();
  }

  /** Protects the present utterance from interruption by the caller. */
  protect(): void {
    this.discardPrepared();
    if (!this.#current) return;
    this.#current.interruptible = false;
    if (this.#playout.held) this.resume();
  }

  /**
   * The caller has the floor. A goodbye is said to its end.
   * @returns whether something was stopped
   */
  interrupt(utterance: AgentUtterance | undefined = this.#current): boolean {
    if (utterance === undefined || utterance !== this.#current || utterance.kind === 'goodbye') return false;
    const wasAudible = this.#playout.audible;
    this.discardPrepared();
    const heard = this.#endCurrent();
    if (wasAudible) this.#events.onInterrupted(utterance.turnIndex, heard?.heardMs ?? 0);
    return true;
  }

  /** Cancels the present utterance; what was heard of it stays. @param keepPrepared spares the prepared reply */
  cancel({ keepPrepared = false } = {}): void {
    if (!keepPrepared) this.discardPrepared();
    this.#endCurrent();
  }

  discardPrepared(): void {
    if (!this.#prepared) return;
    this.#prepared.reply.cancel();
    this.#prepared = undefined;
    this.#playout.cancel();
  }

  /**
   * The far end says how much of an utterance it played, the current one or the last.
   * @returns what was heard of it, undefined when nothing changed
   */
  truncate(id: number, heardMs: number): string | undefined {
    if (this.#current?.id === id) {
      this.#playout.limitHeard(heardMs);
      return this.#playout.textUntil(Math.min(heardMs, this.#playout.heardMs));
    }
    const last = this.#last?.id === id ? this.#last : undefined;
    const heard = last && this.#playout.reconsider(heardMs);
    if (!heard) return undefined;
    this.#transcript.replyCorrected(last, heard);
    return heard.text;
  }

  // ---- inside ----

  #think(thought: Thought): void {
    if (!this.#events.mayThink()) return;
    this.cancel();
    if (this.#tools.busy) {
      // A tool of an earlier turn must end first: the model needs its result for the next answer.
      const before = this.#count;
      void this.#tools.idle().then(() => {
        if (this.#count === before && !this.#current) this.#think(thought);
      });
      return;
    }
    this.#playoutBegins(false);
    const words = new FollowedText(this.#observer);
    const reply = this.#makeReply({
      messages: () => this.#transcript.messages(this.#systemPrompt()),
      question: () => this.#transcript.question(),
      textOnly: thought.textOnly,
      released: true,
      onText: (delta) => words.add(delta),
    });
    this.#adopt({ reply, words }, thought, true);
  }

  #playoutBegins(held: boolean): void {
    this.#playout.begin(
      {
        onStarted: (atMs) => {
          const current = this.#current;
          current?.began(atMs);
          if (current) this.#transcript.replyAudible(current);
        },
        onSent: () => {
          const current = this.#current;
          if (current) this.#observer?.onReplySent?.({ id: current.id, tokens: current.tokens });
        },
        onFinished: (heard) => {
          if (!this.#current) return;
          this.#settle(this.#current, heard, 'completed');
          this.#unansweredSince = this.#playout.ledger.lastHeardAt;
          this.#events.onHeard(heard.text);
        },
      },
      { held },
    );
  }

  #adopt(
    { reply, words }: Pick<PreparedReply, 'reply' | 'words'>,
    { kind, textOnly, lastVoicedAt, closedAt }: Thought,
    interruptible: boolean,
  ): AgentUtterance {
    const id = ++this.#count;
    const key = `reply:${id}`;
    this.#transcript.replyBegins(key, reply.parts);
    const current = new AgentUtterance({
      id,
      kind,
      textOnly,
      interruptible,
      reply,
      answers: { lastVoicedAt, closedAt },
      interrupt: (utterance) => this.interrupt(utterance),
    });
    this.#current = current;
    this.#unansweredSince = undefined;
    this.#observer?.onReplyStarted?.({ id, key, kind, textOnly });
    words.begin(id);
    void reply.outcome.then((outcome) => this.#onOutcome(current, outcome));
    return current;
  }

  #onOutcome(current: AgentUtterance, outcome: ReplyOutcome): void {
    if (this.#current !== current || outcome.status === 'cancelled') return;
    if (outcome.status === 'spoken') {
      if (current.kind !== 'apology') this.#failures = 0;
      return;
    }
    this.#events.onError(outcome);
    this.#failures++;
    this.#settle(current, this.#playout.cancel(), 'failed', outcome.reason);
    this.#events.onFailed(outcome, this.#failures > 1);
  }

  #endCurrent(): HeardSpeech | undefined {
    const current = this.#current;
    if (!current) return undefined;
    current.cancelReply();
    const heard = this.#playout.cancel();
    this.#settle(current, heard, 'interrupted');
    return heard;
  }

  #settle(
    current: AgentUtterance,
    heard: HeardSpeech | undefined,
    status: 'completed' | 'interrupted' | 'failed',
    code?: string,
  ): void {
    this.#current = undefined;
    this.#last = current;
    const known = current.end(status, heard, this.#clock.monotonic());
    this.#transcript.replyEnded(current, known, { status, code });
  }
}

interface Thought {
  kind: ReplyKind;
  textOnly: boolean;
  /** Where the caller's turn that is answered ended, and when that was known; monotonic ms. */
  lastVoicedAt: number | undefined;
  closedAt: number;
}

/** Text of a reply for the observer: kept until the reply is one that counts. */
class FollowedText {
  readonly #observer: ReplyObserver | undefined;
  #id: number | undefined;
  #waiting = '';

  constructor(observer: ReplyObserver | undefined) {
    this.#observer = observer;
  }

  add(delta: string): void {
    if (this.#id === undefined) this.#waiting += delta;
    else this.#observer?.onReplyText?.({ id: this.#id, delta });
  }

  begin(id: number): void {
    this.#id = id;
    if (this.#waiting !== '') this.#observer?.onReplyText?.({ id, delta: this.#waiting });
    this.#waiting = '';
  }
}
