import { randomBytes } from 'node:crypto';
import { bytesPerMs } from '@parley/shared/audio/audio-frame';
import type { CallEndReason } from '@parley/shared/contracts/session-values';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { Turn } from '@parley/shared/contracts/turn';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock, Timer } from '@parley/shared/time/clock';
import type { CallObserver, ReplyKind, ReplyTokens } from '../call/call-observer.ts';
import type { ClientTools } from '../call/call-tools.ts';
import type { Call } from '../call/call.ts';
import { parseBase64 } from '../carriers/base64.ts';
import { RealtimeParticipant } from '../participants/realtime-participant.ts';
import type { RealtimeOutlet } from '../participants/realtime-participant.ts';
import type { LlmTool, LlmToolCall } from '../providers/llm/llm-provider.ts';
import type { SttTranscript } from '../providers/stt/stt-provider.ts';
import { closeCodes } from '../server/close-codes.ts';
import type { Socket, SocketListener } from '../server/socket.ts';
import { parseClientEvent } from './client-events.ts';
import type { ClientEvent, ClientItem, EventFault, ResponseParams } from './client-events.ts';
import { ConversationItems, toWireItem } from './conversation-items.ts';
import type { ContentPart, Item } from './conversation-items.ts';
import { ServerResponse } from './server-response.ts';
import type { ResponseEnd, ServerEvent } from './server-response.ts';
import { InvalidSettingError, SessionSettings } from './session-settings.ts';
import { toAudioFormat } from './wire-format.ts';

/** While the plan is fetched: events that wait, and the caller audio in them (a second of 24 kHz PCM). */
const MAX_WAITING_EVENTS = 64;
const MAX_WAITING_BYTES = 1024 * 1024;
const MAX_WAITING_AUDIO_BYTES = 48_000;
const BASE64_TO_BYTES = 3 / 4;
/** A client whose events are wrong this often is not one of this protocol. */
const MAX_FAULTS = 100;
/** Caller audio may run this far ahead of the clock: clients may send what they recorded before. */
const MAX_AUDIO_AHEAD_MS = 300_000;
/** Without a word of the client for so long, nobody is there any more. */
const IDLE_MS = 15 * 60_000;
/** Push to talk and item audio: less is no utterance. */
const MIN_COMMIT_MS = 100;
const MAX_TEXT = 32_768;

type Event<T extends ClientEvent['type']> = Extract<ClientEvent, { type: T }>;

/** How a connection ended. */
export interface Departure {
  /** What it means for a session that has not begun. */
  end: CallEndReason;
  /** Without a goodbye: the client may come back. */
  lost: boolean;
}

const REFUSED: CallEndReason = { ended_by: 'system', failure_reason: 'rejected' };
const HUNG_UP: CallEndReason = { ended_by: 'caller', hangup_reason: 'caller_hangup' };
/** A limit of the socket was broken. */
const OUR_CLOSES: ReadonlySet<number> = new Set([
  closeCodes.badMessage,
  closeCodes.frameTooLarge,
  closeCodes.overloaded,
]);

/** A reply of the call, as far as it was told. */
interface ToldReply {
  id: number;
  text: string;
  silent: boolean;
  /** Stopped at the client; what was heard until then. */
  held: string | undefined;
}

/** A `response.create` that was taken and waits until the agent can begin. */
interface WaitingCreate {
  params: ResponseParams;
  /** `response.created` was sent; undefined while another response is open. */
  response: ServerResponse | undefined;
}

/**
 * One client of the OpenAI Realtime protocol (GA, over WebSocket) and the call it takes part in: client events become
 * what the call is to do, and what happens in the call becomes server events.
 *
 * What is stopped because the caller may be interrupting, and goes on because it was nothing, is told as two
 * responses: clients drop what they have not played when a voice is told, and play only new items from their start.
 */
export class RealtimeSession implements SocketListener, CallObserver, ClientTools, RealtimeOutlet {
  readonly #socket: Pick<Socket, 'send' | 'end' | 'bufferedBytes' | 'cork'>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #ids = randomBytes(9).toString('base64url');
  readonly #items = new ConversationItems();
  #nextId = 0;
  #faults = 0;

