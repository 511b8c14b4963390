import type { Model } from 'mongoose';
import { ConflictError, ValidationError } from '@parley/shared/errors/app-error';
import { newWebhookSecret } from '@parley/shared/http/webhook-signature';
import type { Clock } from '@parley/shared/time/clock';
import type { AgentRecord } from '../agents/agent-record.ts';
import type { AgentService } from '../agents/agent-service.ts';
import type { AuditLog } from '../audit/audit-trail.ts';
import { maskSecret, type MaskedSecret, type SecretBox } from '../crypto/secret-box.ts';
import type { Collection } from '../storage/collection.ts';
import type { Database } from '../storage/database.ts';
import type { Principal } from '../tenancy/principal.ts';
import type { Scope } from '../tenancy/scope.ts';

/** What it writes to the audit trail. */
export const WEBHOOK_AUDIT = ['secret.rotated'] as const;

export type WebhookName = 'start_call' | 'call_ended';

/** One webhook's secret, as stored with the agent. */
interface StoredSecret {
  /** Encrypted. */
  secret: string;
  rotated_at: Date;
  /** Still good for a while after a rotation. */
  previous: { secret: string; valid_until: Date } | null;
}

export interface Rotation {
  secret: string;
  rotatedAt: Date;
  previousValidUntil: Date | null;
}

const ROTATE_TRIES = 5;

/** The two webhooks of an agent: what is stored of them, and their secrets. */
export class AgentWebhookService {
  readonly #agents: AgentService;
  readonly #model: Model<AgentRecord>;
  readonly #box: SecretBox;
  readonly #audit: AuditLog<(typeof WEBHOOK_AUDIT)[number]>;
  readonly #clock: Clock;

  constructor(deps: {
    agents: AgentService;
    database: Database;
    /** Where agents are kept: their secrets stand in their records. */
    agentRecords: Collection<AgentRecord>;
    box: SecretBox;
    audit: AuditLog<(typeof WEBHOOK_AUDIT)[number]>;
    clock: Clock;
  }) {
    this.#agents = deps.agents;
    this.#model = deps.database.model(deps.agentRecords);
    this.#box = deps.box;
    this.#audit = deps.audit;
    this.#clock = deps.clock;
  }

  /**
   * A new secret, shown this once. The first one of start-call enables that webhook, too: one request is enough to get
   * going.
   */
  async rotate(
    scope: Scope,
    caller: Principal,
    address: string,
    agent: AgentRecord,
    webhook: WebhookName,
    graceSeconds: number,
  ): Promise<Rotation> {
    const { first, ...rotation } = await this.#replaceSecret(agent._id, webhook, graceSeconds);
    if (first && webhook === 'start_call' && agent.archived_at === null)
      await this.#agents.setWebhooks(scope, caller, agent, { start_call: { enabled: true } });
    await this.#audit.record({ scope, caller, address, action: 'secret.rotated', target: agent._id });
    return rotation;
  }

  /**
   * Stores settings; the same values as `config.webhooks`. Enabling makes a secret where there is none.
   * @throws ValidationError with the places of this request's body
   */
  async set(
    scope: Scope,
    caller: Principal,
    agent: AgentRecord,
    webhook: WebhookName,
    settings: Record<string, unknown> & { enabled: boolean },
  ): Promise<AgentRecord> {
    try {
      const changed = await this.#agents.setWebhooks(scope, caller, agent, { [webhook]: settings });
      if (settings.enabled) await this.secrets(agent._id, webhook);
      return (await this.find(agent._id)) ?? changed;
    } catch (error) {
      if (!(error instanceof ValidationError)) throw error;
      const inside = ['body', 'config', 'webhooks', webhook];
      throw new ValidationError(
        error.details.map((detail) => ({
          ...detail,
          loc: inside.every((part, index) => detail.loc[index] === part)
            ? ['body', ...detail.loc.slice(inside.length)]
            : detail.loc,
        })),
      );
    }
  }

  /** Secrets to sign with, the newest first; made when there is none. Empty when the agent is gone. */
  async secrets(agentId: string, webhook: WebhookName): Promise<string[]> {
    const agent = await this.find(agentId);
    if (!agent) return [];
    if (storedSecret(agent, webhook)) return this.#valid(agent, webhook);
    return [(await this.#replaceSecret(agentId, webhook, 0, { onlyFirst: true })).secret];
  }

  /** Secrets to check a signature with, the newest first. Empty when there is none, or the agent is gone. */
  async known(agentId: string, webhook: WebhookName): Promise<string[]> {
    const agent = await this.find(agentId);
    return agent ? this.#valid(agent, webhook) : [];
  }

  #valid(agent: AgentRecord, webhook: WebhookName): string[] {
    const stored = storedSecret(agent, webhook);
    if (!stored) return [];
    const { previous } = stored;
    return [
      this.#box.decryptSecret(stored.secret),
      ...(previous && previous.valid_until.getTime() > this.#clock.now()
        ? [this.#box.decryptSecret(previous.secret)]
        : []),
    ];
  }

  mask(agent: AgentRecord, webhook: WebhookName): MaskedSecret {
    const stored = storedSecret(agent, webhook);
    return stored ? maskSecret(this.#box.decryptSecret(stored.secret)) : { set: false, last_four: '' };
  }

  find(agentId: string): Promise<AgentRecord | null> {
    return this.#model.findOne({ _id: agentId }).lean<AgentRecord>();
  }

  async #replaceSecret(
    agentId: string,
    webhook: WebhookName,
    graceSeconds: number,
    { onlyFirst = false }: { onlyFirst?: boolean } = {},
  ): Promise<Rotation & { first: boolean }> {
    const path = `webhook_secrets.${webhook}`;
    for (let attempt = 0; attempt < ROTATE_TRIES; attempt++) {
      const agent = await this.find(agentId);
      const before = agent && storedSecret(agent, webhook);
      if (onlyFirst && before) {
        const secret = this.#box.decryptSecret(before.secret);
        return { secret, rotatedAt: before.rotated_at, previousValidUntil: null, first: false };
      }
      const secret = newWebhookSecret();
      const rotatedAt = new Date(this.#clock.now());
      const validUntil =
        before && graceSeconds > 0 ? new Date(rotatedAt.getTime() + graceSeconds * 1000) : null;
      const next: StoredSecret = {
        secret: this.#box.encryptSecret(secret),
        rotated_at: rotatedAt,
        previous: before && validUntil ? { secret: before.secret, valid_until: validUntil } : null,
      };
      // Of two rotations at once the later one sees the earlier one's secret.
      const unchanged = before ? { [`${path}.secret`]: before.secret } : { [path]: { $exists: false } };
      const { matchedCount } = await this.#model.updateOne(
        { _id: agentId, ...unchanged },
        { $set: { [path]: next } },
      );
      if (matchedCount === 1) return { secret, rotatedAt, previousValidUntil: validUntil, first: !before };
    }
    throw new ConflictError(
      'conflict',
      'The webhook secret is being rotated by another request. Retry the request.',
    );
  }
}

function storedSecret(agent: AgentRecord, webhook: WebhookName): StoredSecret | undefined {
  return agent.webhook_secrets[webhook] as StoredSecret | undefined;
}
