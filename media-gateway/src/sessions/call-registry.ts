import { monitorEventLoopDelay } from 'node:perf_hooks';
import { randomInt } from 'node:crypto';
import { withTimeout } from '@parley/shared/async/timeout';
import type { Bus } from '@parley/shared/bus/bus';
import type { CallEventData } from '@parley/shared/contracts/call-events';
import type { GatewayCommand } from '@parley/shared/contracts/commands';
import { newId } from '@parley/shared/ids/new-id';
import type { CallEndReason } from '@parley/shared/contracts/session-values';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock, Timer } from '@parley/shared/time/clock';
import type { Participant } from '../participants/participant.ts';
import type { ProviderRegistry } from '../providers/provider-registry.ts';
import type { RecordingSpool } from '../recording/recording-spool.ts';
import { MockedTools } from '../tools/mocked-tools.ts';
import type { Call, CallDeps, FarEnd } from '../call/call.ts';
import type { EventOutbox } from '../reporting/event-outbox.ts';
import { emptyReport } from '../reporting/report-spool.ts';
import type { ReportSpool } from '../reporting/report-spool.ts';
import { SpooledCallReporter } from '../reporting/spooled-call-reporter.ts';
import { Ticker } from '../call/ticker.ts';
import type { ToolRunner } from '../call/tool-runner.ts';

const BEAT_MS = 5000;
const HOLD_MS = 10_000;
/** Ended calls have this long to write their report once the time for draining is over. */
const END_MS = 5000;
const MAX_KNOWN_COMMANDS = 10_000;
/** Answers to commands for sessions that are not here take indexes above those of any leg. */
const STRAY_INDEXES = 1_000_000_000;
/** An event loop this late makes itself heard. */
const LATE_LOOP_MS = 100;
const LOOP_RESOLUTION_MS = 10;
/** Fewer calls than this are not what makes an event loop late. */
const MIN_CALLS_OF_A_LOAD = 10;

/** What starts a call. */
export interface NewCall {
  plan: SessionPlan;
  participant: Participant;
  /** The connection of the far end. */
  socket: { readonly closed: boolean };
  /** When media began to flow on this leg, ms since the epoch. */
  startedAt: number;
  carrierCallId?: string;
  streamId?: string;
  observer?: FarEnd['observer'];
  clientTools?: FarEnd['clientTools'];
  written?: boolean;
}

/** Room for one call, taken before the credential is claimed. */
export interface Place {
  /** Gives the room back unless a call has taken it. Idempotent. */
  release(): void;
}

interface Entry {
  call: Call;
  socket: { readonly closed: boolean };
  reporter: SpooledCallReporter;
  answeredAt: number;
}

export interface CallRegistryDeps {
  gatewayId: string;
  /** Where this gateway can be reached, for operators. */
  url: string;
  version: string;
  maxCalls: number;
  /** New calls are refused while the event loop is later than this (p99); 0: never. */
  maxLoopDelayMs: number;
  bus: Bus;
  outbox: EventOutbox;
  reports: ReportSpool;
  recordings: RecordingSpool;
  providers: ProviderRegistry;
  tools: ToolRunner;
  openCall: (deps: CallDeps) => Call;
  clock: Clock;
  logger: Logger;
}

/** The calls of this process: admits, counts, commands and drains them. */
export class CallRegistry {
  readonly #deps: CallRegistryDeps;
  readonly #ticker: Ticker;
  readonly #calls = new Set<Entry>();
  /** Commands go to the latest leg of a session. */
  readonly #bySession = new Map<string, Entry>();
  /** Sockets that were let in and have not begun. */
  readonly #expected = new Set<Promise<void>>();
  #reserved = 0;
  #draining = false;
  #closed = false;
  #onEmpty: (() => void) | undefined;
  readonly #knownCommands = new Set<string>();
  readonly #loopDelay = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
  #timers: (Timer | undefined)[] = [];
  #subscription: { [Symbol.asyncDispose](): Promise<void> } | undefined;
  /** How late the event loop was between the last two beats, p99. */
  #loopDelayMs = 0;
  #busTrouble = 0;
  #disposing: Promise<void> | undefined;

  private constructor(deps: CallRegistryDeps) {
    this.#deps = deps;
    this.#ticker = new Ticker(deps.clock);
  }

