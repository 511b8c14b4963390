import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { ReplyTokens } from '../speech/reply-observer.ts';
import type { CallSteering } from '../call/call.ts';
import type { LlmToolCall } from '../providers/llm/llm-provider.ts';
import type { EventFault, ResponseParams } from './client-events.ts';
import type { ConversationItems } from './conversation-items.ts';
import type { EventSender } from './event-sender.ts';
import { ServerResponse } from './server-response.ts';
import type { ResponseEnd } from './server-response.ts';
import type { SessionSettings } from './session-settings.ts';
import { cutReply, isAudible, toWords, wordsBefore, wordsOf } from './spoken-items.ts';

/** The reply of the call that is being thought or said. */
interface CurrentReply {
  id: number;
  /** Words of the reply so far. */
  text: string;
  textOnly: boolean;
  /** What was heard of a reply that is held; undefined when it is not held. */
  held: string | undefined;
}

/** A `response.create` that was taken and waits until the agent can begin. */
interface WaitingCreate {
  params: ResponseParams;
  call: CallSteering;
  /** `response.created` was sent; undefined while another response is open. */
  response: ServerResponse | undefined;
}

/** How a reply ended. `text`: what was heard of it. */
interface ReplyEnd {
  id: number;
  status: 'completed' | 'interrupted' | 'failed';
  text: string;
  code: string | undefined;
  tokens: ReplyTokens;
}

/**
 * What the agent says, as the protocol has it: responses. The agent begins them by itself or because the client asks
 * for one; one is open at a time.
 *
 * What is stopped because the caller may be interrupting, and goes on because it was nothing, becomes two responses:
 * clients drop what they have not played when a voice is announced, and play only new items from their start.
 */
export class AgentResponses {
  readonly #plan: SessionPlan;
  readonly #settings: SessionSettings;
  readonly #items: ConversationItems;
  readonly #events: EventSender;
  readonly #callFormat: AudioFormat;
  #reply: CurrentReply | undefined;
  #response: ServerResponse | undefined;
  #create: WaitingCreate | undefined;
  #cancelling = false;
  /** The client added something since the last response began. */
  #hasNewInput = false;

  constructor(deps: {
    plan: SessionPlan;
    settings: SessionSettings;
    items: ConversationItems;
    events: EventSender;
    /** What `audio` is given. */
    callFormat: AudioFormat;
  }) {
    this.#plan = deps.plan;
    this.#settings = deps.settings;
    this.#items = deps.items;
    this.#events = deps.events;
    this.#callFormat = deps.callFormat;
  }

  // ---- from the client ----

  /** The client added something that may be answered. */
  noteInput(): void {
    this.#hasNewInput = true;
  }

