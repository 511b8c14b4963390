import { carrierCallbackPath } from '@parley/shared/contracts/addresses';
import type { CarrierCommandData } from '@parley/shared/contracts/call-events';
import type { COMMAND_ARGS } from '@parley/shared/contracts/commands';
import type { ConsultResult } from '@parley/shared/contracts/consult';
import {
  AppError,
  ConflictError,
  PaymentRequiredError,
  UnavailableError,
} from '@parley/shared/errors/app-error';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { z } from 'zod';
import { CarrierError, type Carrier } from '../carriers/carrier.ts';
import type { DialFollower, OutboundCalls } from '../dialling/outbound-calls.ts';
import { speakingAgentOf, type SessionAgents } from '../sessions/session-agent.ts';
import type { SessionCloser } from '../sessions/session-closer.ts';
import { readOverrides, type Overrides } from '../sessions/session-overrides.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import { isTerminal } from '../sessions/session-states.ts';
import { owner, type SessionEventLog, type SessionStore } from '../sessions/session-store.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import { consultAnswer, type ConsultAnswer, type ConsultStimulus } from './consult-states.ts';

/** Accounts at carriers: `TelephonyAccountService`. */
export interface ConsultAccounts {
  open(accountId: string): Promise<Carrier | null>;
  /** Whether calls of the account may go to this number. */
  mayCall(accountId: string, number: string): Promise<boolean>;
}

/** Reaches the gateways of both calls: `GatewayCommands`. */
export interface ConsultGateways {
  /** @throws UnavailableError when the gateway can't be reached */
  send<T extends 'consult_result' | 'end'>(
    target: { gatewayId: string; sessionId: string },
    type: T,
    args: z.input<(typeof COMMAND_ARGS)[T]>,
  ): Promise<unknown>;
}

interface Outcome {
  ok: boolean;
  code?: string;
}

