import {
  isCallEventType,
  parseCallEvent,
  type CallEvent,
  type CallEventType,
  type CallReport,
  type KnownCallEvent,
} from '@parley/shared/contracts/call-events';
import { EVENT_INDEXES_PER_LEG } from '@parley/shared/contracts/session-plan';
import type { Logger } from '@parley/shared/logging/logger';
import type { RecordingService } from '../recordings/recording-service.ts';
import { replyLatencies } from '../sessions/reply-latencies.ts';
import type { SessionCloser } from '../sessions/session-closer.ts';
import { isLive, isTerminal } from '../sessions/session-states.ts';
import { owner, type SessionChange, type SessionStore } from '../sessions/session-store.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { CallLog } from './call-log.ts';
import type { CarrierCommands } from './carrier-commands.ts';
import { accountOf, totalsOf } from './leg-accounts.ts';
import type { GatewayCommands } from './gateway-commands.ts';
import { LEFT_OUT } from './session-events.ts';

type Known<T extends CallEventType> = Extract<KnownCallEvent, { type: T }>;

const TRANSFER_STATES = {
  begun: 'transferring',
  ringing: null,
  briefing: null,
  bridged: 'transferred',
  failed: 'in_progress',
} as const;

/** What keeps something of events: `ToolCallLog`, `AgentNotes`. */
interface EventFollower {
  /** Safe to repeat; what is not its own it passes over. */
  store(session: SessionRecord, event: KnownCallEvent): Promise<void>;
}

/**
 * Takes what gateways report. Every effect is one that may be repeated, since an event may come again after a crash
 * at any point; it counts as done when this resolves.
 */
export class CallEventHandler {
  readonly #store: SessionStore;
  readonly #callLog: CallLog;
  readonly #followers: readonly EventFollower[];
  readonly #recordings: RecordingService;
  readonly #carrierCommands: CarrierCommands;
  readonly #gatewayCommands: GatewayCommands;
  readonly #closer: SessionCloser;
  readonly #logger: Logger;

  constructor(deps: {
    store: SessionStore;
    callLog: CallLog;
    followers: readonly EventFollower[];
    recordings: RecordingService;
    carrierCommands: CarrierCommands;
    gatewayCommands: GatewayCommands;
    closer: SessionCloser;
    logger: Logger;
  }) {
    this.#store = deps.store;
    this.#callLog = deps.callLog;
    this.#followers = deps.followers;
    this.#recordings = deps.recordings;
    this.#carrierCommands = deps.carrierCommands;
    this.#gatewayCommands = deps.gatewayCommands;
    this.#closer = deps.closer;
    this.#logger = deps.logger;
  }

  /** @throws when the database or the bus can't be reached: the event comes again */
  async handle(event: CallEvent): Promise<void> {
    const session = await this.#store.find(event.session_id);
    if (!session) {
      this.#logger.warn(
        { sessionId: event.session_id, type: event.type },
        'call event names an unknown session',
      );
      if (event.type === 'call_ended') await this.#confirm(event);
      return;
    }
    const known = this.#parse(event);
    const stored = toStored(event, session);
    if (stored) {
      await this.#callLog.storeGatewayEvent(owner(session), stored);
      if (known) for (const follower of this.#followers) await follower.store(session, known);
    }
    // Before what follows of it; but who is told of a turn reads its text.
    if (stored && event.type !== 'turn') this.#callLog.tell(owner(session), stored);
    if (known) await this.#act(session, known);
    if (stored && event.type === 'turn') this.#callLog.tell(owner(session), stored);
    // The report is stored, whatever it says: the gateway need not keep it.
    if (event.type === 'call_ended') await this.#confirm(event);
  }

