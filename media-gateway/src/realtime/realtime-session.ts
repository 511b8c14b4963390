import type { CallEndReason } from '@parley/shared/contracts/session-values';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock, Timer } from '@parley/shared/time/clock';
import type { CallSteering } from '../call/call.ts';
import { RealtimeParticipant } from '../participants/realtime-participant.ts';
import type { RealtimeOutlet } from '../participants/realtime-participant.ts';
import { closeCodes } from '../server/close-codes.ts';
import type { SocketListener } from '../server/socket.ts';
import { AgentResponses } from './agent-responses.ts';
import { CallEvents } from './call-events.ts';
import { CallerAudio } from './caller-audio.ts';
import { ClientEventHandler, updateSession } from './client-event-handler.ts';
import { parseClientEvent } from './client-events.ts';
import type { ClientEvent, EventFault } from './client-events.ts';
import { ConversationItems } from './conversation-items.ts';
import type { Item } from './conversation-items.ts';
import { EventSender } from './event-sender.ts';
import type { SessionSocket } from './event-sender.ts';
import { nextStep } from './session-phase.ts';
import type { SessionAction, SessionInput, SessionPhase } from './session-phase.ts';
import { SessionSettings } from './session-settings.ts';
import { WaitingEvents } from './waiting-events.ts';
import { toAudioFormat } from './wire-format.ts';

/** How many invalid events a client may send before it is closed. */
const MAX_FAULTS = 100;
/** How long a client may send nothing before it is closed. */
const IDLE_MS = 15 * 60_000;

/** How a connection ended. */
export interface Departure {
  /** The end of the session, if its call has not begun. */
  end: CallEndReason;
  /** Whether the connection was lost, so that the client may come back. */
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

/** What a session consists of once its plan has come. */
interface Parts {
  settings: SessionSettings;
  participant: RealtimeParticipant;
  items: ConversationItems;
  audio: CallerAudio;
  responses: AgentResponses;
}

/**
 * One client of the OpenAI Realtime protocol (GA, over WebSocket) from its connection to its end: how it joins a
 * call, and how the two part. What it sends goes to `ClientEventHandler`, what it is sent comes from `CallEvents`.
 */
export class RealtimeSession implements SocketListener, RealtimeOutlet {
  readonly #socket: SessionSocket;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #events: EventSender;
  readonly #startedAt: number;
  readonly #waiting = new WaitingEvents();
  #phase: SessionPhase = 'redeeming';
  #departure: Departure | undefined;
  #faults = 0;
  #idleTimer: Timer | undefined;
  #parts: Parts | undefined;
  #call: CallSteering | undefined;
  #handler: ClientEventHandler | undefined;

  constructor(deps: { socket: SessionSocket; clock: Clock; logger: Logger }) {
    this.#socket = deps.socket;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#events = new EventSender(deps.socket);
    this.#startedAt = deps.clock.monotonic();
    this.#idleLater();
  }

  /** Set once the connection is over. */
  get departure(): Departure | undefined {
    return this.#departure;
  }

  // ---- joining ----

