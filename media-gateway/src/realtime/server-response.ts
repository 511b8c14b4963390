import { bytesPerMs, type AudioFormat } from '@parley/shared/audio/audio-frame';
import { AudioConverter } from '@parley/shared/audio/convert';
import type { LlmToolCall } from '../providers/llm/llm-provider.ts';
import { encodeBase64 } from '../carriers/base64.ts';
import type { ReplyTokens } from '../speech/reply-observer.ts';
import { toWireItem } from './conversation-items.ts';
import type { ConversationItems, Item } from './conversation-items.ts';
import type { EventSender } from './event-sender.ts';
import { toAudioFormat } from './wire-format.ts';
import type { WireFormat } from './wire-format.ts';

export type ResponseEnd =
  | { status: 'completed' }
  | { status: 'cancelled'; reason: 'turn_detected' | 'client_cancelled' }
  | { status: 'failed'; code: string; message: string };

/** What a response needs of the session around it. */
export interface ResponseDeps {
  events: EventSender;
  items: ConversationItems;
  conversationId: string;
  /** As the client gets it. */
  output: { format: WireFormat; voice: string };
  /** What `audio` is given. */
  callFormat: AudioFormat;
  /** Text only: no voice speaks it. */
  textOnly: boolean;
  maxOutputTokens: number;
  metadata: object | null;
}

/**
 * Server events of one response, from `response.created` to `response.done`, in the order that clients rely on. One message with
 * all that is said, and an item for each tool the client is to run.
 */
export class ServerResponse {
  readonly id: string;
  /** The call's reply behind it, once there is one. */
  replyId: number | undefined;
  readonly textOnly: boolean;
  readonly #deps: ResponseDeps;
  readonly #output: Item[] = [];
  readonly #converter: AudioConverter;
  readonly #bytesPerMs: number;
  #message: Item | undefined;
  /** All text of the message that was sent. */
  #text = '';
  #audioSent = false;
  #done = false;

