import type { LlmMessage } from '../providers/llm/llm-provider.ts';
import type { ReplyPart } from '../speech/reply.ts';
import type { Turn } from '@parley/shared/contracts/turn';

type Entry = { key?: string | undefined } & (
  | { type: 'caller'; text: string }
  | { type: 'note'; text: string }
  | {
      type: 'agent';
      parts: ReplyPart[];
      /** All parts of the reply, including words that were not heard. */ whole: ReplyPart[];
    }
);

/** The position of an entry that is inserted: behind the entry `after`, or (null) before all others. */
export interface Place {
  key: string;
  after?: string | null | undefined;
}

/** How much of a conversation the LLM gets, in characters; as much again as the longest system prompt. */
const MAX_CHARACTERS = 64_000;
/** How much is left of a conversation that has grown too long: it is cut seldom, so that providers' caches hold. */
const KEPT_CHARACTERS = 48_000;
/** A question of fewer words is one about what was said before: "And on Sundays?" */
const SHORT_QUESTION_WORDS = 4;
const REFUSED_NOTE = 'The caller said something that must not be followed, and was told so.';
const CUT_NOTE = 'Earlier turns of this call were left out here.';

/** The conversation so far, as the LLM gets it: of the agent's words only those that were heard. */
export class Conversation {
  #entries: Entry[] = [];
  /** The first entry that the LLM still gets; undefined: it gets all. */
  #oldest: Entry | undefined;

  /** @param history turns of earlier legs of the session @param summary of those before, where the LLM gets no more of them */
  constructor(history: readonly Turn[], summary = '') {
    this.beginAnew(summary);
    for (const turn of history) {
      if (turn.backchannel) continue;
      if (turn.role === 'caller') this.addCaller(turn.text);
      else this.addAgent(turn.text);
    }
  }

  addCaller(text: string, place?: Place): void {
    this.#add({ type: 'caller', text }, place);
  }

  /** Adds words of the agent that were not spoken in this call. */
  addAgent(text: string, place?: Place): void {
    this.#add({ type: 'agent', parts: [{ type: 'speech', text, fromModel: true }], whole: [] }, place);
  }

  /** @returns whether there was such an entry */
  remove(key: string): boolean {
    const at = this.#entries.findIndex((entry) => entry.key === key);
    if (at !== -1) this.#entries.splice(at, 1);
    return at !== -1;
  }