const E164 = /^\+[1-9]\d{6,14}$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const EXTENSION = /^[0-9*#wW]{1,32}$/;
const DEFAULT_RING_SECONDS = 30;
/** Who or what may have answered that takes no caller. */
const MACHINES = ['voicemail', 'screening', 'ivr'];

/**
 * Callers who wait while somebody is called and told of them. The call to that person is a session of its own, whose id is
 * that of the transfer; how far it has come is noted there, and nowhere else.
 */
export class Consults implements DialFollower {
  readonly #calls: OutboundCalls;
  readonly #accounts: ConsultAccounts;
  readonly #agents: SessionAgents;
  readonly #store: SessionStore;
  readonly #closer: SessionCloser;
  readonly #gateways: ConsultGateways;
  readonly #events: SessionEventLog;
  readonly #site: { publicUrl: string; clock: Clock; logger: Logger };

  constructor(deps: {
    calls: OutboundCalls;
    accounts: ConsultAccounts;
    agents: SessionAgents;
    store: SessionStore;
    closer: SessionCloser;
    gateways: ConsultGateways;
    events: SessionEventLog;
    site: { publicUrl: string; clock: Clock; logger: Logger };
  }) {
    this.#calls = deps.calls;
    this.#accounts = deps.accounts;
    this.#agents = deps.agents;
    this.#store = deps.store;
    this.#closer = deps.closer;
    this.#gateways = deps.gateways;
    this.#events = deps.events;
    this.#site = deps.site;
  }

  // ---- what the gateways ask for ----

  /** Has somebody called for a caller. Safe to repeat: the transfer is one session. @returns at once, before it rings */
  async begin(caller: SessionRecord, { args, brief = '' }: CarrierCommandData): Promise<Outcome> {
    const { to, transfer_id: id, extension = null } = args;
    if (id === undefined || !UUID.test(id)) return { ok: false, code: 'invalid_transfer' };
    if (to === undefined || !E164.test(to)) return { ok: false, code: 'invalid_number' };
    if (extension !== null && !EXTENSION.test(extension)) return { ok: false, code: 'invalid_digits' };
    const accountId = caller.telephony_account_id!;
    if (!(await this.#accounts.mayCall(accountId, to))) return { ok: false, code: 'blocked' };
    const agent = await speakingAgentOf(this.#agents, caller);
    if (!agent) return { ok: false, code: 'unavailable' };
    // Known before the call is: whoever finds the caller gone finds it, too.
    await this.#store.change(caller._id, { consult_id: id });
    try {
      await this.#calls.queue({
        scope: { orgId: caller.org_id, projectId: caller.project_id },
        ...{ sessionId: id, agent, to, kind: 'transfer', source: 'transfer' },
        numberIds: caller.phone_number_id === null ? [] : [caller.phone_number_id],
        variables: {},
        overrides: overridesOf(caller),
        ...{ analysisIds: [], campaignId: null, contactId: null, attemptNumber: 1 },
        ...{ contactTimezone: null, callingHours: null, notBefore: null },
        consult: {
          ...{ parentId: caller._id, accountId, callerId: args.caller_id ?? null },
          consult: { state: 'dialling', extension, brief },
          ringTimeoutSeconds: args.ring_timeout_seconds ?? DEFAULT_RING_SECONDS,
        },
      });
    } catch (error) {
      if (!isDuplicateKey(error)) return refusalOf(error);
    }
    const now = await this.#store.find(caller._id);
    if (now && !isTerminal(now.status)) return { ok: true };
    await this.#giveUp(id);
    return { ok: false, code: 'call_over' };
  }

  /** The caller waits no more. @returns `bridged` where they are with the other one already */
  async cancel(caller: SessionRecord, { args }: CarrierCommandData): Promise<Outcome> {
    if (args.transfer_id === undefined || caller.consult_id !== args.transfer_id) return { ok: true };
    const answer = await this.#giveUp(args.transfer_id);
    return answer === 'too_late' ? { ok: false, code: 'bridged' } : { ok: true };
  }

  /** Who was called takes the caller: the carrier connects the two. @param again a process has begun it and died */
  async bridge(target: SessionRecord, again: boolean): Promise<Outcome> {
    const taken = await this.#move(target._id, 'target_accepts');
    const state = again ? taken?.target.consult?.state : undefined;
    if (state === 'bridged') {
      await this.#report(taken!.target, 'accepted');
      return { ok: true };
    }
    // Calls that the carrier has connected already, it connects once more.
    if (!taken || (taken.answer !== 'bridge' && state !== 'bridging'))
      return { ok: false, code: 'not_wanted' };
    const caller = await this.#store.find(taken.target.parent_session_id!);
    const code = await this.#connect(caller, taken.target);
    if (code !== null) {
      await this.#on(target._id, 'not_connected', code);
      return { ok: false, code };
    }
    const connected = await this.#on(target._id, 'connected');
    return connected === 'tell' ? { ok: true } : { ok: false, code: 'call_over' };
  }

  // ---- what carriers tell ----

  /** It rings somewhere. */
  async rings(session: SessionRecord): Promise<void> {
    if (session.consult) await this.#on(session._id, 'target_rings');
  }

  /** A carrier's call is over; where it is one of two that belong together, so is the other. */
  async legEnded(session: SessionRecord): Promise<void> {
    if (session.consult) await this.#on(session._id, 'target_leaves');
    else if (session.consult_id != null) await this.#on(session.consult_id, 'caller_leaves');
  }

  /** Whether a call may go where a conference of this transfer is: both of its calls may, once they are to be connected. */
  async mayJoin(accountId: string, carrierCallId: string, transferId: string): Promise<boolean> {
    const session = await this.#store.findCall(accountId, carrierCallId);
    const target = await this.#store.find(transferId);
    if (!session || !target?.consult) return false;
    if (session._id !== target._id && session._id !== target.parent_session_id) return false;
    return target.consult.state === 'bridging' || target.consult.state === 'bridged';
  }

  // ---- what becomes of sessions ----

  /** @inheritdoc */
  async answered(session: SessionRecord): Promise<void> {
    if (session.consult) await this.#on(session._id, 'target_answers');
  }

  /** @inheritdoc */
  async ended(session: SessionRecord): Promise<void> {
    if (session.consult) await this.#on(session._id, 'target_session_over');
  }

  /** A session is over, whoever ended it. Safe to repeat. */
  async sessionEnded(session: SessionRecord): Promise<void> {
    if (session.consult_id != null) await this.#giveUp(session.consult_id);
  }

  // ---- inside ----

  #giveUp(transferId: string): Promise<ConsultAnswer | null> {
    return this.#on(transferId, 'caller_gives_up');
  }

  /** Takes a stimulus, and does what follows. @param code why, where something failed */
  async #on(transferId: string, stimulus: ConsultStimulus, code?: string): Promise<ConsultAnswer | null> {
    const moved = await this.#move(transferId, stimulus);
    if (!moved) return null;
    const { answer, target } = moved;
    if (answer === 'tell') await this.#tell(target, stimulus);
    else if (answer === 'fail') {
      const { result, code: why } = failureOf(target);
      await this.#report(target, result, code ?? why);
      await this.#endTarget(target);
    } else if (answer === 'end_target') await this.#endTarget(target);
    else if (answer === 'hang_up_caller')
      await this.#hangUp(await this.#store.find(target.parent_session_id!));
    return answer;
  }

  /** Moves the state, of several who try one, by the table. @returns null where there is no such call */
  async #move(
    transferId: string,
    stimulus: ConsultStimulus,
  ): Promise<{ answer: ConsultAnswer; target: SessionRecord } | null> {
    for (;;) {
      const target = await this.#store.find(transferId);
      const consult = target?.consult;
      if (!consult) return null;
      const { answer, next } = consultAnswer(consult.state, stimulus);
      if (next === undefined) return { answer, target };
      // What was said of the caller is kept no longer than it is needed.
      const brief = next === 'briefing' ? consult.brief : '';
      const moved = await this.#store.change(
        transferId,
        { consult: { ...consult, brief, state: next } },
        { 'consult.state': consult.state },
      );
      if (moved) return { answer, target: moved };
    }
  }

  async #tell(target: SessionRecord, stimulus: ConsultStimulus): Promise<void> {
    if (stimulus === 'connected') return this.#report(target, 'accepted');
    const caller = await this.#store.find(target.parent_session_id!);
    if (!caller || caller.erased_at) return;
    const phase = stimulus === 'target_rings' ? 'ringing' : 'briefing';
    await this.#events.append(owner(caller), {
      type: 'transfer',
      data: { transfer_id: target._id, phase },
      key: `transfer_${target._id}_${phase}`,
      offsetMs: caller.started_at ? this.#site.clock.now() - caller.started_at.getTime() : 0,
    });
  }

  /** Tells the caller's gateway, which waits no longer than it must anyway. */
  async #report(target: SessionRecord, result: ConsultResult, code?: string): Promise<void> {
    const caller = await this.#store.find(target.parent_session_id!);
    if (!caller?.gateway_id || isTerminal(caller.status)) return;
    await this.#send({ gatewayId: caller.gateway_id, sessionId: caller._id }, 'consult_result', {
      ...{ transfer_id: target._id, result },
      ...(code !== undefined && { code }),
    });
  }

  async #send(...command: Parameters<ConsultGateways['send']>): Promise<void> {
    try {
      await this.#gateways.send(...command);
    } catch (error) {
      if (!(error instanceof UnavailableError)) throw error;
      this.#site.logger.warn({ sessionId: command[0].sessionId }, 'a gateway was not told of a transfer');
    }
  }

  /** @returns why it could not be done; null when it was */
  async #connect(caller: SessionRecord | null, target: SessionRecord): Promise<string | null> {
    const { telephony_account_id: accountId, carrier_call_id: targetCallId } = target;
    if (caller?.status !== 'transferring' || caller.carrier_call_id === null) return 'call_over';
    const carrier = await this.#accounts.open(accountId!);
    if (!carrier || targetCallId === null) return 'no_account';
    const voice = `${this.#site.publicUrl}${carrierCallbackPath(carrier.name, 'voice', accountId!)}`;
    try {
      await carrier.connect({
        ...{ targetCallId, callerCallId: caller.carrier_call_id },
        documentUrl: `${voice}?conference=${encodeURIComponent(target._id)}`,
      });
      return null;
    } catch (error) {
      if (!(error instanceof CarrierError)) throw error;
      this.#site.logger.warn({ sessionId: caller._id, code: error.code }, 'two calls could not be connected');
      return error.code;
    }
  }

  async #endTarget({ _id }: SessionRecord): Promise<void> {
    const now = new Date(this.#site.clock.now());
    const reason = { ended_by: 'agent', hangup_reason: 'agent_hangup' };
    const closed = await this.#closer.close(_id, 'cancelled', {
      where: { leg: -1 },
      set: {
        ...{ ended_at: now, ...reason, closed_by: 'api' },
        ...{ post_call_status: 'skipped', post_call_finished_at: now },
      },
    });
    if (closed) return;
    const target = await this.#store.find(_id);
    if (target?.gateway_id && !isTerminal(target.status))
      await this.#send({ gatewayId: target.gateway_id, sessionId: _id }, 'end', reason);
    await this.#hangUp(target);
  }

  /** Ends a call at its carrier. A failure is logged and not thrown: the carrier's own limit ends it then. */
  async #hangUp(session: SessionRecord | null): Promise<void> {
    if (!session?.telephony_account_id || session.carrier_call_id === null) return;
    const carrier = await this.#accounts.open(session.telephony_account_id);
    try {
      await carrier?.dialling.cancel({ carrierCallId: session.carrier_call_id, requestId: null });
    } catch (error) {
      if (!(error instanceof CarrierError)) throw error;
      this.#site.logger.warn({ sessionId: session._id, code: error.code }, 'a call could not be ended');
    }
  }
}

/** As the caller's session has them, unless another agent has taken over, to whom they do not belong. */
function overridesOf({ overrides, hand_overs }: SessionRecord): Overrides | null {
  return (hand_overs?.length ?? 0) > 0 ? null : readOverrides(overrides);
}

/** @throws what is no refusal */
function refusalOf(error: unknown): Outcome {
  if (error instanceof PaymentRequiredError) return { ok: false, code: 'insufficient_balance' };
  if (error instanceof ConflictError) return { ok: false, code: 'no_number' };
  if (error instanceof AppError && error.status < 500) return { ok: false, code: error.code };
  throw error;
}

/** How a call went that came to nothing. */
function failureOf(target: SessionRecord): { result: ConsultResult; code?: string } {
  if (target.hangup_reason === 'voicemail' || MACHINES.includes(target.answered_by ?? ''))
    return { result: 'machine' };
  if (target.failure_reason !== null) return { result: 'no_answer', code: target.failure_reason };
  if (target.hangup_reason === 'silence') return { result: 'no_answer', code: 'silence' };
  return target.leg >= 0 || target.dial?.answered_at ? { result: 'declined' } : { result: 'no_answer' };
}
