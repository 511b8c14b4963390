import type {
  CallEvent,
  CallEventData,
  CallEventType,
  CallReport,
} from '@parley/shared/contracts/call-events';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { Turn } from '@parley/shared/contracts/turn';
import { newId } from '@parley/shared/ids/new-id';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { CallReporter, ReportedType } from './call-reporter.ts';
import type { EventOutbox } from './event-outbox.ts';
import { fitReport } from './report-spool.ts';
import type { ReportSpool, SpoolHeader } from './report-spool.ts';
import type { SpoolFile } from './spool-file.ts';

/** Makes the reporter of one call. @param answeredAt zero of its offsets, ms since the epoch */
export type CallReporters = (
  plan: SessionPlan,
  answeredAt: number,
  streamIds?: { carrier_call_id?: string; stream_id?: string },
) => SpooledCallReporter;

/** @returns what makes the reporters of all calls of a gateway */
export function callReporters(deps: {
  gatewayId: string;
  spool: ReportSpool;
  outbox: EventOutbox;
  clock: Clock;
  logger: Logger;
}): CallReporters {
  return (plan, answeredAt, streamIds = {}) =>
    new SpooledCallReporter({
      ...deps,
      plan,
      answeredAt,
      streamIds,
      logger: deps.logger.child({ sessionId: plan.session_id, leg: plan.leg }),
    });
}

/** Reports through the event log, with a copy of the essence on disk. */
export class SpooledCallReporter implements CallReporter {
  readonly #plan: Pick<SessionPlan, 'session_id' | 'claim_id' | 'leg' | 'first_event_index'>;
  readonly #gatewayId: string;
  readonly #answeredAt: number;
  readonly #streamIds: object;
  readonly #spool: ReportSpool;
  readonly #outbox: EventOutbox;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #file: SpoolFile;
  /** Turns as they are on disk. */
  readonly #savedTurns = new Map<number, Turn>();
  #nextIndex: number;
  #ended: Promise<void> | undefined;

  /** Creates the call's file on disk, in the background. */
  constructor(deps: {
    plan: Pick<SessionPlan, 'session_id' | 'claim_id' | 'leg' | 'first_event_index'>;
    gatewayId: string;
    /** ms since the epoch */
    answeredAt: number;
    /** Added to `call_started`: the call itself knows nothing of carriers. */
    streamIds?: { carrier_call_id?: string; stream_id?: string };
    spool: ReportSpool;
    outbox: EventOutbox;
    clock: Clock;
    logger: Logger;
  }) {
    this.#plan = deps.plan;
    this.#gatewayId = deps.gatewayId;
    this.#answeredAt = deps.answeredAt;
    this.#streamIds = deps.streamIds ?? {};
    this.#spool = deps.spool;
    this.#outbox = deps.outbox;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#nextIndex = deps.plan.first_event_index;
    this.#file = deps.spool.file(deps.plan.session_id, deps.plan.leg);
    this.#save(this.#header());
  }

  get lastIndex(): number {
    return this.#nextIndex - 1;
  }

  /** Also after the end, for what becomes known late (a recording that was stored). */
  emit<T extends ReportedType>(type: T, data: CallEventData<T>, offsetMs: number): void {
    const whole = type === 'call_started' ? { ...data, ...this.#streamIds } : data;
    this.#outbox.push(this.#event(type, whole, offsetMs));
  }

  saveProgress(report: CallReport, { over = false } = {}): void {
    if (this.#ended) return;
    const turns = report.turns.filter((turn) => this.#savedTurns.get(turn.turn_index) !== turn);
    for (const turn of turns) this.#savedTurns.set(turn.turn_index, turn);
    this.#save({ progress: { ...report, turns }, ...(over ? { over } : {}) });
  }

  end(report: CallReport): Promise<void> {
    this.#ended ??= this.#end(report);
    return this.#ended;
  }

  async #end(report: CallReport): Promise<void> {
    const offsetMs = Date.parse(report.ended_at) - this.#answeredAt;
    const event = this.#event('call_ended', fitReport({ ...report, last_index: this.#nextIndex }), offsetMs);
    await this.#spool.deliver(this.#file, event);
  }

  #save(line: object): void {
    this.#file.append(line).catch((error: unknown) => {
      this.#logger.error({ err: error }, 'the report of a call in progress cannot be written to disk');
    });
  }

  #header(): SpoolHeader {
    return {
      v: 1,
      session_id: this.#plan.session_id,
      claim_id: this.#plan.claim_id,
      leg: this.#plan.leg,
      first_event_index: this.#plan.first_event_index,
      answered_at: new Date(this.#answeredAt).toISOString(),
    };
  }

  #event(type: CallEventType, data: object, offsetMs: number): CallEvent {
    const now = this.#clock.now();
    return {
      v: 1,
      id: newId('evt', now),
      session_id: this.#plan.session_id,
      gateway_id: this.#gatewayId,
      claim_id: this.#plan.claim_id,
      index: this.#nextIndex++,
      at: new Date(now).toISOString(),
      offset_ms: Math.round(offsetMs),
      type,
      data: { ...data },
    };
  }
}
