import type { Model } from 'mongoose';
import { carrierCallbackPath } from '@parley/shared/contracts/addresses';
import type { CarrierCommandData } from '@parley/shared/contracts/call-events';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import { CarrierError, type Carrier, type TransferTarget } from '../carriers/carrier.ts';
import type { SessionStore } from '../sessions/session-store.ts';
import type { SessionRecord, SessionTransfer } from '../sessions/session-record.ts';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import { carrierCommandCollection } from './carrier-command-model.ts';
import type { CarrierCommandRecord } from './carrier-command-model.ts';

/** Opens the signalling of a telephony account. */
export interface CarrierSource {
  /** @returns null when there is no such account */
  open(accountId: string): Promise<Carrier | null>;
  /** Whether calls of the account may go to this number. */
  mayCall(accountId: string, number: string): Promise<boolean>;
}

/** Numbers that an org must not call: `Suppressions`. */
export interface BlockedNumbers {
  blocks(at: { orgId: string; projectId: string }, numbers: readonly string[]): Promise<ReadonlySet<string>>;
}

/** Callers who wait while somebody is called and told of them: `Consults`. */
export interface ConsultCommands {
  /** Safe to repeat. */
  begin(session: SessionRecord, command: CarrierCommandData): Promise<CommandOutcome>;
  /** Safe to repeat. */
  cancel(session: SessionRecord, command: CarrierCommandData): Promise<CommandOutcome>;
  /** @param again a process has begun it and died */
  bridge(session: SessionRecord, again: boolean): Promise<CommandOutcome>;
}

export interface CommandOutcome {
  ok: boolean;
  code?: string;
}