  constructor(deps: ResponseDeps) {
    this.id = deps.events.newId('resp');
    this.textOnly = deps.textOnly;
    this.#deps = deps;
    const format = toAudioFormat(deps.output.format);
    this.#converter = new AudioConverter(deps.callFormat, format);
    this.#bytesPerMs = bytesPerMs(format);
    deps.events.send({ type: 'response.created', ...this.#response('in_progress', null, null) });
  }

  /** What is said in it; undefined before the first word. */
  get message(): Item | undefined {
    return this.#message;
  }

  text(delta: string, from: { fromMs: number; fromWord: number }): void {
    if (this.#done || delta === '') return;
    const message = this.#openMessage(from);
    this.#text += delta;
    const type = this.textOnly ? 'response.output_text.delta' : 'response.output_audio_transcript.delta';
    this.#deps.events.send({ type, ...this.#place(message), delta });
  }

  /** @param bytes in the call's format */
  audio(bytes: Uint8Array, from: { fromMs: number; fromWord: number }): void {
    if (this.#done) return;
    const message = this.#openMessage(from);
    if (!this.#audioSent) message.spoken!.fromMs = from.fromMs;
    this.#audioSent = true;
    this.#delta(message, this.#converter.convert(bytes));
  }

  /** A tool that the client is to run. */
  functionCall(call: LlmToolCall): void {
    if (this.#done) return;
    const item: Item = {
      id: this.#deps.events.newId('item'),
      type: 'function_call',
      status: 'in_progress',
      name: call.name,
      call_id: call.id,
      arguments: '',
    };
    const place = this.#addItem(item);
    const about = { response_id: this.id, item_id: item.id, output_index: place, call_id: call.id };
    this.#deps.events.send({
      type: 'response.function_call_arguments.delta',
      ...about,
      delta: call.arguments,
    });
    this.#deps.events.send({
      type: 'response.function_call_arguments.done',
      ...about,
      name: call.name,
      arguments: call.arguments,
    });
    item.status = 'completed';
    item.arguments = call.arguments;
    this.#itemDone(item);
  }

  /**
   * Ends the response, once.
   * @param heard how much of its words was heard, where that is not all
   */
  finish(
    end: ResponseEnd,
    options: { heard?: string | undefined; tokens?: ReplyTokens | undefined } = {},
  ): void {
    if (this.#done) return;
    const message = this.#message;
    if (message) {
      if (end.status === 'completed') this.#delta(message, this.#converter.flush());
      this.#closeMessage(message, end, options.heard);
    }
    this.#done = true;
    this.#deps.events.send({
      type: 'response.done',
      ...this.#response(end.status, toStatusDetails(end), options.tokens ?? null),
    });
  }

  #delta(message: Item, bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    message.spoken!.sentMs += bytes.length / this.#bytesPerMs;
    this.#deps.events.send({
      type: 'response.output_audio.delta',
      ...this.#place(message),
      delta: encodeBase64(bytes),
    });
  }

  #openMessage(from: { fromMs: number; fromWord: number }): Item {
    if (this.#message) return this.#message;
    const message: Item = {
      id: this.#deps.events.newId('item'),
      type: 'message',
      status: 'in_progress',
      role: 'assistant',
      content: [],
      key: this.replyId === undefined ? undefined : `reply:${this.replyId}`,
      spoken: { replyId: this.replyId ?? -1, sentMs: 0, ...from },
    };
    this.#message = message;
    this.#addItem(message);
    this.#deps.events.send({
      type: 'response.content_part.added',
      ...this.#place(message),
      part: this.#part(''),
    });
    return message;
  }

  #closeMessage(message: Item, end: ResponseEnd, heard: string | undefined): void {
    const text = heard ?? this.#text.trim();
    message.status = end.status === 'completed' ? 'completed' : 'incomplete';
    message.content = [
      this.textOnly ? { type: 'output_text', text } : { type: 'output_audio', transcript: text },
    ];
    const place = this.#place(message);
    if (this.textOnly) {
      this.#deps.events.send({ type: 'response.output_text.done', ...place, text });
    } else {
      this.#deps.events.send({ type: 'response.output_audio.done', ...place });
      this.#deps.events.send({ type: 'response.output_audio_transcript.done', ...place, transcript: text });
    }
    this.#deps.events.send({ type: 'response.content_part.done', ...place, part: this.#part(text) });
    this.#itemDone(message);
  }

  /** @returns its place in the output */
  #addItem(item: Item): number {
    const place = this.#output.push(item) - 1;
    const previous = this.#deps.items.append(item);
    this.#deps.events.send({
      type: 'response.output_item.added',
      response_id: this.id,
      output_index: place,
      item: toWireItem(item),
    });
    this.#deps.events.send({
      type: 'conversation.item.added',
      previous_item_id: previous,
      item: toWireItem(item),
    });
    return place;
  }

  #itemDone(item: Item): void {
    this.#deps.events.send({
      type: 'response.output_item.done',
      response_id: this.id,
      output_index: this.#output.indexOf(item),
      item: toWireItem(item),
    });
    const previous = this.#deps.items.before(item);
    this.#deps.events.send({
      type: 'conversation.item.done',
      previous_item_id: previous,
      item: toWireItem(item),
    });
  }

  #place(message: Item): {
    response_id: string;
    item_id: string;
    output_index: number;
    content_index: number;
  } {
    return {
      response_id: this.id,
      item_id: message.id,
      output_index: this.#output.indexOf(message),
      content_index: 0,
    };
  }

  /** Content parts have names of their own in these events. */
  #part(text: string): object {
    return this.textOnly ? { type: 'text', text } : { type: 'audio', transcript: text };
  }

  #response(status: string, details: object | null, tokens: ReplyTokens | null): { response: object } {
    const { conversationId, output, maxOutputTokens, metadata } = this.#deps;
    return {
      response: {
        id: this.id,
        object: 'realtime.response',
        status,
        status_details: details,
        output: status === 'in_progress' ? [] : this.#output.map(toWireItem),
        conversation_id: conversationId,
        output_modalities: [this.textOnly ? 'text' : 'audio'],
        max_output_tokens: maxOutputTokens,
        audio: { output },
        metadata,
        usage: tokens && {
          total_tokens: tokens.input + tokens.output,
          input_tokens: tokens.input,
          output_tokens: tokens.output,
          input_token_details: { text_tokens: tokens.input, audio_tokens: 0, cached_tokens: 0 },
          output_token_details: { text_tokens: tokens.output, audio_tokens: 0 },
        },
      },
    };
  }
}

function toStatusDetails(end: ResponseEnd): object | null {
  if (end.status === 'completed') return null;
  if (end.status === 'cancelled') return { type: 'cancelled', reason: end.reason };
  return {
    type: 'failed',
    error: { type: 'server_error', code: end.code, message: end.message },
  };
}
