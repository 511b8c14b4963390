import { randomInt } from 'node:crypto';
import type { CommandBus } from '@parley/shared/bus/bus';
import type { CallEventData } from '@parley/shared/contracts/call-events';
import type { GatewayCommand } from '@parley/shared/contracts/commands';
import { newId } from '@parley/shared/ids/new-id';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { Call } from '../call/call.ts';
import type { EventOutbox } from '../reporting/event-outbox.ts';
import type { ReportSpool } from '../reporting/report-spool.ts';
import type { CallRegistry } from './call-registry.ts';

const MAX_KNOWN_COMMANDS = 10_000;
/** Answers to commands for sessions that are not here take indexes above those of any leg. */
const STRAY_INDEXES = 1_000_000_000;

interface CommandIntakeDeps {
  gatewayId: string;
  commands: CommandBus;
  registry: Pick<CallRegistry, 'find'>;
  reports: Pick<ReportSpool, 'stored'>;
  outbox: EventOutbox;
  clock: Clock;
  logger: Logger;
}

/** Takes what the control plane sends to this gateway, and gives each command to its call once. */
export class CommandIntake {
  readonly #deps: CommandIntakeDeps;
  readonly #known = new Set<string>();
  #subscription: { [Symbol.asyncDispose](): Promise<void> } | undefined;

  private constructor(deps: CommandIntakeDeps) {
    this.#deps = deps;
  }

  static async open(deps: CommandIntakeDeps): Promise<CommandIntake> {
    const intake = new CommandIntake(deps);
    intake.#subscription = await deps.commands.subscribe(
      deps.gatewayId,
      (command) => intake.#take(command),
      (error) => deps.logger.warn({ err: error }, 'commands for this gateway cannot be read'),
    );
    return intake;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#subscription?.[Symbol.asyncDispose]();
  }

  #take(command: GatewayCommand): void {
    if (this.#known.has(command.command_id)) return;
    this.#known.add(command.command_id);
    if (this.#known.size > MAX_KNOWN_COMMANDS) {
      const [oldest] = this.#known;
      this.#known.delete(oldest!);
    }
    const { registry, reports, clock } = this.#deps;
    if (command.type === 'report_stored') {
      const { event_id: eventId } = command.args;
      if (typeof eventId === 'string') reports.stored(eventId);
      return;
    }
    const running = registry.find(command.session_id);
    const live = running !== undefined && Date.parse(command.expires_at) > clock.now();
    const code = live ? this.#run(running.call, command) : 'not_live';
    if (command.type === 'carrier_result' || command.type === 'watch') return; // itself an answer, or asks for none
    const result = { command_id: command.command_id, ok: code === undefined, ...(code ? { code } : {}) };
    if (running) running.reporter.emit('command_result', result, clock.now() - running.answeredAt);
    else this.#answerStray(command.session_id, result);
  }

  #run(call: Call, command: GatewayCommand): string | undefined {
    try {
      return call.command(command);
    } catch (error) {
      // Arguments that do not fit, most likely.
      this.#deps.logger.warn(
        { sessionId: call.sessionId, type: command.type, err: error },
        'a command for a call failed',
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
}
