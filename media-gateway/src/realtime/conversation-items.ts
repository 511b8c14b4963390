/** How many items are kept; the oldest is dropped beyond that. The call's own conversation is not affected. */
const MAX_ITEMS = 1000;

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

export type ContentPart =
  | { type: 'input_text'; text: string }
  | { type: 'input_audio'; transcript: string | null }
  | { type: 'output_audio'; transcript: string }
  | { type: 'output_text'; text: string };

/** One item of the conversation as the protocol sees it. */
export interface Item {
  id: string;
  type: string;
  status: ItemStatus;
  role?: 'user' | 'assistant' | 'system';
  content?: ContentPart[];
  name?: string;
  call_id?: string;
  arguments?: string;
  output?: string;
  /** Key of the entry in the call's conversation; undefined for items that the call does not keep. */
  key?: string | undefined;
  /** Speech of the agent: which reply, which part of its audio and of its words. */
  spoken?: SpokenPart;
}

export interface SpokenPart {
  replyId: number;
  /** Where in the audio of the reply the item begins. */
  fromMs: number;
  /** Audio of the item that was sent. */
  sentMs: number;
  /** Words of the reply that came before the item. */
  fromWord: number;
}

/** An item as events hold it: never with audio. */
export function toWireItem(item: Item): object {
  const { key: _key, spoken: _spoken, ...wire } = item;
  return { object: 'realtime.item', ...wire, content: item.content?.map((part) => ({ ...part })) };
}

/** The items of one conversation, in order. */
export class ConversationItems {
  readonly #items: Item[] = [];
  readonly #byId = new Map<string, Item>();

  get last(): Item | undefined {
    return this.#items.at(-1);
  }

  get(id: string): Item | undefined {
    return this.#byId.get(id);
  }

  /** Puts an item at the end. @returns the id of the one before it, null for the very first */
  append(item: Item): string | null {
    const previous = this.last?.id ?? null;
    this.#insert(item, this.#items.length);
    return previous;
  }

  /** @param previousId null: before all others */
  insertAfter(item: Item, previousId: string | null): void {
    const at = previousId === null ? 0 : this.#items.findIndex((known) => known.id === previousId) + 1;
    this.#insert(item, at);
  }

  /** The one before `item`. */
  before(item: Item): string | null {
    return this.#items[this.#items.indexOf(item) - 1]?.id ?? null;
  }

  /** The nearest item from `id` backwards that the call knows; null when there is none. */
  keyAtOrBefore(id: string | null): string | null {
    if (id === null) return null;
    let at = this.#items.findIndex((item) => item.id === id);
    while (at >= 0 && this.#items[at]!.key === undefined) at--;
    return at < 0 ? null : this.#items[at]!.key!;
  }

  remove(id: string): Item | undefined {
    const item = this.#byId.get(id);
    if (!item) return undefined;
    this.#byId.delete(id);
    this.#items.splice(this.#items.indexOf(item), 1);
    return item;
  }

  /** The speech of one reply: more than one item when it was held and went on. */
  ofReply(replyId: number): Item[] {
    return this.#items.filter((item) => item.spoken?.replyId === replyId);
  }

  #insert(item: Item, at: number): void {
    this.#items.splice(at, 0, item);
    this.#byId.set(item.id, item);
    if (this.#items.length <= MAX_ITEMS) return;
    const oldest = this.#items.shift()!;
    this.#byId.delete(oldest.id);
  }
}
