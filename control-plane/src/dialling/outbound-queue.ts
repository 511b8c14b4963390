import type { RateCounter, Wakeup } from '@parley/shared/bus/bus';
import { CONSULT_QUEUE_MS } from '@parley/shared/contracts/consult';
import { ConflictError, TooManyRequestsError } from '@parley/shared/errors/app-error';
import type { Clock } from '@parley/shared/time/clock';
import { effectiveVariables, refuseArchived } from '../sessions/session-choices.ts';
import type { SessionCreation } from '../sessions/session-creation.ts';
import type { SessionCloser } from '../sessions/session-closer.ts';
import { storedOverrides } from '../sessions/session-overrides.ts';
import {
  DIAL_PRIORITIES,
  type DialState,
  type SessionDial,
  type SessionRecord,
} from '../sessions/session-record.ts';
import { ExpiringCache } from '../storage/expiring-cache.ts';
import { isUsable, type DialAccountLimits } from './account-gate.ts';
import type { DialStore } from './dial-store.ts';
import type { CallerNumber, CallerNumbers } from './number-gate.ts';
import type { OutboundCalls, OutboundOrder } from './outbound-calls.ts';

/** So long a call waits that may be dialled. */
const QUEUE_TIMEOUTS_MS = { single: 15 * 60_000, campaign: 15 * 60_000, transfer: CONSULT_QUEUE_MS };
/** How long one number's turn in the rotation is remembered. */
const ROTATION_SECONDS = 24 * 60 * 60;
/** How late the change of a number may be seen by calls of campaigns. */
const KNOWN_MS = 1000;
const PAGE = 500;

/** Takes calls into the queue, and out of it again. */
export class OutboundQueue implements OutboundCalls {
  readonly #dials: DialStore;
  readonly #creation: SessionCreation;
  readonly #closer: SessionCloser;
  readonly #numbers: CallerNumbers;
  readonly #accounts: DialAccountLimits;
  readonly #wallets: { requireFunds(orgId: string): Promise<void> };
  readonly #limits: OrderLimits;
  readonly #site: OutboundQueueSite;
  /** Numbers of campaigns. */
  readonly #known: ExpiringCache<CallerNumber[]>;

  constructor(deps: {
    dials: DialStore;
    creation: SessionCreation;
    closer: SessionCloser;
    numbers: CallerNumbers;
    accounts: DialAccountLimits;
    wallets: { requireFunds(orgId: string): Promise<void> };
    orderLimits: OrderLimits;
    site: OutboundQueueSite;
  }) {
    this.#dials = deps.dials;
    this.#creation = deps.creation;
    this.#closer = deps.closer;
    this.#numbers = deps.numbers;
    this.#accounts = deps.accounts;
    this.#wallets = deps.wallets;
    this.#limits = deps.orderLimits;
    this.#site = deps.site;
    this.#known = new ExpiringCache({ clock: deps.site.clock, ttlMs: KNOWN_MS, maxEntries: 1000 });
  }

