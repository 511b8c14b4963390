import type { CallSteering } from '../call/call.ts';
import { parseBase64 } from '../carriers/base64.ts';
import type { AgentResponses } from './agent-responses.ts';
import type { CallerAudio } from './caller-audio.ts';
import type { ClientEvent, ClientItem, EventFault } from './client-events.ts';
import { toWireItem } from './conversation-items.ts';
import type { ContentPart, ConversationItems, Item } from './conversation-items.ts';
import type { EventSender } from './event-sender.ts';
import type { SessionSettings } from './session-settings.ts';
import { cutItem } from './spoken-items.ts';

const MAX_TEXT = 32_768;

type ItemEvent<T extends 'create' | 'retrieve' | 'delete' | 'truncate'> = Extract<
  ClientEvent,
  { type: `conversation.item.${T}` }
>;
/** The refusal of an event. */
type Refusal = Omit<EventFault, 'event_id'>;

/** Edits of the conversation by the client; those that matter for the model go to the call. */
export class ItemEditor {
  readonly #call: CallSteering;
  readonly #items: ConversationItems;
  readonly #audio: CallerAudio;
  readonly #responses: AgentResponses;
  readonly #settings: SessionSettings;
  readonly #events: EventSender;

  constructor(deps: {
    call: CallSteering;
    items: ConversationItems;
    audio: CallerAudio;
    responses: AgentResponses;
    settings: SessionSettings;
    events: EventSender;
  }) {
    this.#call = deps.call;
    this.#items = deps.items;
    this.#audio = deps.audio;
    this.#responses = deps.responses;
    this.#settings = deps.settings;
    this.#events = deps.events;
  }

  create({ item: given, previous_item_id: after }: ItemEvent<'create'>): Refusal | undefined {
    if (given.id && this.#items.get(given.id))
      return invalid('An item with this id already exists.', 'item.id');
    const previous = after === 'root' ? null : (after ?? undefined);
    if (typeof previous === 'string' && !this.#items.get(previous)) {
      return itemNotFound(previous, 'previous_item_id');
    }
    const item = toItem(given, given.id ?? this.#events.newId('item'));
    if (typeof item === 'string') return invalid(item, 'item');
    const audio = item.role === 'user' ? (given.content ?? []).find((part) => part.audio)?.audio : undefined;
    const text = toText(item);
    // An utterance: the call makes it an item of its own.
    if (audio && text === '') return this.#createSpoken(item.id, audio);
    const refusal = this.#enter(item, text, previous);
    if (refusal) return refusal;
    if (previous === undefined) this.#events.item(item, this.#items.append(item));
    else {
      this.#items.insertAfter(item, previous);
      this.#events.item(item, previous);
    }
    return undefined;
  }

  retrieve(event: ItemEvent<'retrieve'>): Refusal | undefined {
    const item = this.#items.get(event.item_id);
    if (!item) return itemNotFound(event.item_id);
    this.#events.send({ type: 'conversation.item.retrieved', item: toWireItem(item) });
    return undefined;
  }

  delete(event: ItemEvent<'delete'>): Refusal | undefined {
    const item = this.#items.remove(event.item_id);
    if (!item) return itemNotFound(event.item_id);
    if (item.key !== undefined) this.#call.forget(item.key);
    this.#events.send({ type: 'conversation.item.deleted', item_id: item.id });
    return undefined;
  }

  /** The client says how much of an item it played. */
  truncate(event: ItemEvent<'truncate'>): void {
    const item = this.#items.get(event.item_id);
    const { spoken } = item ?? {};
    // Clients truncate what they never heard of, or what has no sound: nothing is to be cut there.
    if (!item || !spoken) return;
    const heardMs = Math.max(0, Math.min(event.audio_end_ms, spoken.sentMs));
    const text = this.#call.truncate(spoken.replyId, spoken.fromMs + heardMs);
    if (text !== undefined) cutItem(item, text);
    this.#events.send({
      type: 'conversation.item.truncated',
      item_id: item.id,
      content_index: event.content_index,
      audio_end_ms: event.audio_end_ms,
    });
  }

  /** Makes an item part of the call. @param previous id of the one before it, where the client named one */
  #enter(item: Item, text: string, previous: string | null | undefined): Refusal | undefined {
    const after = previous === undefined ? undefined : this.#items.keyAtOrBefore(previous);
    if (item.type === 'function_call_output') {
      if (!this.#call.answerTool(item.call_id ?? '', item.output ?? ''))
        return invalid('No pending function call has this call_id.', 'item.call_id');
      this.#responses.noteInput();
    } else if (item.role === 'user' && text !== '') {
      item.key = this.#call.addCallerText(text, after);
      this.#responses.noteInput();
    } else if (item.role === 'assistant' && text !== '') {
      item.key = this.#call.addAgentText(text, after);
    }
    // Instructions are the agent's own: system items are taken and change nothing.
    return undefined;
  }

  #createSpoken(itemId: string, base64: string): Refusal | undefined {
    const bytes = parseBase64(base64);
    if (!bytes || this.#settings.turns.listen) {
      return {
        code: 'unsupported_content_type',
        message: 'An audio item needs base64 audio, and turn_detection set to null.',
        param: 'item.content',
      };
    }
    this.#audio.append(bytes, this.#call);
    if (this.#audio.commitItem(itemId, this.#call)) {
      this.#responses.noteInput();
      return undefined;
    }
    return {
      code: 'input_audio_buffer_commit_empty',
      message: 'The item has too little audio: at least 100 ms are needed.',
      param: 'item.content',
    };
  }
}

function invalid(message: string, param: string): Refusal {
  return { code: 'invalid_value', message, param };
}

function itemNotFound(id: string, param = 'item_id'): Refusal {
  return { code: 'item_not_found', message: `Item '${id.slice(0, 64)}' not found.`, param };
}

/** All that is written in a message, without its audio. */
function toText(item: Item): string {
  return (item.content ?? [])
    .flatMap((part) => ('text' in part ? [part.text] : part.transcript === null ? [] : [part.transcript]))
    .join('\n')
    .slice(0, MAX_TEXT);
}

/** The item that a client sent. @returns what is wrong with it, if invalid */
function toItem(given: ClientItem, id: string): Item | string {
  const base = { id, type: given.type, status: 'completed' as const };
  if (given.type === 'function_call_output') {
    if (!given.call_id) return 'A function_call_output needs a call_id.';
    return { ...base, call_id: given.call_id, output: given.output ?? '' };
  }
  if (given.type === 'function_call') {
    return {
      ...base,
      name: given.name ?? '',
      call_id: given.call_id ?? id,
      arguments: given.arguments ?? '{}',
    };
  }
  if (given.type !== 'message') return base;
  const role = given.role === 'developer' ? 'system' : (given.role ?? 'user');
  const content = (given.content ?? []).flatMap((part) => toContentPart(part, role));
  if (content.length === 0 && (given.content ?? []).length === 0) return 'A message needs content.';
  return { ...base, role, content };
}

/** None for parts of kinds that are not known. */
function toContentPart(
  part: NonNullable<ClientItem['content']>[number],
  role: NonNullable<Item['role']>,
): ContentPart[] {
  if (role === 'assistant') {
    const text = part.text ?? part.transcript;
    return text == null ? [] : [{ type: 'output_text', text }];
  }
  if (part.type === 'input_audio') return [{ type: 'input_audio', transcript: part.transcript ?? null }];
  return part.text == null ? [] : [{ type: 'input_text', text: part.text }];
}