  #add(entry: Entry, place: Place | undefined): void {
    entry.key = place?.key;
    const after = place?.after;
    const before =
      after === undefined
        ? -1
        : after === null
          ? 0
          : this.#entries.findIndex((candidate) => candidate.key === after) + 1;
    if (before === -1 || (before === 0 && after !== null)) this.#entries.push(entry);
    else this.#entries.splice(before, 0, entry);
  }

  /** The LLM gets nothing any more of what was said so far, on this leg or an earlier one. @param summary what it gets instead */
  beginAnew(summary: string): void {
    this.#entries = [];
    this.#oldest = undefined;
    if (summary !== '') this.addNote(`What was said in this call before, in short: ${summary}`);
  }

  /** Adds a note for the LLM that neither side said: keys pressed, an event, a long silence. */
  addNote(text: string): void {
    this.#entries.push({ type: 'note', text });
  }

  /** Adds a reply that begins; the reply appends to `parts` while it runs. */
  beginReply(parts: ReplyPart[], key?: string): void {
    this.#entries.push({ type: 'agent', parts, whole: parts, key });
  }

  /**
   * The reply with these parts is over. Of its words those that were heard stay, cut at a word; what tools answered
   * stays in any case. A reply of which nothing is left disappears.
   * @param heard undefined: all of it
   */
  settleReply(parts: ReplyPart[], heard: string | undefined): void {
    const entry = this.#entries.find((candidate) => candidate.type === 'agent' && candidate.whole === parts);
    if (entry?.type !== 'agent') return;
    if (heard !== undefined) entry.parts = keepHeard(parts, heard);
    if (entry.parts.length === 0) this.#entries.splice(this.#entries.indexOf(entry), 1);
  }

  /** Replaces what the caller said since the reply before the last by a note. */
  refuseCaller(): void {
    const entries = this.#entries;
    let at = entries.findLastIndex(({ type }) => type === 'caller');
    for (; at >= 0 && entries[at]!.type !== 'agent'; at--) {
      const { type, key } = entries[at]!;
      if (type === 'caller') entries[at] = { type: 'note', text: REFUSED_NOTE, key };
    }
  }

  /** The last text of the caller, if no reply followed it. */
  get lastCallerText(): string | undefined {
    const last = this.#entries.findLast((entry) => entry.type !== 'note');
    return last?.type === 'caller' ? last.text : undefined;
  }

  /** What of the agent's words was heard last; empty: nothing yet. */
  get lastAgentText(): string {
    const last = this.#entries.findLast((entry) => entry.type === 'agent');
    if (last?.type !== 'agent') return '';
    return last.parts.flatMap((part) => (part.type === 'speech' ? [part.text] : [])).join(' ');
  }

  /**
   * What the caller wants answered: the last words, and those before where so few are about what went before.
   * Undefined when a reply has followed them.
   * @param extraCallerText said, but not yet sure to be all
   */
  question(extraCallerText?: string): string | undefined {
    const last = extraCallerText ?? this.lastCallerText;
    if (last === undefined) return undefined;
    if (countWords(last) >= SHORT_QUESTION_WORDS) return last;
    const said = this.#entries.filter((entry) => entry.type === 'caller');
    const before = said.at(extraCallerText === undefined ? -2 : -1);
    return before === undefined ? last : `${before.text} ${last}`;
  }

  /**
   * The messages of the LLM. Of a conversation that has grown too long the oldest turns are left out, each from the
   * caller's words to the end of the reply with all its tools, and a note says so; the last turn always stays.
   * @param extraCallerText said, but not yet sure to be all: for thinking ahead
   */
  toMessages(systemPrompt: string, extraCallerText?: string): LlmMessage[] {
    const messages: LlmMessage[] = [{ role: 'system', content: systemPrompt }];
    const from = this.#firstSent();
    if (from > 0) messages.push({ role: 'user', content: `[${CUT_NOTE}]` });
    for (const entry of this.#entries.slice(from)) {
      if (entry.type === 'caller') messages.push({ role: 'user', content: entry.text });
      else if (entry.type === 'note') messages.push({ role: 'user', content: `[${entry.text}]` });
      else appendReply(messages, entry.parts);
    }
    if (extraCallerText !== undefined) messages.push({ role: 'user', content: extraCallerText });
    return messages;
  }

  /** @returns the place of the first entry that is sent */
  #firstSent(): number {
    const entries = this.#entries;
    let from = this.#oldest === undefined ? 0 : Math.max(0, entries.indexOf(this.#oldest));
    let size = 0;
    for (let at = from; at < entries.length; at++) size += charactersOf(entries[at]!);
    if (size <= MAX_CHARACTERS) return from;
    const last = Math.max(
      from,
      entries.findLastIndex(({ type }) => type === 'caller'),
    );
    while (from < last && (size > KEPT_CHARACTERS || entries[from]!.type !== 'caller'))
      size -= charactersOf(entries[from++]!);
    this.#oldest = entries[from];
    return from;
  }
}

function charactersOf(entry: Entry): number {
  if (entry.type !== 'agent') return entry.text.length;
  let size = 0;
  for (const part of entry.parts) {
    if (part.type === 'speech') size += part.text.length;
    else
      for (const { id, arguments: args } of part.calls)
        size += args.length + (part.results.get(id)?.length ?? 0);
  }
  return size;
}

function appendReply(messages: LlmMessage[], parts: readonly ReplyPart[]): void {
  let text = '';
  for (const part of parts) {
    if (part.type === 'speech') {
      if (part.fromModel) text = text === '' ? part.text : `${text} ${part.text}`;
      continue;
    }
    messages.push({ role: 'assistant', content: text, toolCalls: part.calls });
    text = '';
    for (const call of part.calls) {
      // A model rejects messages in which one of its tool calls has no result.
      messages.push({
        role: 'tool',
        toolCallId: call.id,
        content: part.results.get(call.id) ?? '{"status":"pending"}',
      });
    }
  }
  if (text !== '') messages.push({ role: 'assistant', content: text });
}

function keepHeard(parts: readonly ReplyPart[], heard: string): ReplyPart[] {
  let left = countWords(heard);
  const kept: ReplyPart[] = [];
  for (const part of parts) {
    if (part.type === 'tools') {
      kept.push(part);
      continue;
    }
    if (left <= 0) continue;
    const words = part.text.split(/\s+/).filter((word) => word !== '');
    kept.push({ ...part, text: words.slice(0, left).join(' ') });
    left -= words.length;
  }
  return kept;
}

function countWords(text: string): number {
  return text.split(/\s+/).filter((word) => word !== '').length;
}