const KEPT_MS = 24 * 60 * 60 * 1000;
const DEFAULT_RING_SECONDS = 30;
/** What may be done again. */
const REPEATABLE: readonly CarrierCommandData['action'][] = ['hangup', 'consult', 'consult_cancel', 'bridge'];
const EXTENSION = /^[0-9*#wW]{1,32}$/;
const DIGITS = /^[0-9A-D*#wW]{1,64}$/;

/** Executes a gateway's commands at the carrier, each once. */
export class CarrierCommands {
  readonly #commands: Model<CarrierCommandRecord>;
  readonly #carriers: CarrierSource;
  readonly #store: SessionStore;
  readonly #consults: ConsultCommands;
  readonly #suppressions: BlockedNumbers;
  readonly #publicUrl: string;
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor(deps: {
    database: Database;
    carriers: CarrierSource;
    store: SessionStore;
    consults: ConsultCommands;
    suppressions: BlockedNumbers;
    publicUrl: string;
    clock: Clock;
    logger: Logger;
  }) {
    this.#commands = deps.database.model(carrierCommandCollection);
    this.#carriers = deps.carriers;
    this.#store = deps.store;
    this.#consults = deps.consults;
    this.#suppressions = deps.suppressions;
    this.#publicUrl = deps.publicUrl;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** The same command again gives the first outcome. */
  async run(session: SessionRecord, command: CarrierCommandData): Promise<CommandOutcome> {
    const fresh = await this.#begin(session, command);
    if (!fresh) {
      const known = await this.#commands.findOne({ _id: command.command_id }).lean<CarrierCommandRecord>();
      if (known?.state === 'done')
        return { ok: known.ok === true, ...(known.code ? { code: known.code } : {}) };
      // A process began the command and died: callers would hear most of them twice.
      if (!REPEATABLE.includes(command.action)) return this.#finish(command, { ok: false, code: 'unknown' });
    }
    return this.#finish(command, await this.#attempt(session, command, !fresh));
  }

  /** Ends the call at its carrier. A failure is logged and not thrown. */
  async hangup(session: SessionRecord): Promise<void> {
    await this.#attempt(session, { command_id: '', action: 'hangup', args: {} });
  }

  /** How a transfer under way looks to the carrier. */
  transferTarget(session: SessionRecord, transfer: SessionTransfer): TransferTarget {
    const voice = `${this.#publicUrl}${carrierCallbackPath(session.provider!, 'voice', session.telephony_account_id!)}`;
    const id = encodeURIComponent(transfer.transfer_id);
    return {
      transferId: transfer.transfer_id,
      to: transfer.to,
      extension: transfer.extension ?? null,
      callerId: transfer.caller_id,
      ringTimeoutSeconds: transfer.ring_timeout_seconds,
      documentUrl: `${voice}?transfer=${id}`,
      resultUrl: `${voice}?transfer_result=${id}`,
    };
  }

  async #begin(session: SessionRecord, command: CarrierCommandData): Promise<boolean> {
    try {
      await this.#commands.create({
        _id: command.command_id,
        session_id: session._id,
        action: command.action,
        state: 'running',
        expires_at: new Date(this.#clock.now() + KEPT_MS),
      });
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  async #finish(command: CarrierCommandData, outcome: CommandOutcome): Promise<CommandOutcome> {
    await this.#commands.updateOne(
      { _id: command.command_id },
      { $set: { state: 'done', ok: outcome.ok, code: outcome.code ?? null } },
    );
    return outcome;
  }

  async #attempt(
    session: SessionRecord,
    command: CarrierCommandData,
    again = false,
  ): Promise<CommandOutcome> {
    const { telephony_account_id: accountId, carrier_call_id: callId } = session;
    // A call that the client's own carrier logic connected is out of our reach.
    if (accountId === null || callId === null) return { ok: false, code: 'no_account' };
    try {
      const carrier = await this.#carriers.open(accountId);
      if (!carrier) return { ok: false, code: 'no_account' };
      switch (command.action) {
        case 'hangup':
          await carrier.hangup(callId);
          return { ok: true };
        case 'send_dtmf': {
          const { digits } = command.args;
          if (digits === undefined || !DIGITS.test(digits)) return { ok: false, code: 'invalid_digits' };
          await carrier.sendDtmf(callId, digits);
          return { ok: true };
        }
        case 'transfer':
          return await this.#transfer(carrier, session, accountId, callId, command.args);
        case 'consult':
          return await this.#consults.begin(session, command);
        case 'consult_cancel':
          return await this.#consults.cancel(session, command);
        case 'bridge':
          return await this.#consults.bridge(session, again);
      }
    } catch (error) {
      if (!(error instanceof CarrierError)) throw error;
      this.#logger.warn(
        { sessionId: session._id, action: command.action, code: error.code, status: error.status },
        'the carrier refused a command',
      );
      return { ok: false, code: error.code };
    }
  }

  async #transfer(
    carrier: Carrier,
    session: SessionRecord,
    accountId: string,
    callId: string,
    args: CarrierCommandData['args'],
  ): Promise<CommandOutcome> {
    if (args.to === undefined || !/^\+[1-9]\d{6,14}$/.test(args.to))
      return { ok: false, code: 'invalid_number' };
    if (args.extension !== undefined && !EXTENSION.test(args.extension))
      return { ok: false, code: 'invalid_digits' };
    if (!(await this.#carriers.mayCall(accountId, args.to))) return { ok: false, code: 'blocked' };
    const at = { orgId: session.org_id, projectId: session.project_id };
    if ((await this.#suppressions.blocks(at, [args.to])).size > 0) return { ok: false, code: 'blocked' };
    const transfer: SessionTransfer = {
      transfer_id: args.transfer_id ?? session._id,
      to: args.to,
      caller_id: args.caller_id ?? null,
      ring_timeout_seconds: args.ring_timeout_seconds ?? DEFAULT_RING_SECONDS,
      destination_id: args.destination_id ?? null,
      extension: args.extension ?? null,
    };
    // Known before the carrier asks for the document that dials.
    await this.#store.change(session._id, { transfer });
    await carrier.transfer(callId, this.transferTarget(session, transfer));
    return { ok: true };
  }
}