  /** Passes on what is not stored, to those who follow the session. */
  async pass(event: CallEvent): Promise<void> {
    const session = await this.#store.find(event.session_id);
    if (session && session.erased_at === null && this.#parse(event))
      this.#callLog.pass(owner(session), event);
  }

  async #act(session: SessionRecord, event: KnownCallEvent): Promise<void> {
    const current = event.claim_id === session.claim_id;
    switch (event.type) {
      case 'call_started':
        if (current) await this.#started(session, event);
        return;
      case 'flow_node':
        if (current) await this.#moved(session, event.data, { flow_state: event.data.state });
        return;
      case 'turn':
        if (current) await this.#moved(session, event.data);
        if (keepsTranscript(session))
          await this.#callLog.storeTurn(owner(session), event.data, event.data.words ?? null);
        return;
      case 'transfer':
        if (current) await this.#transferred(session, event);
        return;
      case 'answer_class':
        if (current)
          await this.#store.change(session._id, {
            answered_by: event.data.class,
            outcome: event.data.class === 'voicemail' ? 'voicemail' : null,
          });
        return;
      case 'recording':
        await this.#recordings.apply(session._id, event.data);
        return;
      case 'carrier_command':
        await this.#carrierCommand(session, event, current);
        return;
      case 'call_ended':
        await this.#ended(session, event, current);
    }
  }

  async #started(session: SessionRecord, { data }: Known<'call_started'>): Promise<void> {
    await this.#store.transition(session._id, 'in_progress', {
      cause: legOf(session),
      set: {
        started_at: session.started_at ?? new Date(data.answered_at),
        unheld_since: null,
        transfer: null,
      },
    });
  }

  /** Keeps what the next leg begins with. */
  async #moved(
    session: SessionRecord,
    told: Pick<Known<'turn'>['data'], 'variables' | 'trusted_variables'>,
    set: Pick<SessionChange, 'flow_state'> = {},
  ): Promise<void> {
    const change = { ...set, ...variablesAfter(session, told) };
    if (session.erased_at === null && !isTerminal(session.status) && Object.keys(change).length > 0)
      await this.#store.change(session._id, change);
  }

  async #transferred(session: SessionRecord, { id, data }: Known<'transfer'>): Promise<void> {
    const to = TRANSFER_STATES[data.phase];
    if (to === null) return;
    await this.#store.transition(session._id, to, {
      cause: id,
      ...(data.phase === 'failed' ? { set: { transfer: null } } : {}),
    });
  }

  async #carrierCommand(
    session: SessionRecord,
    event: Known<'carrier_command'>,
    current: boolean,
  ): Promise<void> {
    // A leg that another leg has replaced may no longer change the session's state.
    const outcome = current
      ? await this.#carrierCommands.run(session, event.data)
      : { ok: false, code: 'not_current' };
    await this.#gatewayCommands.send(
      { gatewayId: event.gateway_id, sessionId: session._id },
      'carrier_result',
      { command_id: event.data.command_id, ...outcome },
    );
  }

  async #ended(session: SessionRecord, event: Known<'call_ended'>, current: boolean): Promise<void> {
    const leg = Math.floor(event.index / EVENT_INDEXES_PER_LEG);
    const known = await this.#store.accountLeg(session._id, leg, accountOf(event.data));
    if (event.data.recording) await this.#recordings.apply(session._id, event.data.recording);
    else await this.#recordings.lost(session._id, { of: leg });
    if (known && current) await this.#close(known, event);
    // A late report of an earlier leg only adds to the sums.
    else if (known && isTerminal(known.status)) await this.#store.change(known._id, totalsOf(known));
  }

  /** Confirms a report: the gateway may delete its copy. */
  async #confirm(event: CallEvent): Promise<void> {
    await this.#gatewayCommands.send(
      { gatewayId: event.gateway_id, sessionId: event.session_id },
      'report_stored',
      { event_id: event.id },
    );
  }

  async #close(session: SessionRecord, event: Known<'call_ended'>): Promise<void> {
    const report = event.data;
    const keep = keepsTranscript(session);
    if (keep) for (const turn of report.turns) await this.#callLog.storeTurn(owner(session), turn);
    // A leg that was taken over and has not reported by now has lost its gateway, perhaps before its first event.
    await this.#recordings.lost(session._id, { except: Object.keys(session.legs ?? {}).map(Number) });
    const messages = keep ? await this.#callLog.countTurns(session._id) : report.turns.length;
    const set = toChange(session, event, messages);

    const turns = keep ? null : report.turns;
    if (report.answered_at === null) {
      const to = report.failure_reason === undefined ? 'cancelled' : 'failed';
      await this.#closer.closeByReport(session, to, set, turns);
      return;
    }
    // The first event of the leg may have been lost with the event log, or what followed it with a process: the report
    // makes up for it.
    if (session.status === 'in_progress') await this.#store.notify(session, legOf(session));
    else if (!isLive(session.status) && !isTerminal(session.status)) {
      await this.#store.transition(session._id, 'in_progress', {
        cause: legOf(session),
        set: { started_at: session.started_at ?? new Date(report.answered_at) },
      });
    }
    await this.#closer.closeByReport(session, 'ended', set, turns);
  }

  /** Data that breaks its schema comes from a gateway of another version: kept as it is, moves nothing. */
  #parse(event: CallEvent): KnownCallEvent | undefined {
    const known = parseCallEvent(event);
    if (!known && isCallEventType(event.type)) {
      this.#logger.error(
        { sessionId: event.session_id, type: event.type, eventId: event.id },
        'call event data does not match its schema',
      );
    }
    return known;
  }
}

