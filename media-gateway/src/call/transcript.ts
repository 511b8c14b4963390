import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { TurnLatency } from '@parley/shared/contracts/turn';
import type { LlmMessage } from '../providers/llm/llm-provider.ts';
import type { ReplyPart } from '../speech/reply.ts';
import type { ReplyTokens } from '../speech/reply-observer.ts';
import type { HeardSpeech } from '../speech/speech.ts';
import type { CallerWords } from '../turns/caller-turns.ts';
import type { CallClock } from './call-clock.ts';
import type { TurnLog } from './turn-log.ts';
import type { CallObserver } from './call-observer.ts';
import type { CallRedaction } from '../redaction/call-redaction.ts';
import { Conversation } from './conversation.ts';
import { TurnWriter } from './turn-writer.ts';

/** What the transcript must know of a reply. */
export interface AgentWords {
  readonly id: number;
  readonly parts: ReplyPart[];
  readonly tokens: ReplyTokens;
  readonly latency: TurnLatency;
  /** Number of the turn, given when its first audio goes out: turns are numbered in the order in which they begin. */
  turnIndex: number | undefined;
  /** The node of the flow in which it began. */
  nodeId: string | undefined;
}

/** How a reply ended. */
export interface ReplyEnd {
  status: 'completed' | 'interrupted' | 'failed';
  /** Code word of the failure. */
  code?: string | undefined;
}

/** Learns of what both sides say, in order. */
export interface Talk {
  agentSaid(parts: readonly ReplyPart[], heard: string): void;
  callerSaid(text: string, language: string | undefined): void;
}

/**
 * Writes down what is said, each time at once where it belongs: in the record of the call, in what the model is told,
 * and for whoever follows the call.
 */
export class Transcript {
  readonly #turns: TurnWriter;
  readonly #observer: CallObserver | undefined;
  readonly #talk: Talk | undefined;
  readonly #nodeId: () => string | undefined;
  readonly #redaction: CallRedaction | undefined;
  readonly #conversation: Conversation;
  /** Number of the last turn that the caller said on this leg. */
  #callerTurn: number | undefined;
  /** How many entries the far end has added. */
  #given = 0;