  #waiting: ClientEvent[] = [];
  #waitingBytes = 0;
  #waitingAudioBytes = 0;
  #closedWith: number | undefined;
  #departure: Departure | undefined;
  #over = false;
  #idleTimer: Timer | undefined;

  #plan: SessionPlan | undefined;
  #settings: SessionSettings | undefined;
  #participant: RealtimeParticipant | undefined;
  #call: Call | undefined;

  #reply: ToldReply | undefined;
  #response: ServerResponse | undefined;
  #create: WaitingCreate | undefined;
  #cancelling = false;
  /** The client added something since the last response began. */
  #somethingNew = false;

  /** The voice that is heard now, or the one that the next turn belongs to. */
  #speech: { itemId: string; startMs: number; told: boolean; delta: string } | undefined;
  /** Pushed audio that was committed and whose text is to come. */
  #pushed: { item: Item; audioMs: number } | undefined;
  #receivedMs = 0;
  #committedAtMs = 0;
  readonly #startedAt: number;

  constructor(deps: {
    socket: Pick<Socket, 'send' | 'end' | 'bufferedBytes' | 'cork'>;
    clock: Clock;
    logger: Logger;
  }) {
    this.#socket = deps.socket;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#startedAt = deps.clock.monotonic();
    this.#idleLater();
  }

  // ---- joining ----