/** The variables of a session after some have changed, whole: their names are the tenant's. */
function variablesAfter(
  session: SessionRecord,
  {
    variables = {},
    trusted_variables: trusted = [],
  }: Pick<Known<'turn'>['data'], 'variables' | 'trusted_variables'>,
): Pick<SessionChange, 'variables' | 'trusted_variables'> {
  const isChanged = (name: string) => Object.hasOwn(variables, name);
  if (Object.keys(variables).length === 0) return {};
  return {
    variables: { ...session.variables, ...variables },
    trusted_variables: [
      ...(session.trusted_variables ?? []).filter((name) => !isChanged(name)),
      ...trusted.filter(isChanged),
    ],
  };
}

/** Marks the leg as answered, once, whichever event says so first. */
function legOf(session: SessionRecord): string {
  return `leg${session.leg}`;
}

function keepsTranscript(session: SessionRecord): boolean {
  return session.store_transcript && session.erased_at === null;
}

/** The part of an event that is stored: without texts that are kept elsewhere, or not at all. */
function toStored(event: CallEvent, session: SessionRecord): CallEvent | null {
  if (session.erased_at !== null) return null;
  const leftOut = LEFT_OUT[event.type];
  if (!leftOut) return event;
  const kept = Object.entries(event.data).filter(([name]) => !Object.hasOwn(leftOut, name));
  return { ...event, data: Object.fromEntries(kept) };
}

function toChange(session: SessionRecord, event: Known<'call_ended'>, messages: number): SessionChange {
  const report = event.data;
  const times: SessionChange = {
    started_at: session.started_at ?? (report.answered_at === null ? null : new Date(report.answered_at)),
    ended_at: new Date(report.ended_at),
    ended_by: report.ended_by,
    hangup_reason: report.hangup_reason ?? null,
    failure_reason: report.failure_reason ?? null,
    duration_seconds: toSeconds(durationMs(session, report)),
    ...totalsOf(session),
    report_id: event.id,
    closed_by: 'report',
    unheld_since: null,
    transfer: null,
    metrics: report.metrics,
    avg_agent_latency_ms: report.metrics.turn_e2e_ms?.avg ?? null,
    avg_user_latency_ms: report.metrics.caller_reply_ms?.avg ?? null,
    reply_latencies: replyLatencies(report.turns),
    message_count: messages,
    language: report.language,
  };
  if (session.erased_at !== null) return times;
  return { ...times, variables: report.variables, outcome: report.variables['outcome'] ?? session.outcome };
}

/** Duration from the first answer to the end, over all legs. */
function durationMs(session: SessionRecord, report: CallReport): number {
  if (session.leg <= 0 || session.started_at === null) return report.duration_ms;
  return Math.max(report.duration_ms, Date.parse(report.ended_at) - session.started_at.getTime());
}

function toSeconds(ms: number): number {
  return Math.round(ms) / 1000;
}
