import { createHash } from 'node:crypto';
import type { Model } from 'mongoose';
import { ConflictError } from '@parley/shared/errors/app-error';
import { OutboundFailedError, OutboundRefusedError } from '@parley/shared/http/outbound-errors';
import type { SafeFetch } from '@parley/shared/http/safe-fetch';
import {
  SIGNATURE_HEADER,
  signWebhook,
  standardWebhooksHeaders,
} from '@parley/shared/http/webhook-signature';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import { fillConfig } from '../agents/agent-config-input.ts';
import type { AgentRecord } from '../agents/agent-record.ts';
import type { CallLog } from '../calls/call-log.ts';
import type { PeriodicTask } from '../jobs/periodic-task.ts';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import type { AgentWebhookService } from './agent-webhook-service.ts';
import { webhookDeliveryCollection } from './webhook-delivery-model.ts';
import type { WebhookDeliveryRecord } from './webhook-delivery-model.ts';
import { parseRetryAfterMs, retryDelayMs } from './webhook-retry.ts';

export const CALL_ENDED = 'call.ended';
/** Attempts of this process at a time. */
const PARALLEL = 16;
/** Longer than any attempt takes. */
const LEASE_MS = 60_000;

export interface DeliveryRequest {
  org_id: string;
  project_id: string;
  session_id: string;
  agent_id: string;
  event: string;
  url: string;
  /** Sent as it is at every attempt. */
  payload: object;
}

/** What deliveries ask of agents. */
interface AgentWebhooks extends Pick<AgentWebhookService, 'secrets'> {
  find(agentId: string): Promise<Pick<AgentRecord, 'webhooks'> | null>;
}

interface Attempt {
  status: number | null;
  error: string | null;
  retryAfterMs: number;
  ms: number;
}

/** Delivers webhooks at least once: stored first, then tried until it is taken or given up. */
export class WebhookDeliveryService {
  readonly #deliveries: Model<WebhookDeliveryRecord>;
  readonly #webhooks: AgentWebhooks;
  readonly #callLog: Pick<CallLog, 'append'>;
  readonly #fetch: Pick<SafeFetch, 'request'>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #owner: string;
  #task: PeriodicTask | undefined;

  constructor(deps: {
    database: Database;
    webhooks: AgentWebhooks;
    callLog: Pick<CallLog, 'append'>;
    safeFetch: Pick<SafeFetch, 'request'>;
    clock: Clock;
    logger: Logger;
    /** Names this process. */
    owner: string;
  }) {
    this.#deliveries = deps.database.model(webhookDeliveryCollection);
    this.#webhooks = deps.webhooks;
    this.#callLog = deps.callLog;
    this.#fetch = deps.safeFetch;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#owner = deps.owner;
  }

  /** The task that runs `work`, to be woken when there is something new. */
  wakeWith(task: PeriodicTask): void {
    this.#task = task;
  }

