import { NotFoundError, ValidationError } from '@parley/shared/errors/app-error';
import type { ErrorRef } from '@parley/shared/errors/app-error';
import { invalid } from '../http/validation.ts';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import type { Database } from '../storage/database.ts';
import type { Principal } from '../tenancy/principal.ts';
import { checkReferences, missingReferences, referenceNotFound } from '../tenancy/references.ts';
import type { Loc } from '../tenancy/references.ts';
import type { Scope } from '../tenancy/scope.ts';
import { toContent } from './agent-content.ts';
import { agentCollection } from './agent-model.ts';
import type { AgentLink, AgentRecord } from './agent-record.ts';
import type { AgentWriter } from './agent-writer.ts';

export const LINK_LIMITS = { tools: 30, analyses: 20, knowledge_bases: 10 } as const;
export type LinkKind = keyof typeof LINK_LIMITS;
const LINK_KINDS = ['tools', 'analyses', 'knowledge_bases'] as const satisfies readonly LinkKind[];

/** Records of other features that may be attached to an agent. */
export type AttachableRecords = Readonly<Record<LinkKind, Collection<StoredRecord>>>;

/** What is attached to agents. */
export class AgentLinks {
  readonly #database: Database;
  readonly #writer: AgentWriter;
  readonly #records: AttachableRecords;

  constructor(deps: { database: Database; writer: AgentWriter; records: AttachableRecords }) {
    this.#database = deps.database;
    this.#writer = deps.writer;
    this.#records = deps.records;
  }

  /**
   * Attaches, or finds attached.
   * @param loc where the request names it
   * @throws ValidationError `reference_not_found`; `too_long` past the limit of this kind
   */
  async attach(
    scope: Scope,
    caller: Principal,
    agent: AgentRecord,
    kind: LinkKind,
    id: string,
    loc: Loc,
  ): Promise<AgentLink> {
    await checkReferences(scope, [{ collection: this.#records[kind], id, loc }]);
    const changed = await this.#writer.change(scope, caller, agent, {}, async (current) => {
      const content = toContent(current);
      if (!content[kind].some((link) => link.id === id)) {
        if (content[kind].length >= LINK_LIMITS[kind]) {
          throw invalid(['body'], `must have at most ${LINK_LIMITS[kind]} entries`, 'too_long');
        }
        content[kind] = [...content[kind], { id, enabled: true }];
      }
      return { content, webhooks: current.webhooks };
    });
    const kept = await this.dropDeleted(scope, caller, changed);
    const link = kept[kind].find((one) => one.id === id);
    if (!link) throw new ValidationError([referenceNotFound(loc)]);
    return link;
  }

  /**
   * Takes off an agent what was deleted while it was being attached. Whoever writes links calls it after the write,
   * and whoever deletes calls `detachEverywhere` after the deletion: one of the two sees the other.
   */
  async dropDeleted(scope: Scope, caller: Principal, agent: AgentRecord): Promise<AgentRecord> {
    let current = agent;
    for (const kind of LINK_KINDS) {
      const references = current[kind].map(({ id }) => ({ collection: this.#records[kind], id, loc: [id] }));
      const gone = (await missingReferences(scope, references)).map(({ loc }) => loc[0]);
      if (gone.length === 0) continue;
      current = await this.#writer.change(scope, caller, current, { archived: true }, async (now) => {
        const content = toContent(now);
        content[kind] = content[kind].filter((link) => !gone.includes(link.id));
        return { content, webhooks: now.webhooks };
      });
    }
    return current;
  }

  /** @throws NotFoundError when it is not attached */
  async setLink(
    scope: Scope,
    caller: Principal,
    agent: AgentRecord,
    kind: LinkKind,
    id: string,
    enabled: boolean,
  ): Promise<AgentLink> {
    await this.#writer.change(scope, caller, agent, {}, async (current) => {
      const content = toContent(current);
      if (!content[kind].some((link) => link.id === id)) throw new NotFoundError();
      content[kind] = content[kind].map((link) => (link.id === id ? { id, enabled } : link));
      return { content, webhooks: current.webhooks };
    });
    return { id, enabled };
  }

  /** @throws NotFoundError when it is not attached */
  async detach(
    scope: Scope,
    caller: Principal,
    agent: AgentRecord,
    kind: LinkKind,
    id: string,
  ): Promise<void> {
    await this.#writer.change(scope, caller, agent, {}, async (current) => {
      const content = toContent(current);
      if (!content[kind].some((link) => link.id === id)) throw new NotFoundError();
      content[kind] = content[kind].filter((link) => link.id !== id);
      return { content, webhooks: current.webhooks };
    });
  }

  /** Live agents of the org that have it attached, as 409 names them. */
  async attachedTo(scope: Scope, kind: LinkKind, id: string): Promise<ErrorRef[]> {
    const agents = await this.#database
      .model(agentCollection)
      .find({ org_id: scope.orgId, [`${kind}.id`]: id, archived_at: null })
      .select({ name: 1 })
      .limit(20)
      .lean<{ _id: string; name: string }[]>();
    return agents.map((agent) => ({ type: 'agent', id: agent._id, name: agent.name }));
  }

  /** Takes what was deleted off every agent of the org, archived ones too, each with a new version. */
  async detachEverywhere(scope: Scope, caller: Principal, kind: LinkKind, id: string): Promise<void> {
    const agents = await this.#database
      .model(agentCollection)
      .find({ org_id: scope.orgId, [`${kind}.id`]: id })
      .limit(10_000)
      .lean<AgentRecord[]>();
    for (const agent of agents) {
      const own = scope.inProject(agent.project_id);
      await this.#writer.change(own, caller, agent, { archived: true }, async (current) => {
        const content = toContent(current);
        content[kind] = content[kind].filter((link) => link.id !== id);
        return { content, webhooks: current.webhooks };
      });
    }
  }
}