  /** @param deps.onTurn the record has a new turn in it @param deps.nodeId the node that the call is in, of a flow */
  constructor(deps: {
    log: TurnLog;
    clock: CallClock;
    plan: Pick<SessionPlan, 'history' | 'known_history'>;
    observer: CallObserver | undefined;
    onTurn: () => void;
    talk?: Talk;
    nodeId?: () => string | undefined;
    redaction?: CallRedaction;
  }) {
    this.#nodeId = deps.nodeId ?? (() => undefined);
    this.#turns = new TurnWriter({ ...deps, nodeId: this.#nodeId });
    this.#observer = deps.observer;
    this.#talk = deps.talk;
    this.#redaction = deps.redaction;
    const { history, known_history: known } = deps.plan;
    const since = known?.from_index ?? 0;
    this.#conversation = new Conversation(
      history.filter(({ turn_index: index }) => index >= since),
      known?.summary,
    );
  }

  // ---- the caller ----

  /** Takes a finished turn of the caller. One without words reaches the observer alone. */
  callerTurn(words: CallerWords): void {
    const { text, audioEndMs } = words;
    const key = text === '' ? undefined : this.#rememberCaller(words);
    if (text !== '') this.#talk?.callerSaid(text, words.language);
    this.#observer?.onCallerTurn?.({ key, text, audioEndMs });
  }

  /** Takes the words of a turn that the end of the call or leg cut off. */
  unfinishedTurn(words: CallerWords): void {
    this.#rememberCaller(words);
  }

  /** Takes words that take no turn: the model never gets them. */
  backchannel(words: CallerWords): void {
    this.#turns.callerSaid(this.#turns.newIndex(), words, true);
    this.#observer?.onBackchannel?.({ text: words.text, audioEndMs: words.audioEndMs });
  }

  /** Takes keys that the caller pressed. */
  keys(digits: string): void {
    this.#turns.callerWrote(this.#turns.newIndex(), `(keys) ${digits}`);
    this.#talk?.callerSaid('', undefined);
  }

  /** Takes a text that the caller wrote. @param after see `Place` @returns the key of the entry */
  written(text: string, after?: string | null): string {
    const turnIndex = this.#turns.newIndex();
    const key = keyOf(turnIndex);
    this.#conversation.addCaller(text, { key, after });
    this.#turns.callerWrote(turnIndex, text);
    this.#talk?.callerSaid(text, undefined);
    return key;
  }

  // ---- the agent ----

  /** Takes a reply that begins; the reply appends to `parts` while it runs. */
  replyBegins(key: string, parts: ReplyPart[]): void {
    this.#conversation.beginReply(parts, key);
  }

  /** The first audio of a reply is heard: its turn begins. */
  replyAudible(reply: AgentWords): void {
    reply.turnIndex ??= this.#turns.newIndex();
    reply.nodeId ??= this.#nodeId();
  }

  /** A reply has ended. @param heard what was heard of it */
  replyEnded(reply: AgentWords, heard: HeardSpeech | undefined, { status, code }: ReplyEnd): void {
    this.#writeReply(reply, heard);
    this.#observer?.onReplyEnded?.({
      id: reply.id,
      status,
      text: heard?.text ?? '',
      heardMs: heard?.heardMs ?? 0,
      code,
      tokens: reply.tokens,
    });
  }

  /** Takes words that the agent said while the caller had the floor: the model never gets them. Monotonic ms. */
  agentBackchannel(text: string, startedAt: number, endedAt: number): void {
    this.#turns.agentBackchannel(this.#turns.newIndex(), text, startedAt, endedAt);
  }

  /** Corrects a reply of which less was heard than was written down. */
  replyCorrected(reply: AgentWords, heard: HeardSpeech): void {
    this.#writeReply(reply, heard);
  }

  /** Adds words of the agent for the model alone. @returns the key of the entry */
  given(text: string, after?: string | null): string {
    const key = `given:${++this.#given}`;
    this.#conversation.addAgent(text, { key, after });
    return key;
  }

  // ---- the model ----

  /** Another agent has taken over, which is told nothing of what was said so far. @param summary what it is told instead */
  beginAnew(summary: string): void {
    this.#conversation.beginAnew(summary);
  }

  /** Adds a note for the model that neither side said. */
  note(text: string): void {
    this.#conversation.addNote(text);
  }

  /** Removes an entry from what the model gets; the record keeps it. @returns whether there was such an entry */
  forget(key: string): boolean {
    return this.#conversation.remove(key);
  }

  /** The model is never told what the caller said last: it was refused. The record keeps it. */
  refuseCallerWords(): void {
    this.#conversation.refuseCaller();
  }

  /** Number of the caller's turn that nothing of the agent's followed, undefined when something did. */
  get unanswered(): number | undefined {
    return this.#conversation.lastCallerText === undefined ? undefined : this.#callerTurn;
  }

  /** The caller's words that nothing of the agent's followed; empty: there are none. */
  get callerText(): string {
    return this.#conversation.lastCallerText ?? '';
  }

  /** What the agent said last; empty: nothing yet. */
  get agentText(): string {
    return this.#conversation.lastAgentText;
  }

  /** Whether the caller has said or written something that nothing of the agent's followed. */
  get awaitsAnswer(): boolean {
    return this.#conversation.lastCallerText !== undefined;
  }

  /** Number of the last turn that the caller said on this leg. */
  get lastCallerTurn(): number | undefined {
    return this.#callerTurn;
  }

  /** The messages for the model. @param extraCallerText words of a turn that may not be over yet */
  messages(systemPrompt: string, extraCallerText?: string): LlmMessage[] {
    const messages = this.#conversation.toMessages(systemPrompt, extraCallerText);
    return this.#redaction?.messages(messages) ?? messages;
  }

  /** What the caller wants answered. @param extraCallerText words of a turn that may not be over yet */
  question(extraCallerText?: string): string | undefined {
    const question = this.#conversation.question(extraCallerText);
    return question && (this.#redaction?.question(question) ?? question);
  }

  // ---- inside ----

  #rememberCaller(words: CallerWords): string {
    const turnIndex = (this.#callerTurn = this.#turns.newIndex());
    const key = keyOf(turnIndex);
    this.#conversation.addCaller(words.text, { key });
    this.#turns.callerSaid(turnIndex, words);
    return key;
  }

  /** Records the part of a reply that was heard. */
  #writeReply(reply: AgentWords, heard: HeardSpeech | undefined): void {
    const text = heard?.text ?? '';
    const complete = heard?.complete ?? false;
    this.#talk?.agentSaid(reply.parts, text);
    this.#conversation.settleReply(reply.parts, complete ? undefined : text);
    if (text === '' || heard?.startedAt === undefined) return;
    this.#turns.agentSaid((reply.turnIndex ??= this.#turns.newIndex()), {
      text,
      words: heard.words ?? [],
      startedAt: heard.startedAt,
      endedAt: heard.endedAt ?? heard.startedAt,
      interrupted: !complete,
      nodeId: reply.nodeId,
      latency: reply.latency,
    });
  }
}

const keyOf = (turnIndex: number) => `turn:${turnIndex}`;
