import type { TurnLatency } from '@parley/shared/contracts/turn';
import type { HeardSpeech } from './speech.ts';
import type { Reply, ReplyPart } from './reply.ts';
import type { ReplyKind, ReplyTokens } from './reply-observer.ts';

/** How an utterance ended. */
export interface UtteranceEnd {
  status: 'completed' | 'interrupted' | 'failed';
  /** The text that was heard; all of it when the utterance is text only. */
  heard: string;
}

/** One thing that the agent says, from the first thought to the last word heard. */
export class AgentUtterance {
  readonly id: number;
  readonly kind: ReplyKind;
  /** Text only: no voice speaks it. */
  readonly textOnly: boolean;
  /** Resolves when the utterance has ended, for whatever reason. */
  readonly done: Promise<UtteranceEnd>;
  /** When the caller's turn that this answers ended, and when that was known; monotonic ms. */
  readonly #lastVoicedAt: number | undefined;
  readonly #closedAt: number;
  readonly #reply: Reply;
  readonly #interrupt: (utterance: AgentUtterance) => boolean;
  readonly #resolveDone: (end: UtteranceEnd) => void;

  /** Whether the caller may interrupt the utterance. */
  interruptible: boolean;
  /** Number of the turn, once the first audio has gone out. */
  turnIndex: number | undefined;
  /** The node of a flow in which it began. */
  nodeId: string | undefined;
  #firstAudioAt: number | undefined;

  constructor(deps: {
    id: number;
    kind: ReplyKind;
    textOnly: boolean;
    interruptible: boolean;
    reply: Reply;
    answers: { lastVoicedAt: number | undefined; closedAt: number };
    interrupt: (utterance: AgentUtterance) => boolean;
  }) {
    this.id = deps.id;
    this.kind = deps.kind;
    this.textOnly = deps.textOnly;
    this.interruptible = deps.interruptible;
    this.#reply = deps.reply;
    this.#lastVoicedAt = deps.answers.lastVoicedAt === -Infinity ? undefined : deps.answers.lastVoicedAt;
    this.#closedAt = deps.answers.closedAt;
    this.#interrupt = deps.interrupt;
    const { promise, resolve } = Promise.withResolvers<UtteranceEnd>();
    this.done = promise;
    this.#resolveDone = resolve;
  }

  /** As `Reply.play`. */
  play(audio: Uint8Array): Promise<void> {
    return this.#reply.play(audio);
  }

  /** What was said and done, as the model will remember it. */
  get parts(): ReplyPart[] {
    return this.#reply.parts;
  }

  get tokens(): ReplyTokens {
    return this.#reply.tokens;
  }

  /** Whether the utterance has words, or is about to. */
  get hasWords(): boolean {
    return this.parts.some((part) => part.type === 'speech');
  }

  /** Characters that the utterance has by now, tools counted as one. */
  get writtenLength(): number {
    return this.parts.reduce((sum, part) => sum + (part.type === 'speech' ? part.text.length : 1), 0);
  }

  get latency(): TurnLatency {
    const { times } = this.#reply;
    return {
      e2e: between(this.#lastVoicedAt, this.#firstAudioAt),
      stt_final: between(this.#lastVoicedAt, this.#closedAt),
      llm_first_token: between(times.llmRequestAt, times.llmFirstTokenAt),
      tts_first_audio: between(times.ttsFirstTextAt, times.ttsFirstAudioAt),
      thought_ahead: this.#thoughtAhead,
    };
  }

  /** How long before the turn was over the reply was begun; no longer than it took until it could be heard. */
  get #thoughtAhead(): number | null {
    const { llmRequestAt = Infinity, ttsFirstAudioAt = Infinity } = this.#reply.times;
    if (llmRequestAt >= this.#closedAt) return null;
    return Math.round(Math.min(this.#closedAt, ttsFirstAudioAt) - llmRequestAt);
  }

  /** Stops the utterance, if it is present and may be interrupted. @returns whether it was stopped */
  interrupt(): boolean {
    return this.interruptible && this.#interrupt(this);
  }

  /** The model and the voice stop; tools that run go on. */
  cancelReply(): void {
    this.#reply.cancel();
  }

  /** Notes that the first audio has gone out. */
  began(atMs: number): void {
    this.#firstAudioAt = atMs;
  }

  /** The utterance is over. A text-only one counts as read. @returns what was heard of it */
  end(status: UtteranceEnd['status'], heard: HeardSpeech | undefined, now: number): HeardSpeech | undefined {
    const known = this.textOnly ? this.#asRead(heard, now) : heard;
    this.#resolveDone({ status, heard: known?.text ?? '' });
    return known;
  }

  #asRead(heard: HeardSpeech | undefined, now: number): HeardSpeech {
    const text = this.parts.flatMap((part) => (part.type === 'speech' ? [part.text] : [])).join(' ');
    return { text, complete: heard?.complete ?? false, heardMs: 0, startedAt: now, endedAt: now };
  }
}

function between(from: number | undefined, to: number | undefined): number | null {
  return from === undefined || to === undefined ? null : Math.max(0, Math.round(to - from));
}