  /** Stores a delivery. The same session and event again changes nothing. @returns its id */
  async create(request: DeliveryRequest): Promise<string> {
    const id = deliveryId(request.session_id, request.event);
    const { payload, ...rest } = request;
    try {
      const Delivery = this.#deliveries;
      await new Delivery({
        _id: id,
        ...rest,
        payload: JSON.stringify(payload),
        status: 'pending',
        next_attempt_at: new Date(this.#clock.now()),
        lease_until: new Date(0),
      }).save();
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
    void this.#task?.runNow();
    return id;
  }

  /**
   * Asks for a delivery once more, at the agent's current address.
   * @throws ConflictError `invalid_state` while it is still tried, or once it was erased
   */
  async redeliver(delivery: WebhookDeliveryRecord): Promise<WebhookDeliveryRecord> {
    if (delivery.payload === null)
      throw new ConflictError(
        'invalid_state',
        'The contents of this delivery have been erased: it cannot be sent again.',
      );
    const agent = await this.#webhooks.find(delivery.agent_id);
    const url = agent ? settingsOf(agent).url : null;
    const again = await this.#deliveries
      .findOneAndUpdate(
        { _id: delivery._id, status: { $in: ['succeeded', 'failed', 'cancelled'] }, payload: { $ne: null } },
        {
          $set: {
            status: 'pending',
            round_attempts: 0,
            next_attempt_at: new Date(this.#clock.now()),
            url: url ?? delivery.url,
          },
        },
        { returnDocument: 'after' },
      )
      .lean<WebhookDeliveryRecord>();
    if (!again)
      throw new ConflictError(
        'invalid_state',
        'The delivery is still in progress. Wait until it has succeeded or failed.',
      );
    void this.#task?.runNow();
    return again;
  }

  /** Sends one sample, without retry. */
  async test(
    agent: AgentRecord,
    payload: object,
  ): Promise<{ ok: boolean; status?: number; ms: number; error?: string }> {
    const { url, timeout_ms } = settingsOf(agent);
    if (url === null) throw new ConflictError('invalid_state', 'The webhook has no URL. Set one first.');
    const attempt = await this.#send(
      { id: `whd_test${deliveryId(agent._id, String(this.#clock.now())).slice(4)}`, attempt: 1 },
      { url, timeoutMs: timeout_ms, orgId: agent.org_id, agentId: agent._id, body: JSON.stringify(payload) },
    );
    return {
      ok: isSuccess(attempt),
      ms: attempt.ms,
      ...(attempt.status === null ? {} : { status: attempt.status }),
      ...(attempt.error === null ? {} : { error: attempt.error }),
    };
  }

  /** Makes every attempt that is due. */
  async work(signal: AbortSignal): Promise<void> {
    const lanes = Array.from({ length: PARALLEL }, async () => {
      while (!signal.aborted) {
        const delivery = await this.#claim();
        if (!delivery) return;
        await this.#attempt(delivery);
      }
    });
    await Promise.all(lanes);
  }

  /** Whether one of the session's is still to be made. */
  async isPending(sessionId: string): Promise<boolean> {
    const status = { $in: ['pending', 'retrying'] };
    return (await this.#deliveries.exists({ session_id: sessionId, status } as never)) !== null;
  }

  /** Forgets what was sent; what waits is not sent any more. */
  async erase(sessionId: string): Promise<void> {
    await this.#deliveries.updateMany({ session_id: sessionId }, { $set: { payload: null } });
    await this.#deliveries.updateMany(
      { session_id: sessionId, status: { $in: ['pending', 'retrying'] } },
      { $set: { status: 'cancelled', next_attempt_at: null } },
    );
  }

  #claim(): Promise<WebhookDeliveryRecord | null> {
    const now = new Date(this.#clock.now());
    return this.#deliveries
      .findOneAndUpdate(
        {
          status: { $in: ['pending', 'retrying'] },
          next_attempt_at: { $lte: now },
          lease_until: { $lte: now },
        },
        {
          $set: { lease_owner: this.#owner, lease_until: new Date(now.getTime() + LEASE_MS) },
          $inc: { attempts: 1, round_attempts: 1 },
        },
        { sort: { next_attempt_at: 1 }, returnDocument: 'after' },
      )
      .lean<WebhookDeliveryRecord>();
  }

  async #attempt(delivery: WebhookDeliveryRecord): Promise<void> {
    const agent = await this.#webhooks.find(delivery.agent_id);
    const settings = agent && settingsOf(agent);
    if (!settings?.enabled || delivery.payload === null) {
      await this.#settle(delivery, { status: 'cancelled', next_attempt_at: null });
      return;
    }
    const attempt = await this.#send(
      { id: delivery._id, attempt: delivery.attempts },
      {
        url: delivery.url,
        timeoutMs: settings.timeout_ms,
        orgId: delivery.org_id,
        agentId: delivery.agent_id,
        body: delivery.payload,
      },
    );
    const outcome = { last_status: attempt.status, last_error: attempt.error };
    const now = this.#clock.now();
    if (isSuccess(attempt)) {
      await this.#settle(delivery, {
        ...outcome,
        status: 'succeeded',
        next_attempt_at: null,
        delivered_at: new Date(now),
      });
    } else if (attempt.status === 410) {
      await this.#settle(delivery, { ...outcome, status: 'cancelled', next_attempt_at: null });
    } else {
      const delay = retryDelayMs(delivery.round_attempts, { retryAfterMs: attempt.retryAfterMs });
      await this.#settle(delivery, {
        ...outcome,
        status: delay === null ? 'failed' : 'retrying',
        next_attempt_at: delay === null ? null : new Date(now + delay),
      });
    }
    const { session_id, org_id, project_id } = delivery;
    await this.#callLog.append(
      { session_id, org_id, project_id },
      {
        type: 'webhook',
        key: `webhook_${delivery.attempts}`,
        data: { delivery_id: delivery._id, attempt: delivery.attempts, ok: isSuccess(attempt), ...outcome },
      },
    );
  }

  /** Only while the lease is ours: erased or taken over meanwhile, others have the say. */
  async #settle(delivery: WebhookDeliveryRecord, set: Partial<WebhookDeliveryRecord>): Promise<void> {
    await this.#deliveries.updateOne(
      { _id: delivery._id, lease_owner: this.#owner, status: { $in: ['pending', 'retrying'] } },
      { $set: { ...set, lease_owner: null, lease_until: new Date(0) } },
    );
  }

  async #send(
    name: { id: string; attempt: number },
    request: { url: string; timeoutMs: number; orgId: string; agentId: string; body: string },
  ): Promise<Attempt> {
    const started = this.#clock.monotonic();
    const done = (answer: Omit<Attempt, 'ms'>): Attempt => ({
      ...answer,
      ms: Math.round(this.#clock.monotonic() - started),
    });
    try {
      const secrets = await this.#webhooks.secrets(request.agentId, 'call_ended');
      const now = this.#clock.now();
      const answer = await this.#fetch.request({
        method: 'POST',
        url: request.url,
        purpose: 'webhook',
        orgId: request.orgId,
        timeoutMs: request.timeoutMs,
        headers: {
          'Content-Type': 'application/json',
          'X-Webhook-Id': name.id,
          'X-Webhook-Event': CALL_ENDED,
          'X-Webhook-Attempt': String(name.attempt),
          [SIGNATURE_HEADER]: signWebhook(secrets, request.body, now),
          ...standardWebhooksHeaders(secrets, name.id, request.body, now),
        },
        body: request.body,
      });
      const retryAfterMs = parseRetryAfterMs(answer.headers['retry-after'], this.#clock.now());
      const ok = answer.status >= 200 && answer.status < 300;
      return done({ status: answer.status, error: ok ? null : `HTTP ${answer.status}`, retryAfterMs });
    } catch (error) {
      if (!(error instanceof OutboundFailedError || error instanceof OutboundRefusedError)) {
        this.#logger.error({ err: error, deliveryId: name.id }, 'a webhook could not be sent');
      }
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'internal';
      return done({ status: null, error: code, retryAfterMs: 0 });
    }
  }
}

/** What the agent says of its call-ended webhook now. */
export function settingsOf(agent: Pick<AgentRecord, 'webhooks'>) {
  return fillConfig({ config: {}, webhooks: agent.webhooks }).webhooks.call_ended;
}

function isSuccess(attempt: Attempt): boolean {
  return attempt.status !== null && attempt.status >= 200 && attempt.status < 300;
}

/** The same session and event give the same id, so that a second run finds the first. */
export function deliveryId(sessionId: string, event: string): string {
  return `whd_${createHash('sha256').update(`${sessionId}:${event}`).digest('hex').slice(0, 26)}`;
}
