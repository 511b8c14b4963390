import { isDeepStrictEqual } from 'node:util';
import { ConflictError } from '@parley/shared/errors/app-error';
import type { Clock } from '@parley/shared/time/clock';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import { principalId } from '../tenancy/principal.ts';
import type { Principal } from '../tenancy/principal.ts';
import { checkRoom } from '../tenancy/record-limit.ts';
import { MAX_CHANGE_ATTEMPTS } from '../tenancy/scope.ts';
import type { Scope } from '../tenancy/scope.ts';
import { fillConfig } from './agent-config-input.ts';
import { plain, toContent, versionId } from './agent-content.ts';
import { agentCollection, agentVersionCollection } from './agent-model.ts';
import type { AgentContent, AgentRecord } from './agent-record.ts';

/** Databases of agents' calls, which agents have by a setting. */
export interface AgentDatabases {
  /** Makes the agent's unless it has one, and notes it on the agent. @returns its id */
  ensure(agent: AgentRecord): Promise<string>;
}

/** Writes agents so that no version is lost: of those that write at once one wins, and the others look again. */
export class AgentWriter {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #databases: AgentDatabases;

  constructor(deps: { database: Database; clock: Clock; databases: AgentDatabases }) {
    this.#database = deps.database;
    this.#clock = deps.clock;
    this.#databases = deps.databases;
  }

  /** @throws ConflictError `duplicate`, `limit_reached` */
  async insert(
    scope: Scope,
    caller: Principal,
    id: string,
    content: AgentContent,
    webhooks: AgentRecord['webhooks'],
    restoredFrom: number | null,
  ): Promise<AgentRecord> {
    // Archived ones count, too: they go when they are purged.
    await checkRoom(scope.collection(agentCollection));
    const agent = await this.named(() =>
      scope.collection(agentCollection).insert({
        _id: id,
        ...content,
        unique_name: content.name,
        revision: 1,
        version: 1,
        version_created_by: principalId(caller),
        version_created_at: new Date(this.#clock.now()),
        version_restored_from: restoredFrom,
        webhooks,
        webhook_secrets: {},
        traffic: { mode: 'latest', splits: [], require_passed_tests: false },
        auto_database_id: null,
        archived_at: null,
      }),
    );
    await this.saveVersion(agent);
    return this.#withDatabase(agent);
  }

  /**
   * Reads, computes, and writes only if nobody else did meanwhile: one atomic step decides, and the loser computes
   * again from what is there now.
   */
  async change(
    scope: Scope,
    caller: Principal,
    agent: AgentRecord,
    options: { ifMatch?: number | undefined; restoredFrom?: number; archived?: boolean },
    compute: (current: AgentRecord) => Promise<{ content: AgentContent; webhooks: AgentRecord['webhooks'] }>,
  ): Promise<AgentRecord> {
    const agents = scope.collection(agentCollection);
    let current = agent;
    for (let attempt = 0; attempt < MAX_CHANGE_ATTEMPTS; attempt++) {
      if (attempt > 0) current = await agents.get(agent._id);
      const { content, webhooks } = await compute(current);
      if (current.archived_at && !options.archived)
        throw new ConflictError('invalid_state', 'The agent is archived. Restore it first.');
      if (options.ifMatch !== undefined && options.ifMatch !== current.version) {
        throw new ConflictError(
          'version_conflict',
          `The agent is at version ${current.version}, not at the version of If-Match. Get it and try again.`,
        );
      }
      const before = shown(toContent(current), current.webhooks);
      const after = shown(content, webhooks);
      const sameContent = isDeepStrictEqual(after.content, before.content);
      if (sameContent && isDeepStrictEqual(after.webhooks, before.webhooks))
        return this.#withDatabase(current);
      const unchanged = { _id: agent._id, revision: current.revision };
      if (sameContent) {
        const changed = await agents.update(unchanged, { $set: { webhooks }, $inc: { revision: 1 } });
        if (changed) return changed;
        continue;
      }
      // The version that is being left is written first: a crash between two writes loses none.
      await this.saveVersion(current);
      const changed = await this.named(() =>
        agents.update(unchanged, {
          $inc: { revision: 1 },
          $set: {
            ...content,
            webhooks,
            unique_name: current.archived_at ? current.unique_name : content.name,
            version: current.version + 1,
            version_created_by: principalId(caller),
            version_created_at: new Date(this.#clock.now()),
            version_restored_from: options.restoredFrom ?? null,
          },
        }),
      );
      if (!changed) continue;
      await this.saveVersion(changed);
      return this.#withDatabase(changed);
    }
    throw new ConflictError(
      'version_conflict',
      'The agent was changed by another request at the same time. Retry the request.',
    );
  }

  /** Gives the agent the database that its config asks for; a crash before is made up for by its next call. */
  async #withDatabase(agent: AgentRecord): Promise<AgentRecord> {
    if (agent.config.auto_database !== true || agent.auto_database_id !== null) return agent;
    return { ...agent, auto_database_id: await this.#databases.ensure(agent) };
  }

  /** Keeps the agent's current version; again is harmless. */
  async saveVersion(agent: AgentRecord): Promise<void> {
    const record = {
      org_id: agent.org_id,
      project_id: agent.project_id,
      agent_id: agent._id,
      version: agent.version,
      label: null,
      snapshot: toContent(agent),
      restored_from: agent.version_restored_from,
      created_by: agent.version_created_by,
      created_at: agent.version_created_at,
      updated_at: agent.version_created_at,
    };
    await this.#database
      .model(agentVersionCollection)
      .updateOne(
        { _id: versionId(agent._id, agent.version) },
        { $setOnInsert: record },
        { upsert: true, timestamps: false },
      );
  }

  /** Refuses a name that another live agent has. @throws ConflictError `duplicate` */
  async named<T>(write: () => Promise<T>): Promise<T> {
    try {
      return await write();
    } catch (error) {
      if (!isDuplicateKey(error, 'unique_name')) throw error;
      throw new ConflictError('duplicate', 'An agent of this project already has this name.', {
        cause: error,
      });
    }
  }
}

/** As a client reads it: a default that was sent is no change of one that was not. */
function shown(content: AgentContent, webhooks: AgentRecord['webhooks']) {
  const { webhooks: filledWebhooks, ...config } = fillConfig({ config: content.config, webhooks });
  return { content: plain({ ...content, config }), webhooks: plain(filledWebhooks) };
}
