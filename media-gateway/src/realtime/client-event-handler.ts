import type { Clock } from '@parley/shared/time/clock';
import type { CallSteering } from '../call/call.ts';
import { parseBase64 } from '../carriers/base64.ts';
import type { RealtimeParticipant } from '../participants/realtime-participant.ts';
import type { AgentResponses } from './agent-responses.ts';
import type { CallerAudio } from './caller-audio.ts';
import type { ClientEvent, EventFault } from './client-events.ts';
import type { ConversationItems } from './conversation-items.ts';
import type { EventSender } from './event-sender.ts';
import { ItemEditor } from './item-editor.ts';
import { InvalidSettingError } from './session-settings.ts';
import type { SessionSettings } from './session-settings.ts';

type Event<T extends ClientEvent['type']> = Extract<ClientEvent, { type: T }>;

/** Carries out client events on the call. */
export class ClientEventHandler {
  readonly #call: CallSteering;
  readonly #settings: SessionSettings;
  readonly #participant: Pick<RealtimeParticipant, 'press'>;
  readonly #audio: CallerAudio;
  readonly #responses: AgentResponses;
  readonly #editor: ItemEditor;
  readonly #events: EventSender;
  readonly #clock: Clock;

  constructor(deps: {
    call: CallSteering;
    settings: SessionSettings;
    participant: Pick<RealtimeParticipant, 'press'>;
    items: ConversationItems;
    audio: CallerAudio;
    responses: AgentResponses;
    events: EventSender;
    clock: Clock;
  }) {
    this.#call = deps.call;
    this.#settings = deps.settings;
    this.#participant = deps.participant;
    this.#audio = deps.audio;
    this.#responses = deps.responses;
    this.#editor = new ItemEditor(deps);
    this.#events = deps.events;
    this.#clock = deps.clock;
  }

  /** @returns what is wrong with an event that no client of the protocol sends */
  handle(event: ClientEvent): EventFault | undefined {
    switch (event.type) {
      case 'input_audio_buffer.append':
        return this.#append(event);
      case 'input_audio_buffer.commit':
        this.#commit(event);
        break;
      case 'input_audio_buffer.clear':
        this.#audio.clear(this.#call);
        break;
      case 'session.update':
        updateSession(event, this.#settings, this.#events, this.#call);
        break;
      case 'conversation.item.create':
        this.#answer(event, this.#editor.create(event));
        break;
      case 'conversation.item.retrieve':
        this.#answer(event, this.#editor.retrieve(event));
        break;
      case 'conversation.item.delete':
        this.#answer(event, this.#editor.delete(event));
        break;
      case 'conversation.item.truncate':
        this.#editor.truncate(event);
        break;
      case 'response.create':
        this.#answer(event, this.#responses.create(event.response ?? {}, this.#call));
        break;
      case 'response.cancel':
        this.#responses.cancel(this.#call);
        break;
      case 'parley.dtmf':
        this.#press(event);
        break;
      case 'output_audio_buffer.clear':
        break;
    }
    return undefined;
  }

  #append(event: Event<'input_audio_buffer.append'>): EventFault | undefined {
    const bytes = parseBase64(event.audio);
    if (bytes) {
      this.#audio.append(bytes, this.#call);
      return undefined;
    }
    return {
      code: 'invalid_value',
      message: 'The audio is not valid base64.',
      param: 'audio',
      event_id: event.event_id ?? null,
    };
  }

  #commit(event: Event<'input_audio_buffer.commit'>): void {
    if (this.#audio.commit(this.#call)) {
      if (!this.#settings.turns.listen) this.#responses.noteInput();
      return;
    }
    this.#answer(event, {
      code: 'input_audio_buffer_commit_empty',
      message: 'The input audio buffer is too small to commit: at least 100 ms are needed.',
      param: null,
    });
  }

  /** Keys count as a caller's of a telephone do; each is confirmed as the protocol does for keys of SIP calls. */
  #press({ digits }: Event<'parley.dtmf'>): void {
    for (const digit of digits) {
      this.#events.send({
        type: 'input_audio_buffer.dtmf_event_received',
        event: digit,
        received_at: Math.floor(this.#clock.now() / 1000),
      });
      this.#participant.press(digit);
    }
  }

  /** Answers an event that was refused, if it was. */
  #answer(event: { event_id?: string | undefined }, refusal: Omit<EventFault, 'event_id'> | undefined): void {
    if (refusal) this.#events.error({ ...refusal, event_id: event.event_id ?? null });
  }
}

/** Puts settings of the client in force. @param call undefined before it has begun */
export function updateSession(
  event: Event<'session.update'>,
  settings: SessionSettings,
  events: EventSender,
  call: CallSteering | undefined,
): void {
  const { voice } = settings;
  try {
    settings.apply(event.session);
  } catch (error) {
    if (!(error instanceof InvalidSettingError)) throw error;
    events.error({
      code: 'invalid_value',
      message: error.message,
      param: error.param,
      event_id: event.event_id ?? null,
    });
    return;
  }
  call?.setTurnDetection(settings.turns);
  call?.setTextOnly(settings.textOnly);
  if (settings.voice !== voice) call?.setVoice(settings.voice);
  events.send({ type: 'session.updated', session: settings.toSession() });
}