  /** Takes a `response.create`. @returns the refusal, if refused */
  create(params: ResponseParams, call: CallSteering): Omit<EventFault, 'event_id'> | undefined {
    if (params.conversation === 'none' || (params.input?.length ?? 0) > 0) {
      return {
        code: 'unsupported_parameter',
        message: 'Out-of-band responses (conversation "none", or input) are not supported.',
        param: 'response',
      };
    }
    if (this.#create || (this.#response && !this.#hasNewInput)) {
      return {
        code: 'conversation_already_has_active_response',
        message:
          'The conversation already has an active response. Send response.create after its response.done.',
        param: null,
      };
    }
    const create: WaitingCreate = { params, call, response: undefined };
    this.#create = create;
    // New input came while another response is open: it is answered after that response.
    if (!this.#response) this.#start(create);
    return undefined;
  }

  cancel(call: CallSteering): void {
    if (this.#create && !this.#reply) {
      this.#create = undefined;
      this.#finish({ status: 'cancelled', reason: 'client_cancelled' });
      return;
    }
    this.#cancelling = true;
    call.interrupt();
    this.#cancelling = false;
  }

  // ---- from the call ----

  /** Whether the client is playing the agent: what is announced to it then stops it. */
  get isPlaying(): boolean {
    const reply = this.#reply;
    return !!reply && !reply.textOnly && reply.held === undefined && isAudible(this.#items, reply.id);
  }

  isCurrent(replyId: number): boolean {
    return this.#reply?.id === replyId;
  }

  /** @param bytes in the call's format @param atMs where in the reply they belong */
  audio(bytes: Uint8Array, atMs: number): void {
    const from = { fromMs: atMs, fromWord: this.#wordsBefore() };
    (this.#response ?? this.#open()).audio(bytes, from);
  }

  /** A tool that the client is to run. */
  functionCall(call: LlmToolCall): void {
    this.#response?.functionCall(call);
  }

  started({ id, textOnly }: { id: number; textOnly: boolean }): void {
    this.#reply = { id, text: '', textOnly, held: undefined };
    const create = this.#create;
    this.#create = undefined;
    this.#response ??= this.#new(textOnly, create?.params ?? {});
    this.#response.replyId = id;
    if (!create) this.#hasNewInput = false;
  }

  text({ id, delta }: { id: number; delta: string }): void {
    const reply = this.#reply;
    if (reply?.id !== id) return;
    reply.text += delta;
    if (reply.held === undefined) this.#response?.text(delta, { fromMs: 0, fromWord: this.#wordsBefore() });
  }

  /** @param heard what was heard of the reply until it was stopped */
  held(id: number, heard: string): void {
    const reply = this.#reply;
    if (reply?.id !== id) return;
    reply.held = heard;
    cutReply(this.#items, id, heard);
    const response = this.#response;
    this.#response = undefined;
    response?.finish(
      { status: 'cancelled', reason: 'turn_detected' },
      { heard: wordsOf(response.message, heard) },
    );
  }

  resumed(id: number): void {
    const reply = this.#reply;
    if (reply?.id !== id || reply.held === undefined) return;
    const heard = toWords(reply.held).length;
    reply.held = undefined;
    const rest = toWords(reply.text).slice(heard).join(' ');
    this.#open().text(rest, { fromMs: 0, fromWord: heard });
  }

  sent({ id, tokens }: { id: number; tokens: ReplyTokens }): void {
    if (this.#response?.replyId === id) this.#finish({ status: 'completed' }, { tokens });
  }

  ended(ended: ReplyEnd): void {
    const { id, status, text, tokens } = ended;
    if (this.#reply?.id !== id) return;
    this.#reply = undefined;
    if (status !== 'completed') cutReply(this.#items, id, text);
    const response = this.#response;
    if (response?.replyId === id) {
      const heard = status === 'completed' ? undefined : wordsOf(response.message, text);
      this.#finish(this.#toEnd(status, ended.code), { heard, tokens });
    }
    const create = this.#create;
    if (!create) return;
    if (status === 'interrupted') this.#interrupt(create);
    // The call cannot respond at this moment.
    else queueMicrotask(() => this.#create === create && !this.#reply && this.#start(create));
  }

  /** Ends all responses: the connection is over. */
  close(): void {
    this.#create = undefined;
    this.#finish({ status: 'cancelled', reason: 'client_cancelled' });
  }

  // ---- inside ----

  /** Begins what the client asked for, or as soon as what is being heard has ended. */
  #start(create: WaitingCreate): void {
    this.#hasNewInput = false;
    const textOnly = this.#isTextOnly(create.params);
    const taken = create.call.respond({ textOnly });
    if (this.#create !== create) return; // begun: `started` has taken it
    // The client learns at once that its turn has come, before anything is thought or heard.
    create.response ??= this.#response = this.#new(textOnly, create.params);
    if (!taken && !this.#reply) {
      this.#create = undefined;
      this.#finish({ status: 'failed', code: 'session_ending', message: 'The session is ending.' });
    }
  }

  /** The caller speaks: the answer to the turn that follows covers everything new. */
  #interrupt(create: WaitingCreate): void {
    this.#create = undefined;
    create.response ??= this.#new(false, create.params);
    create.response.finish(this.#toEnd('interrupted', undefined));
    if (this.#response === create.response) this.#response = undefined;
  }

  #finish(end: ResponseEnd, options?: Parameters<ServerResponse['finish']>[1]): void {
    const response = this.#response;
    this.#response = undefined;
    response?.finish(end, options);
  }

  #toEnd(status: ReplyEnd['status'], code: string | undefined): ResponseEnd {
    if (status === 'completed') return { status };
    if (status === 'interrupted')
      return { status: 'cancelled', reason: this.#cancelling ? 'client_cancelled' : 'turn_detected' };
    return {
      status: 'failed',
      code: code ?? 'internal',
      message: 'The agent failed to respond. Send response.create to try again.',
    };
  }

  /** The response of a reply that resumes. */
  #open(): ServerResponse {
    const response = this.#new(this.#reply?.textOnly ?? false, {});
    response.replyId = this.#reply?.id;
    this.#response = response;
    return response;
  }

  #new(textOnly: boolean, params: ResponseParams): ServerResponse {
    return new ServerResponse({
      events: this.#events,
      conversationId: `conv_${this.#plan.session_id}`,
      items: this.#items,
      output: { format: this.#settings.outputFormat, voice: this.#settings.voice },
      callFormat: this.#callFormat,
      textOnly,
      maxOutputTokens: this.#plan.agent.config.llm.max_output_tokens,
      metadata: params.metadata ?? null,
    });
  }

  #isTextOnly(params: ResponseParams): boolean {
    const modalities = params.output_modalities;
    if (!modalities) return this.#settings.textOnly;
    return modalities.includes('text') && !modalities.includes('audio');
  }

  #wordsBefore(): number {
    return this.#reply ? wordsBefore(this.#items, this.#reply.id) : 0;
  }
}