  static async open(deps: CallRegistryDeps): Promise<CallRegistry> {
    const registry = new CallRegistry(deps);
    registry.#loopDelay.enable();
    registry.#subscription = await deps.bus.commands.subscribe(
      deps.gatewayId,
      (command) => registry.#onCommand(command),
      (error) => deps.logger.warn({ err: error }, 'commands can not be read'),
    );
    registry.#every(0, BEAT_MS, () => registry.#beat());
    registry.#every(1, HOLD_MS, () => registry.#holdCalls());
    return registry;
  }

  get calls(): number {
    return this.#calls.size;
  }

  /** Calls whose far end is not connected: it may come back, or is being connected to somebody else. */
  get callsWithoutSocket(): number {
    let count = 0;
    for (const { socket } of this.#calls) if (socket.closed) count++;
    return count;
  }

  get capacity(): number {
    return this.#deps.maxCalls;
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** Whether another connection may be let in now. */
  get hasRoom(): boolean {
    return !this.#draining && !this.overloaded && this.#calls.size + this.#reserved < this.#deps.maxCalls;
  }

  /** The calls it has make it late: one more would be worse for all. */
  get overloaded(): boolean {
    const { maxLoopDelayMs } = this.#deps;
    return (
      maxLoopDelayMs > 0 && this.#loopDelayMs > maxLoopDelayMs && this.#calls.size >= MIN_CALLS_OF_A_LOAD
    );
  }

  /** A connection was let in and may become a call: draining waits for it. `begin` must not reject. */
  expect(begin: Promise<void>): void {
    this.#expected.add(begin);
    void begin.finally(() => {
      this.#expected.delete(begin);
      this.#tellEmpty();
    });
  }

  /** @returns undefined when there is no room. Connections let in before draining began still get one. */
  reserve(): Place | undefined {
    if (this.#closed || this.#calls.size + this.#reserved >= this.#deps.maxCalls) return undefined;
    this.#reserved++;
    let held = true;
    return {
      release: () => {
        if (!held) return;
        held = false;
        this.#reserved--;
      },
    };
  }

  /**
   * Begins a call in a reserved place. When it can't, the session is reported as failed and the participant closed.
   * @throws what kept the call from beginning
   */
  begin(start: NewCall, place: Place): Call {
    const { plan, participant, socket } = start;
    const { clock, gatewayId } = this.#deps;
    // On later legs, offsets go on from the first answer.
    const answeredAt = plan.answered_at === null ? start.startedAt : Date.parse(plan.answered_at);
    const logger = this.#deps.logger.child({ sessionId: plan.session_id, leg: plan.leg });
    const reporter = this.#reporter(plan, answeredAt, {
      ...(start.carrierCallId === undefined ? {} : { carrier_call_id: start.carrierCallId }),
      ...(start.streamId === undefined ? {} : { stream_id: start.streamId }),
    });
    let call: Call;
    try {
      call = this.#deps.openCall({
        plan,
        farEnd: {
          participant,
          ...(start.observer ? { observer: start.observer } : {}),
          ...(start.clientTools ? { clientTools: start.clientTools } : {}),
          ...(start.written === undefined ? {} : { written: start.written }),
        },
        providers: {
          ...this.#deps.providers.forCall(plan, participant.outputFormat),
          withVoice: (voice) => {
            const [first, ...rest] = plan.tts;
            const changed = { ...plan, tts: [{ ...first!, voice }, ...rest] };
            return this.#deps.providers.forCall(changed, participant.outputFormat).tts;
          },
        },
        reporter,
        recorder: this.#deps.recordings.recorder({ plan, participant, answeredAt, reporter, logger }),
        tools:
          plan.tool_mocks.length > 0 ? new MockedTools(plan.tool_mocks, this.#deps.tools) : this.#deps.tools,
        time: { clock, ticker: this.#ticker, answeredAt },
        logger,
      });
    } catch (error) {
      participant.end('failed', 'internal');
      void reporter.end(emptyReport({ answeredAt, endedAt: clock.now() }));
      throw error;
    }
    place.release();
    const entry: Entry = { call, socket, reporter, answeredAt };
    const earlierLeg = this.#bySession.get(plan.session_id);
    this.#calls.add(entry);
    this.#bySession.set(plan.session_id, entry);
    // It has been waiting for this, and what it reports moves nothing any more.
    earlierLeg?.call.end({ ended_by: 'caller', hangup_reason: 'caller_hangup' });
    this.#try(this.#deps.bus.presence.holdCalls(gatewayId, [plan.session_id]));
    logger.info({ carrier: participant.carrier, emulated: isEmulated(plan) }, 'call started');
    void call.ended.then((report) => {
      this.#calls.delete(entry);
      // A later leg may have taken the session over.
      if (this.#bySession.get(plan.session_id) === entry) {
        this.#bySession.delete(plan.session_id);
        this.#try(this.#deps.bus.presence.dropCall(plan.session_id));
      }
      const { ended_by, hangup_reason, failure_reason, duration_ms: durationMs } = report;
      logger.info({ endedBy: ended_by, reason: hangup_reason ?? failure_reason, durationMs }, 'call ended');
      this.#tellEmpty();
    });
    return call;
  }

  /**
   * Reports the end of a session whose credential is claimed and that nobody is there to take up any more. No call
   * opens. Resolves when the report is on disk.
   */
  async decline(plan: SessionPlan, reason: CallEndReason, place: Place): Promise<void> {
    place.release();
    const now = this.#deps.clock.now();
    const { answered_at } = plan;
    const answeredAt = answered_at === null ? now : Date.parse(answered_at);
    const { failure_reason: _, ...report } = emptyReport({ answeredAt, endedAt: now });
    this.#deps.logger.info({ sessionId: plan.session_id, leg: plan.leg, ...reason }, 'session not begun');
    // The claim was the session's last: what an earlier leg reports moves nothing any more.
    this.#bySession.get(plan.session_id)?.call.end(reason);
    const { recording_id } = plan.record;
    await this.#reporter(plan, answeredAt).end({
      ...report,
      ...reason,
      answered_at,
      variables: plan.variables,
      language: plan.agent.config.language.primary,
      ...(plan.record.enabled ? { recording: { recording_id, status: 'failed', error: 'not_begun' } } : {}),
    });
  }

  #reporter(plan: SessionPlan, answeredAt: number, streamIds = {}): SpooledCallReporter {
    const { gatewayId, reports: spool, outbox, clock, logger } = this.#deps;
    return new SpooledCallReporter({
      plan,
      gatewayId,
      answeredAt,
      streamIds,
      spool,
      outbox,
      clock,
      logger: logger.child({ sessionId: plan.session_id, leg: plan.leg }),
    });
  }

  /** From now on nothing new is let in. */
  refuse(): void {
    if (this.#draining) return;
    this.#draining = true;
    this.#try(this.#sendBeat());
  }

  /**
   * Lets nothing new in and waits for what runs, at most `timeoutMs`; what still runs then is ended with
   * `hangup_reason: shutdown` and reported.
   */
  async drain(timeoutMs: number): Promise<void> {
    this.refuse();
    if (!this.#empty) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#onEmpty = resolve;
      const timer = this.#deps.clock.setTimeout(resolve, timeoutMs);
      await promise;
      timer.cancel();
    }
    await this.#endAll();
  }

  /** Ends what runs. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#disposing ??= this.#dispose();
    return this.#disposing;
  }

  async #dispose(): Promise<void> {
    this.#draining = true;
    this.#closed = true;
    await this.#endAll();
    for (const timer of this.#timers) timer?.cancel();
    this.#loopDelay.disable();
    await this.#subscription?.[Symbol.asyncDispose]();
    const left = this.#deps.bus.presence.leave(this.#deps.gatewayId);
    await withTimeout(left, 1000, 'Saying goodbye').catch(() => undefined);
  }

  async #endAll(): Promise<void> {
    if (this.#calls.size === 0) return;
    this.#deps.logger.info({ calls: this.#calls.size }, 'ending the calls that still run');
    const ended: Promise<unknown>[] = [];
    for (const { call } of [...this.#calls]) {
      call.end({ ended_by: 'system', hangup_reason: 'shutdown' });
      ended.push(call.ended);
    }
    await withTimeout(Promise.all(ended), END_MS, 'Ending the calls').catch((error: unknown) => {
      this.#deps.logger.error({ err: error, calls: this.#calls.size }, 'calls did not end in time');
    });
  }

  get #empty(): boolean {
    return this.#calls.size === 0 && this.#expected.size === 0;
  }

  #tellEmpty(): void {
    if (this.#empty) this.#onEmpty?.();
  }

  // ---- commands ----

  #onCommand(command: GatewayCommand): void {
    if (this.#knownCommands.has(command.command_id)) return;
    this.#knownCommands.add(command.command_id);
    if (this.#knownCommands.size > MAX_KNOWN_COMMANDS) {
      const [oldest] = this.#knownCommands;
      this.#knownCommands.delete(oldest!);
    }
    if (command.type === 'report_stored') {
      const { event_id: eventId } = command.args;
      if (typeof eventId === 'string') this.#deps.reports.stored(eventId);
      return;
    }
    const entry = this.#bySession.get(command.session_id);
    const live = entry !== undefined && Date.parse(command.expires_at) > this.#deps.clock.now();
    const code = live ? this.#run(entry.call, command) : 'not_live';
    if (command.type === 'carrier_result') return; // itself an answer
    const result = { command_id: command.command_id, ok: code === undefined, ...(code ? { code } : {}) };
    if (entry) entry.reporter.emit('command_result', result, this.#deps.clock.now() - entry.answeredAt);
    else this.#answerStray(command.session_id, result);
  }

  #run(call: Call, command: GatewayCommand): string | undefined {
    try {
      return call.command(command);
    } catch (error) {
      // Arguments that do not fit, most likely.
      this.#deps.logger.warn(
        { sessionId: call.sessionId, type: command.type, err: error },
        'a command failed',
      );
      return 'invalid_command';
    }
  }

  #answerStray(sessionId: string, result: CallEventData<'command_result'>): void {
    const now = this.#deps.clock.now();
    this.#deps.outbox.push({
      v: 1,
      id: newId('evt', now),
      session_id: sessionId,
      gateway_id: this.#deps.gatewayId,
      claim_id: '',
      index: STRAY_INDEXES + randomInt(STRAY_INDEXES),
      at: new Date(now).toISOString(),
      offset_ms: 0,
      type: 'command_result',
      data: { ...result },
    });
  }

  // ---- presence ----

  #every(slot: number, ms: number, task: () => Promise<void>): void {
    const run = (): void => {
      if (this.#closed) return;
      this.#try(task());
      this.#timers[slot] = this.#deps.clock.setTimeout(run, ms);
    };
    run();
  }

  async #beat(): Promise<void> {
    // The histogram holds whole intervals, of which the resolution was wanted.
    const lateMs = Math.max(0, Math.round(this.#loopDelay.percentile(99) / 1e5) / 10 - LOOP_RESOLUTION_MS);
    this.#loopDelay.reset();
    this.#loopDelayMs = Number.isFinite(lateMs) ? lateMs : 0;
    if (this.#loopDelayMs > LATE_LOOP_MS && this.#calls.size > 0) {
      this.#deps.logger.warn(
        { p99Ms: this.#loopDelayMs, calls: this.#calls.size, refusing: this.overloaded },
        'the event loop is late',
      );
    }
    await this.#sendBeat();
  }

  async #sendBeat(): Promise<void> {
    await this.#deps.bus.presence.beat({
      gateway_id: this.#deps.gatewayId,
      url: this.#deps.url,
      capacity: this.#deps.maxCalls,
      calls: this.#calls.size,
      loop_delay_p99_ms: this.#loopDelayMs,
      draining: this.#draining,
      version: this.#deps.version,
    });
  }

  async #holdCalls(): Promise<void> {
    if (this.#bySession.size > 0) {
      await this.#deps.bus.presence.holdCalls(this.#deps.gatewayId, [...this.#bySession.keys()]);
    }
  }

  /** Presence is renewed by itself: trouble is told, not thrown. */
  #try(task: Promise<void>): void {
    task.then(
      () => void (this.#busTrouble = 0),
      (error: unknown) => {
        if (this.#busTrouble++ % 12 === 0) this.#deps.logger.warn({ err: error }, 'presence can not be told');
      },
    );
  }
}

function isEmulated(plan: SessionPlan): boolean {
  return [...plan.stt, ...plan.llm, ...plan.tts].some((provider) => provider.emulated);
}