  /**
   * The plan has come: the client is told its session, and what it has asked for meanwhile is in force.
   * @returns the far end for the call
   */
  open(plan: SessionPlan): RealtimeParticipant {
    const settings = new SessionSettings(plan, this.#clock.now());
    this.#plan = plan;
    this.#settings = settings;
    this.#participant = new RealtimeParticipant({
      inputFormat: toAudioFormat(settings.inputFormat),
      outputFormat: toAudioFormat(settings.outputFormat),
      outlet: this,
    });
    this.#socket.cork(() => {
      this.#send({ type: 'session.created', session: settings.toSession() });
      for (const turn of plan.history) this.#tellHistory(turn.role, turn.text);
      // What the client sets at once is to hold for the greeting.
      while (this.#waiting[0]?.type === 'session.update') this.#handle(this.#waiting.shift()!);
    });
    if (this.#closedWith !== undefined) this.#participant.leave(this.#closedWith);
    return this.#participant;
  }

  /** The call has begun. */
  join(call: Call): void {
    this.#call = call;
    const settings = this.#settings!;
    call.setTurnDetection(settings.turns);
    // Before the first word is spoken.
    if (settings.chosenVoice !== undefined) call.setVoice(settings.chosenVoice);
    for (const event of this.#waiting.splice(0)) this.#handle(event);
    this.#waitingBytes = this.#waitingAudioBytes = 0;
  }

  /** Not admitted, or no longer wanted: the client is told why before it is closed. Only before `join`. */
  refuse(closeCode: number, code: string, message: string): void {
    if (this.#over) return;
    this.#departure = { end: REFUSED, lost: false };
    this.#fault({ code, message, param: null, event_id: null }, 'invalid_request_error');
    this.#finish();
    this.#socket.end(closeCode, code);
  }

  /** Set once the connection is over. */
  get departure(): Departure | undefined {
    return this.#departure;
  }

  /** Answers are written until the client says otherwise. */
  get textOnly(): boolean {
    return this.#settings?.textOnly ?? false;
  }

  // ---- the socket ----

  onMessage(bytes: Uint8Array): void {
    if (this.#over) return;
    this.#idleLater();
    const parsed = parseClientEvent(bytes);
    if ('fault' in parsed) {
      this.#refuseEvent(parsed.fault);
      return;
    }
    if (this.#call) this.#handle(parsed.event);
    else this.#keep(parsed.event, bytes.length);
  }

  onClose(code: number): void {
    this.#departure = { end: OUR_CLOSES.has(code) ? REFUSED : HUNG_UP, lost: code === closeCodes.lost };
    this.#closedWith = code;
    this.#finish();
    this.#participant?.leave(code);
  }

  /** Events that come before the call begins wait for it; of audio only the newest second. */
  #keep(event: ClientEvent, bytes: number): void {
    if (event.type === 'input_audio_buffer.append') {
      this.#waiting.push(event);
      this.#waitingAudioBytes += event.audio.length * BASE64_TO_BYTES;
      while (this.#waitingAudioBytes > MAX_WAITING_AUDIO_BYTES) {
        const oldest = this.#waiting.find((known) => known.type === 'input_audio_buffer.append')!;
        // One piece may be longer than that: the participant keeps its end.
        if (oldest === event) break;
        this.#waiting.splice(this.#waiting.indexOf(oldest), 1);
        this.#waitingAudioBytes -= oldest.audio.length * BASE64_TO_BYTES;
      }
      return;
    }
    this.#waitingBytes += bytes;
    const others = this.#waiting.filter((known) => known.type !== 'input_audio_buffer.append').length;
    if (others >= MAX_WAITING_EVENTS || this.#waitingBytes > MAX_WAITING_BYTES) {
      this.refuse(closeCodes.overloaded, 'too_many_events', 'Too many events before the session began.');
      return;
    }
    this.#waiting.push(event);
  }

  #idleLater(): void {
    this.#idleTimer?.cancel();
    this.#idleTimer = this.#clock.setTimeout(() => {
      this.#call?.end({ ended_by: 'system', hangup_reason: 'silence' });
      if (!this.#call) this.refuse(closeCodes.done, 'idle', 'Nothing was heard for a long time.');
    }, IDLE_MS);
  }

  #finish(): void {
    this.#over = true;
    this.#idleTimer?.cancel();
    this.#waiting = [];
  }

  // ---- the participant ----

  onAgentAudio(bytes: Uint8Array, atMs: number): void {
    const from = { fromMs: atMs, fromWord: this.#wordsBefore() };
    (this.#response ?? this.#openResponse()).audio(bytes, from);
  }

  onClosed(code: number, reason: string): void {
    if (this.#over) return;
    this.#endOpen({ status: 'cancelled', reason: 'client_cancelled' });
    this.#finish();
    // Programs may connect again to another process after a restart, and try to.
    this.#socket.end(code === closeCodes.goingAway ? closeCodes.serviceRestart : code, reason);
  }

  bufferedBytes(): number {
    return this.#socket.bufferedBytes;
  }

  // ---- client events ----

  #handle(event: ClientEvent): void {
    if (this.#over) return;
    switch (event.type) {
      case 'session.update':
        this.#onSessionUpdate(event);
        break;
      case 'input_audio_buffer.append':
        this.#onAppend(event);
        break;
      case 'input_audio_buffer.commit':
        this.#onCommit(event);
        break;
      case 'input_audio_buffer.clear':
        this.#call?.clearCallerAudio();
        this.#committedAtMs = this.#receivedMs;
        this.#send({ type: 'input_audio_buffer.cleared' });
        break;
      case 'conversation.item.create':
        this.#onItemCreate(event);
        break;
      case 'conversation.item.retrieve': {
        const item = this.#items.get(event.item_id);
        if (item) this.#send({ type: 'conversation.item.retrieved', item: toWireItem(item) });
        else this.#unknownItem(event);
        break;
      }
      case 'conversation.item.delete': {
        const item = this.#items.remove(event.item_id);
        if (!item) {
          this.#unknownItem(event);
          break;
        }
        if (item.key !== undefined) this.#call?.forget(item.key);
        this.#send({ type: 'conversation.item.deleted', item_id: item.id });
        break;
      }
      case 'conversation.item.truncate':
        this.#onTruncate(event);
        break;
      case 'response.create':
        this.#onResponseCreate(event);
        break;
      case 'response.cancel':
        this.#onResponseCancel();
        break;
      case 'parley.dtmf':
        this.#onDtmf(event);
        break;
      case 'output_audio_buffer.clear':
        break;
    }
  }

  /** Keys count as a caller's of a telephone do; each is confirmed as the protocol tells keys of SIP calls. */
  #onDtmf({ digits }: Event<'parley.dtmf'>): void {
    for (const digit of digits) {
      this.#send({
        type: 'input_audio_buffer.dtmf_event_received',
        event: digit,
        received_at: Math.floor(this.#clock.now() / 1000),
      });
      this.#participant?.press(digit);
    }
  }

  #onSessionUpdate(event: Event<'session.update'>): void {
    const settings = this.#settings!;
    const { voice } = settings;
    try {
      settings.apply(event.session);
    } catch (error) {
      if (!(error instanceof InvalidSettingError)) throw error;
      this.#fault({
        code: 'invalid_value',
        message: error.message,
        param: error.param,
        event_id: event.event_id ?? null,
      });
      return;
    }
    this.#call?.setTurnDetection(settings.turns);
    this.#call?.setWritten(settings.textOnly);
    if (settings.voice !== voice) this.#call?.setVoice(settings.voice);
    this.#send({ type: 'session.updated', session: settings.toSession() });
  }

  #onAppend(event: Event<'input_audio_buffer.append'>): void {
    const bytes = parseBase64(event.audio);
    if (!bytes) {
      this.#refuseEvent({
        code: 'invalid_value',
        message: 'The audio is not base64.',
        param: 'audio',
        event_id: event.event_id ?? null,
      });
      return;
    }
    this.#hear(bytes);
  }

  #hear(bytes: Uint8Array): void {
    const format = toAudioFormat(this.#settings!.inputFormat);
    this.#receivedMs += bytes.length / bytesPerMs(format);
    if (this.#receivedMs - (this.#clock.monotonic() - this.#startedAt) > MAX_AUDIO_AHEAD_MS) {
      this.#fault({
        code: 'rate_limit_exceeded',
        message: 'Audio comes much faster than it can be heard.',
        param: null,
        event_id: null,
      });
      this.#call?.end({ ended_by: 'caller', hangup_reason: 'caller_hangup' });
      return;
    }
    this.#participant?.receive(bytes, format);
  }

  #onCommit(event: Event<'input_audio_buffer.commit'>): void {
    const audioMs = this.#receivedMs - this.#committedAtMs;
    const taken = this.#call?.commitCallerAudio() ?? false;
    if (audioMs < MIN_COMMIT_MS || (!taken && !this.#settings!.turns.listen)) {
      this.#fault({
        code: 'input_audio_buffer_commit_empty',
        message: 'There is not enough audio to commit: at least 100 ms are needed.',
        param: null,
        event_id: event.event_id ?? null,
      });
      return;
    }
    this.#committedAtMs = this.#receivedMs;
    // With turn detection, the turn is told when its words are known.
    if (!this.#settings!.turns.listen) this.#commitPushed(this.#newItemId(), audioMs);
  }

  /** Push to talk: the item is there at once, its words come later. */
  #commitPushed(itemId: string, audioMs: number): void {
    const item: Item = {
      id: itemId,
      type: 'message',
      status: 'completed',
      role: 'user',
      content: [{ type: 'input_audio', transcript: null }],
    };
    this.#pushed = { item, audioMs };
    this.#somethingNew = true;
    const previous = this.#items.append(item);
    this.#send({ type: 'input_audio_buffer.committed', item_id: itemId, previous_item_id: previous });
    this.#tellItem(item, previous);
  }

  #onItemCreate(event: Event<'conversation.item.create'>): void {
    const { item: given, previous_item_id: after } = event;
    const refuse = (code: string, message: string, param: string) =>
      this.#fault({ code, message, param, event_id: event.event_id ?? null });
    if (given.id && this.#items.get(given.id)) {
      refuse('invalid_value', 'There is an item with this id already.', 'item.id');
      return;
    }
    const previous = after === 'root' ? null : (after ?? undefined);
    if (typeof previous === 'string' && !this.#items.get(previous)) {
      refuse('item_not_found', 'There is no item with this id.', 'previous_item_id');
      return;
    }
    const item = this.#toItem(given);
    if (typeof item === 'string') {
      refuse('invalid_value', item, 'item');
      return;
    }
    const place = previous === undefined ? undefined : this.#items.keyAtOrBefore(previous);
    const text = (item.content ?? [])
      .flatMap((part) => ('text' in part ? [part.text] : part.transcript === null ? [] : [part.transcript]))
      .join('\n')
      .slice(0, MAX_TEXT);
    const audio = item.role === 'user' ? (given.content ?? []).find((part) => part.audio)?.audio : undefined;
    if (item.type === 'function_call_output') {
      if (!this.#call?.answerTool(item.call_id ?? '', item.output ?? '')) {
        refuse('invalid_value', 'No tool was called with this call_id, or it was answered.', 'item.call_id');
        return;
      }
      this.#somethingNew = true;
    } else if (item.role === 'user' && text !== '') {
      item.key = this.#call?.addCallerText(text, place);
      this.#somethingNew = true;
    } else if (item.role === 'user' && audio) {
      const bytes = parseBase64(audio);
      if (!bytes || this.#settings!.turns.listen) {
        refuse(
          'unsupported_content_type',
          'Recorded audio is taken as base64, and while turn_detection is null.',
          'item.content',
        );
        return;
      }
      this.#hear(bytes);
      this.#onPushedItem(item.id, event);
      return;
    } else if (item.role === 'assistant' && text !== '') {
      item.key = this.#call?.addAgentText(text, place);
    }
    // Instructions are the agent's own: system items are taken and change nothing.
    if (previous === undefined) this.#tellItem(item, this.#items.append(item));
    else {
      this.#items.insertAfter(item, previous);
      this.#tellItem(item, previous);
    }
  }

  #onPushedItem(itemId: string, event: { event_id?: string | undefined }): void {
    const audioMs = this.#receivedMs - this.#committedAtMs;
    if (this.#call?.commitCallerAudio()) {
      this.#committedAtMs = this.#receivedMs;
      this.#commitPushed(itemId, audioMs);
    } else {
      this.#fault({
        code: 'input_audio_buffer_commit_empty',
        message: 'There is not enough audio in the item: at least 100 ms are needed.',
        param: 'item.content',
        event_id: event.event_id ?? null,
      });
    }
  }

  /** @returns what is wrong with it, if something is */
  #toItem(given: ClientItem): Item | string {
    const id = given.id ?? this.#newItemId();
    const base = { id, type: given.type, status: 'completed' as const };
    if (given.type === 'function_call_output') {
      if (!given.call_id) return 'A function_call_output has a call_id.';
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
    const content: ContentPart[] = [];
    for (const part of given.content ?? []) {
      if (role === 'assistant') {
        const text = part.text ?? part.transcript;
        if (text != null) content.push({ type: 'output_text', text });
      } else if (part.type === 'input_audio') {
        content.push({ type: 'input_audio', transcript: part.transcript ?? null });
      } else if (part.text != null) content.push({ type: 'input_text', text: part.text });
    }
    if (content.length === 0 && (given.content ?? []).length === 0) return 'A message has content.';
    return { ...base, role, content };
  }

  #onTruncate(event: Event<'conversation.item.truncate'>): void {
    const item = this.#items.get(event.item_id);
    const { spoken } = item ?? {};
    // Clients truncate what they never heard of, or what has no sound: nothing is to be cut there.
    if (!item || !spoken) return;
    const heardMs = Math.max(0, Math.min(event.audio_end_ms, spoken.sentMs));
    const text = this.#call?.truncate(spoken.replyId, spoken.fromMs + heardMs);
    if (text !== undefined) this.#cutItem(item, text);
    this.#send({
      type: 'conversation.item.truncated',
      item_id: item.id,
      content_index: event.content_index,
      audio_end_ms: event.audio_end_ms,
    });
  }

  #onResponseCreate(event: Event<'response.create'>): void {
    const params = event.response ?? {};
    const refuse = (code: string, message: string, param: string | null) =>
      this.#fault({ code, message, param, event_id: event.event_id ?? null });
    if (params.conversation === 'none' || (params.input?.length ?? 0) > 0) {
      refuse('unsupported_parameter', 'Responses beside the conversation are not offered.', 'response');
      return;
    }
    if (this.#create || (this.#response && !this.#somethingNew)) {
      refuse(
        'conversation_already_has_active_response',
        'The conversation already has an active response: response.create can be sent after response.done.',
        null,
      );
      return;
    }
    this.#create = { params, response: undefined };
    // Something new came while another response is open: it is answered behind that one.
    if (!this.#response) this.#startCreate();
  }

  /** Begins what the client asked for, or as soon as what is being heard has ended. */
  #startCreate(): void {
    const create = this.#create!;
    this.#somethingNew = false;
    const silent = this.#isTextOnly(create.params);
    const taken = this.#call?.respond({ silent }) ?? false;
    if (this.#create !== create) return; // begun: `onReplyStarted` has taken it
    // The client is told at once that its turn has come, before anything is thought or heard.
    create.response ??= this.#response = this.#newResponse(silent, create.params);
    if (!taken && !this.#reply) {
      this.#create = undefined;
      this.#endOpen({ status: 'failed', code: 'session_ending', message: 'The session is ending.' });
    }
  }

  #onResponseCancel(): void {
    const create = this.#create;
    if (create && !this.#reply) {
      this.#create = undefined;
      this.#endOpen({ status: 'cancelled', reason: 'client_cancelled' });
      return;
    }
    this.#cancelling = true;
    this.#call?.interrupt();
    this.#cancelling = false;
  }

  // ---- the call ----

  onSpeechStarted(audioMs: number): void {
    this.#speech ??= {
      itemId: this.#newItemId(),
      startMs: Math.max(0, Math.round(audioMs - (this.#settings?.prefixPaddingMs ?? 0))),
      told: false,
      delta: '',
    };
    // A client that is told of a voice stops playing. While the agent is being heard that is for the call to decide.
    if (!this.#reply || this.#reply.silent || this.#reply.held !== undefined || !this.#isAudible())
      this.#tellSpeech();
  }

  onSpeechForgotten(audioMs: number): void {
    this.#speechStopped(audioMs);
    this.#speech = undefined;
  }

  onInterim(transcript: SttTranscript): void {
    const speech = this.#speech;
    const itemId = speech?.itemId;
    if (!speech || !itemId) return;
    // Deltas can not be taken back: only what goes on from what was told is told.
    const { text } = transcript;
    if (text.length <= speech.delta.length || !text.startsWith(speech.delta)) return;
    const delta = text.slice(speech.delta.length);
    speech.delta = text;
    this.#send({
      type: 'conversation.item.input_audio_transcription.delta',
      item_id: itemId,
      content_index: 0,
      delta,
    });
  }

  onCallerTurn({
    key,
    text,
    audioEndMs,
  }: {
    key: string | undefined;
    text: string;
    audioEndMs: number;
  }): void {
    const pushed = this.#pushed;
    this.#pushed = undefined;
    if (pushed) {
      pushed.item.key = key;
      pushed.item.content = [{ type: 'input_audio', transcript: text }];
      this.#tellTranscript(pushed.item.id, text, pushed.audioMs);
      return;
    }
    this.#tellTurn(key, text, audioEndMs);
  }

  onAside({ text, audioEndMs }: { text: string; audioEndMs: number }): void {
    this.#tellTurn(undefined, text, audioEndMs);
  }

  onReplyStarted({ id, silent }: { id: number; key: string; kind: ReplyKind; silent: boolean }): void {
    this.#reply = { id, text: '', silent, held: undefined };
    const create = this.#create;
    this.#create = undefined;
    this.#response ??= this.#newResponse(silent, create?.params ?? {});
    this.#response.replyId = id;
    if (!create) this.#somethingNew = false;
  }

  onReplyText({ id, delta }: { id: number; delta: string }): void {
    const reply = this.#reply;
    if (reply?.id !== id) return;
    reply.text += delta;
    if (reply.held === undefined) this.#response?.text(delta, { fromMs: 0, fromWord: this.#wordsBefore() });
  }

  onReplyHeld({ id, text }: { id: number; text: string }): void {
    const reply = this.#reply;
    if (reply?.id !== id) return;
    reply.held = text;
    this.#tellSpeech();
    this.#cutReply(id, text);
    this.#response?.finish(
      { status: 'cancelled', reason: 'turn_detected' },
      { heard: this.#wordsFrom(text, this.#response.message) },
    );
    this.#response = undefined;
  }

  onReplyResumed({ id }: { id: number }): void {
    const reply = this.#reply;
    if (reply?.id !== id || reply.held === undefined) return;
    const heard = toWords(reply.held).length;
    reply.held = undefined;
    const response = this.#openResponse();
    const rest = toWords(reply.text).slice(heard).join(' ');
    response.text(rest, { fromMs: 0, fromWord: heard });
  }

  onReplySent({ id, tokens }: { id: number; tokens: ReplyTokens }): void {
    if (this.#response?.replyId !== id) return;
    this.#response.finish({ status: 'completed' }, { tokens });
    this.#response = undefined;
  }

  onReplyEnded(ended: {
    id: number;
    status: 'completed' | 'interrupted' | 'failed';
    text: string;
    code: string | undefined;
    tokens: ReplyTokens;
  }): void {
    const { id, status, text, tokens } = ended;
    if (this.#reply?.id !== id) return;
    this.#reply = undefined;
    const response = this.#response?.replyId === id ? this.#response : undefined;
    if (status !== 'completed') this.#cutReply(id, text);
    if (response) {
      this.#response = undefined;
      const heard = status === 'completed' ? undefined : this.#wordsFrom(text, response.message);
      response.finish(this.#toEnd(status, ended.code), { heard, tokens });
    }
    if (!this.#create) return;
    if (status === 'interrupted') {
      // Somebody speaks: the turn that follows is answered, with all that is new.
      const create = this.#create;
      this.#create = undefined;
      create.response ??= this.#newResponse(false, create.params);
      create.response.finish(this.#toEnd(status, undefined));
      if (this.#response === create.response) this.#response = undefined;
      return;
    }
    // The call is in the middle of something else just now.
    queueMicrotask(() => {
      if (!this.#over && this.#create && !this.#reply) this.#startCreate();
    });
  }

  #toEnd(status: 'completed' | 'interrupted' | 'failed', code: string | undefined): ResponseEnd {
    if (status === 'completed') return { status };
    if (status === 'interrupted')
      return { status: 'cancelled', reason: this.#cancelling ? 'client_cancelled' : 'turn_detected' };
    return {
      status: 'failed',
      code: code ?? 'internal',
      message: 'The agent could not answer: a part of it failed.',
    };
  }

  // ---- tools of the client ----

  list(): readonly LlmTool[] {
    return this.#settings?.tools ?? [];
  }

  begin(call: LlmToolCall): void {
    this.#response?.functionCall(call);
  }

  // ---- inside ----

  #newResponse(textOnly: boolean, params: ResponseParams): ServerResponse {
    const settings = this.#settings!;
    return new ServerResponse({
      id: `resp_${this.#newId()}`,
      conversationId: `conv_${this.#plan!.session_id}`,
      items: this.#items,
      send: (event) => this.#send(event),
      newItemId: () => this.#newItemId(),
      format: settings.outputFormat,
      callFormat: this.#participant!.outputFormat,
      voice: settings.voice,
      textOnly,
      maxOutputTokens: this.#plan!.agent.config.llm.max_output_tokens,
      metadata: params.metadata ?? null,
    });
  }

  /** For a reply that goes on. */
  #openResponse(): ServerResponse {
    this.#response = this.#newResponse(this.#reply?.silent ?? false, {});
    this.#response.replyId = this.#reply?.id;
    return this.#response;
  }

  #isTextOnly(params: ResponseParams): boolean {
    const modalities = params.output_modalities;
    if (!modalities) return this.textOnly;
    return modalities.includes('text') && !modalities.includes('audio');
  }

  /** Ends whatever response is open, for good. */
  #endOpen(end: ResponseEnd): void {
    this.#response?.finish(end);
    this.#response = undefined;
  }

  /** Some of the reply was sent. */
  #isAudible(): boolean {
    return this.#items.ofReply(this.#reply?.id ?? -1).some((item) => item.spoken!.sentMs > 0);
  }

  /** How many words of the reply belong to items before the one that is told now. */
  #wordsBefore(): number {
    const items = this.#items.ofReply(this.#reply?.id ?? -1).filter((item) => item.status !== 'in_progress');
    return items.reduce((words, item) => words + toWords(textOf(item)).length, 0);
  }

  /** Of the words of a reply, those that belong to one of its items. */
  #wordsFrom(text: string, item: Item | undefined): string {
    return toWords(text)
      .slice(item?.spoken?.fromWord ?? 0)
      .join(' ');
  }

  /** The last words of a reply that were told as spoken were not heard. */
  #cutReply(replyId: number, heard: string): void {
    const last = this.#items.ofReply(replyId).at(-1);
    if (last && last.status !== 'in_progress') this.#cutItem(last, heard);
  }

  #cutItem(item: Item, heard: string): void {
    const text = this.#wordsFrom(heard, item);
    if (item.content?.[0]?.type === 'output_text') return; // written: it was read
    item.status = 'incomplete';
    item.content = [{ type: 'output_audio', transcript: text }];
  }

  #tellSpeech(): void {
    const speech = this.#speech;
    if (!speech || speech.told) return;
    speech.told = true;
    this.#send({
      type: 'input_audio_buffer.speech_started',
      audio_start_ms: speech.startMs,
      item_id: speech.itemId,
    });
  }

  #speechStopped(audioMs: number): void {
    const speech = this.#speech;
    if (!speech?.told) return;
    this.#send({
      type: 'input_audio_buffer.speech_stopped',
      audio_end_ms: Math.max(speech.startMs, Math.round(audioMs)),
      item_id: speech.itemId,
    });
  }

  #tellTurn(key: string | undefined, text: string, audioEndMs: number): void {
    this.#speechStopped(audioEndMs);
    const item: Item = {
      id: this.#speech?.itemId ?? this.#newItemId(),
      type: 'message',
      status: 'completed',
      role: 'user',
      content: [{ type: 'input_audio', transcript: null }],
      key,
    };
    const seconds = audioEndMs - (this.#speech?.startMs ?? audioEndMs);
    this.#speech = undefined;
    this.#committedAtMs = this.#receivedMs;
    const previous = this.#items.append(item);
    this.#send({ type: 'input_audio_buffer.committed', item_id: item.id, previous_item_id: previous });
    this.#tellItem(item, previous);
    item.content = [{ type: 'input_audio', transcript: text }];
    this.#tellTranscript(item.id, text, seconds);
  }

  #tellTranscript(itemId: string, transcript: string, audioMs: number): void {
    this.#send({
      type: 'conversation.item.input_audio_transcription.completed',
      item_id: itemId,
      content_index: 0,
      transcript,
      usage: { type: 'duration', seconds: Math.max(0, audioMs) / 1000 },
    });
  }

  #tellItem(item: Item, previous: string | null): void {
    const told = { previous_item_id: previous, item: toWireItem(item) };
    this.#send({ type: 'conversation.item.added', ...told });
    this.#send({ type: 'conversation.item.done', ...told });
  }

  /** What was said before the client came back. */
  #tellHistory(role: Turn['role'], text: string): void {
    const item: Item = {
      id: this.#newItemId(),
      type: 'message',
      status: 'completed',
      role: role === 'caller' ? 'user' : 'assistant',
      content: [role === 'caller' ? { type: 'input_text', text } : { type: 'output_text', text }],
    };
    this.#tellItem(item, this.#items.append(item));
  }

  #unknownItem(event: { item_id: string; event_id?: string | undefined }): void {
    this.#fault({
      code: 'item_not_found',
      message: `There is no item '${event.item_id.slice(0, 64)}'.`,
      param: 'item_id',
      event_id: event.event_id ?? null,
    });
  }

  /** An event that no client of the protocol sends. */
  #refuseEvent(fault: EventFault): void {
    this.#fault(fault);
    if (++this.#faults < MAX_FAULTS) return;
    this.#logger.info({ code: fault.code }, 'realtime client sends what is not understood');
    if (this.#call) {
      this.#participant?.leave(closeCodes.badMessage);
      this.#finish();
      this.#socket.end(closeCodes.badMessage, 'too_many_faults');
    } else this.refuse(closeCodes.badMessage, 'too_many_faults', 'Too many events were not understood.');
  }

  #fault(fault: EventFault, type = 'invalid_request_error'): void {
    this.#send({ type: 'error', error: { type, ...fault } });
  }

  #send(event: ServerEvent): void {
    if (this.#over) return;
    const { type, ...rest } = event;
    this.#socket.send(JSON.stringify({ type, event_id: `event_${this.#newId()}`, ...rest }));
  }

  #newItemId(): string {
    return `item_${this.#newId()}`;
  }

  #newId(): string {
    return `${this.#ids}${(this.#nextId++).toString(36)}`;
  }
}

function toWords(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}

function textOf(item: Item): string {
  const part = item.content?.[0];
  if (!part) return '';
  return 'text' in part ? part.text : (part.transcript ?? '');
}