  /** @inheritdoc */
  async queue(order: OutboundOrder): Promise<SessionRecord> {
    const { agent, scope } = order;
    // Of a call that goes on, the agent may have been archived since.
    if (order.kind !== 'transfer') refuseArchived(agent);
    const numbers = await this.#callers(order);
    const number = await this.#inTurn(order, numbers);
    // Campaigns have asked for all calls that they order at one time; each sets money aside when it is dialled.
    if (order.kind !== 'campaign') await this.#wallets.requireFunds(scope.orgId);
    await this.#checkRoom(order);
    if (order.kind === 'single')
      await this.#limits.order({
        ...{ orgId: scope.orgId, projectId: scope.projectId },
        ...{ agentId: agent.agent_id, accountId: number.telephony_account_id },
      });
    const session = await this.#creation.createOutbound({
      agent,
      from: order.consult?.callerId ?? number.phone_number,
      to: order.to,
      carrier: number.provider,
      overrides: storedOverrides(order.overrides),
      variables: order.variables,
      analysisIds: order.analysisIds,
      campaignId: order.campaignId,
      contactId: order.contactId,
      attemptNumber: order.attemptNumber,
      dial: this.#dial(order, number, numbers),
      sessionId: order.sessionId,
      consult: order.consult,
    });
    await this.#site.bus.dispatch.publish(order.kind !== 'campaign');
    return session;
  }

  /** @inheritdoc */
  async check(order: OutboundOrder): Promise<void> {
    refuseArchived(order.agent);
    await this.#callers(order);
    effectiveVariables(order.agent, order.variables);
  }

  /** @inheritdoc */
  async withdraw({
    campaignId,
    ringing = false,
    anew = false,
  }: {
    campaignId: string;
    ringing?: boolean;
    anew?: boolean;
  }): Promise<number> {
    const states: DialState[] = ringing
      ? ['waiting', 'claimed', 'sent', 'uncertain', 'known']
      : ['waiting', 'claimed'];
    let withdrawn = 0;
    for (const state of states)
      for (;;) {
        const page = await this.#dials.inState(state, { campaign_id: campaignId, ...OPEN }, PAGE);
        const closed = await Promise.all(page.map((session) => this.#cancel(session, { ringing, anew })));
        const count = closed.filter(Boolean).length;
        withdrawn += count;
        if (page.length < PAGE || count === 0) break;
      }
    return withdrawn;
  }

  async #cancel(
    { _id }: SessionRecord,
    { ringing, anew }: { ringing: boolean; anew: boolean },
  ): Promise<boolean> {
    const now = new Date(this.#site.clock.now());
    const closed = await this.#closer.close(_id, 'cancelled', {
      where: { leg: -1, ...(ringing ? {} : { status: 'queued' as const }) },
      set: {
        ...{ ended_at: now, closed_by: 'api' },
        ...(anew ? { ended_by: 'system' } : { ended_by: 'api', hangup_reason: 'api_hangup' }),
        ...{ post_call_status: 'skipped', post_call_finished_at: now },
      },
    });
    return closed !== null;
  }

  /** Numbers that may be shown now, at accounts that may be used now. */
  async #callers(order: OutboundOrder): Promise<CallerNumber[]> {
    const { kind, scope, numberIds, agent, consult } = order;
    if (consult) return [await this.#numberAt(order, consult.accountId)];
    const own = agent.config.telephony.phone_number_id;
    const asked = numberIds.length > 0 ? numberIds : own === null ? [] : [own];
    const find = () => this.#numbers.callers(scope, asked);
    // A client may have changed a number just now.
    const callers = await (kind === 'campaign'
      ? this.#known.get(`${scope.projectId}:${asked.join()}`, find)
      : find());
    const usable: CallerNumber[] = [];
    for (const caller of callers) {
      const account = await this.#accounts.limitsOf(caller.telephony_account_id);
      if (account && isUsable(account)) usable.push(caller);
    }
    if (usable.length > 0) return asked.length > 0 ? usable : usable.slice(0, 1);
    throw noNumber();
  }

  /** A number of the one account that will do: that which was asked for, where it may call, else any. */
  async #numberAt({ scope, numberIds }: OutboundOrder, accountId: string): Promise<CallerNumber> {
    const account = await this.#accounts.limitsOf(accountId);
    if (!account || !isUsable(account)) throw noNumber();
    for (const ids of numberIds.length > 0 ? [numberIds, []] : [[]]) {
      const callers = await this.#numbers.callers(scope, ids);
      const number = callers.find(({ telephony_account_id: id }) => id === accountId);
      if (number) return number;
    }
    throw noNumber();
  }

  /** The numbers of a campaign, or of one order, take turns. */
  async #inTurn(
    { campaignId, agent }: OutboundOrder,
    numbers: readonly CallerNumber[],
  ): Promise<CallerNumber> {
    if (numbers.length === 1) return numbers[0]!;
    const { count } = await this.#site.bus.rates.hit(
      `numbers:${campaignId ?? agent.agent_id}`,
      ROTATION_SECONDS,
    );
    return numbers[(count - 1) % numbers.length]!;
  }

  async #checkRoom({ kind, scope }: OutboundOrder): Promise<void> {
    const limit = this.#site.maxQueuedPerOrg;
    // Campaigns feed the queue by what is free.
    if (kind !== 'single' || limit === 0) return;
    const waiting = await this.#dials.countWaiting(scope.orgId, DIAL_PRIORITIES.single, limit);
    if (waiting >= limit)
      throw new TooManyRequestsError('queue_full', `The queue of outbound calls is full (${limit}).`, 10);
  }

  #dial(order: OutboundOrder, number: CallerNumber, numbers: readonly CallerNumber[]): SessionDial {
    const now = this.#site.clock.now();
    const notBefore = Math.max(now, order.notBefore?.getTime() ?? 0);
    const { telephony } = order.agent.config;
    const { kind, consult } = order;
    const hours = kind === 'transfer' ? null : (order.callingHours ?? telephony.calling_hours);
    return {
      id: null,
      state: 'waiting',
      kind,
      priority: DIAL_PRIORITIES[kind],
      source: order.source,
      account_id: number.telephony_account_id,
      number_id: number._id,
      number_ids: numbers.map(({ _id }) => _id),
      queued_at: new Date(notBefore),
      not_before: new Date(notBefore),
      give_up_at: new Date(notBefore + QUEUE_TIMEOUTS_MS[kind]),
      owner: null,
      lease_until: null,
      tries: 0,
      sent_at: null,
      look_up_at: null,
      answered_at: null,
      ring_timeout_seconds: consult?.ringTimeoutSeconds ?? telephony.ring_timeout_seconds,
      calling_hours: hours === null ? null : JSON.stringify(hours),
      contact_timezone: order.contactTimezone,
      carrier_request_id: null,
    };
  }
}

/** Sessions that may still be cancelled. */
const OPEN = { leg: -1, status: { $in: ['queued' as const, 'dialing' as const, 'ringing' as const] } };

/** Limits that an org has set on what its clients order: `OutboundLimits`. */
export interface OrderLimits {
  /** Counts one more. @throws TooManyRequestsError `rate_limited`, `concurrency_limit` */
  order(target: { orgId: string; projectId: string; agentId: string; accountId: string }): Promise<void>;
}

/** Where calls are queued. */
export interface OutboundQueueSite {
  bus: { rates: RateCounter; dispatch: Wakeup };
  clock: Clock;
  /** Single calls of one org that wait; 0: no limit. */
  maxQueuedPerOrg: number;
}

function noNumber(): ConflictError {
  return new ConflictError(
    'invalid_state',
    'No phone number can be used for the call: it must be active, allow outbound calls, and its telephony account must be usable.',
  );
}