  /**
   * The plan has come: the client gets its session, and what it has asked for meanwhile is in force.
   * @returns what its call needs of it
   */
  open(plan: SessionPlan): {
    participant: RealtimeParticipant;
    observer: CallEvents;
    clientTools: CallEvents;
    textOnly: boolean;
  } {
    this.#take('plan');
    const parts = this.#build(plan);
    const { settings, participant } = parts;
    this.#parts = parts;
    this.#events.cork(() => {
      this.#events.send({ type: 'session.created', session: settings.toSession() });
      this.#sendHistory(plan, parts.items);
      // What the client sets at once is to hold for the greeting.
      for (const event of this.#waiting.takeSettings())
        updateSession(event, settings, this.#events, undefined);
    });
    if (this.#departure) participant.leave(this.#departure);
    const callEvents = new CallEvents(parts);
    return { participant, observer: callEvents, clientTools: callEvents, textOnly: settings.textOnly };
  }

  /** The call has begun. */
  join(call: CallSteering): void {
    if (this.#take('call') !== 'join') return;
    const { settings, participant, items, audio, responses } = this.#parts!;
    this.#call = call;
    this.#handler = new ClientEventHandler({
      call,
      settings,
      participant,
      items,
      audio,
      responses,
      events: this.#events,
      clock: this.#clock,
    });
    call.setTurnDetection(settings.turns);
    // Before the first word is spoken.
    if (settings.chosenVoice !== undefined) call.setVoice(settings.chosenVoice);
    for (const event of this.#waiting.take()) this.#onEvent(event, 0);
  }

  /** Sends the client an `error` event and closes it. Nothing happens once its connection is over. */
  refuse(closeCode: number, code: string, message: string): void {
    this.#dismiss(this.#take('refusal'), closeCode, { code, message });
  }

  // ---- the socket ----

  onMessage(bytes: Uint8Array): void {
    this.#idleLater();
    const parsed = parseClientEvent(bytes);
    if ('fault' in parsed) this.#onFault(parsed.fault);
    else this.#onEvent(parsed.event, bytes.length);
  }

  onClose(code: number): void {
    if (this.#take('gone') !== 'leave') return;
    this.#finish({ end: OUR_CLOSES.has(code) ? REFUSED : HUNG_UP, lost: code === closeCodes.lost });
  }

  // ---- the participant ----

  onAgentAudio(bytes: Uint8Array, atMs: number): void {
    this.#parts?.responses.audio(bytes, atMs);
  }

  onClosed(code: number, reason: string): void {
    if (this.#take('hang_up') !== 'close') return;
    this.#finish({ end: HUNG_UP, lost: false });
    // Programs may connect again to another process after a restart, and try to.
    this.#socket.end(code === closeCodes.goingAway ? closeCodes.serviceRestart : code, reason);
  }

  bufferedBytes(): number {
    return this.#socket.bufferedBytes;
  }

  // ---- inside ----

  /** Moves to the next phase. @returns what the input means in the present one */
  #take(input: SessionInput): SessionAction {
    const { action, to } = nextStep(this.#phase, input);
    if (action === 'fail')
      throw new Error(`A realtime session gets '${input}' while it is '${this.#phase}'.`);
    this.#phase = to;
    return action;
  }

  #onEvent(event: ClientEvent, bytes: number): void {
    switch (this.#take('event')) {
      case 'keep':
        if (!this.#waiting.push(event, bytes)) this.#refuseFlood();
        break;
      case 'handle': {
        const fault = this.#handler!.handle(event);
        if (fault) this.#onFault(fault);
        break;
      }
    }
  }

  #refuseFlood(): void {
    this.refuse(
      closeCodes.overloaded,
      'too_many_events',
      'Too many events before session.created: wait for it.',
    );
  }

  /** Takes an invalid event. */
  #onFault(fault: EventFault): void {
    if (this.#take('fault') !== 'answer_fault') return;
    this.#events.error(fault);
    if (++this.#faults < MAX_FAULTS) return;
    this.#logger.info({ code: fault.code }, 'realtime client sends invalid events');
    this.refuse(closeCodes.badMessage, 'too_many_faults', 'Too many invalid events.');
  }

  #idleLater(): void {
    this.#idleTimer?.cancel();
    if (this.#phase === 'over') return;
    this.#idleTimer = this.#clock.setTimeout(() => this.#onSilence(), IDLE_MS);
  }

  #onSilence(): void {
    const action = this.#take('silence');
    if (action === 'end_call') this.#call?.end({ ended_by: 'system', hangup_reason: 'silence' });
    else
      this.#dismiss(action, closeCodes.done, {
        code: 'idle',
        message: 'No event was received for 15 minutes.',
      });
  }

  #dismiss(action: SessionAction, closeCode: number, why: { code: string; message: string }): void {
    if (action !== 'refuse' && action !== 'expel') return;
    if (action === 'refuse') this.#events.error({ ...why, param: null, event_id: null });
    this.#finish({ end: REFUSED, lost: false });
    this.#socket.end(closeCode, why.code);
  }

  /** Ends the session's side of a connection that is over. */
  #finish(departure: Departure): void {
    this.#departure = departure;
    this.#idleTimer?.cancel();
    this.#waiting.take();
    this.#parts?.participant.leave(departure);
    this.#parts?.responses.close();
    this.#events.close();
  }

  #build(plan: SessionPlan): Parts {
    const settings = new SessionSettings(plan, this.#clock.now());
    const items = new ConversationItems();
    const participant = new RealtimeParticipant({
      inputFormat: toAudioFormat(settings.inputFormat),
      outputFormat: toAudioFormat(settings.outputFormat),
      outlet: this,
    });
    const audio = new CallerAudio({
      events: this.#events,
      items,
      settings,
      participant,
      clock: this.#clock,
      startedAt: this.#startedAt,
    });
    const responses = new AgentResponses({
      plan,
      settings,
      items,
      events: this.#events,
      callFormat: participant.outputFormat,
    });
    return { settings, participant, items, audio, responses };
  }

  /** Sends the conversation of earlier legs. */
  #sendHistory(plan: SessionPlan, items: ConversationItems): void {
    for (const { role, text } of plan.history) {
      const item: Item = {
        id: this.#events.newId('item'),
        type: 'message',
        status: 'completed',
        role: role === 'caller' ? 'user' : 'assistant',
        content: [role === 'caller' ? { type: 'input_text', text } : { type: 'output_text', text }],
      };
      this.#events.item(item, items.append(item));
    }
  }
}
