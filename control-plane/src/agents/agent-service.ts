import { isDeepStrictEqual } from 'node:util';
import { AppError, ConflictError, NotFoundError, ValidationError } from '@parley/shared/errors/app-error';
import type { ErrorRef, ValidationDetail } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { AuditLog } from '../audit/audit-trail.ts';
import { invalid } from '../http/validation.ts';
import { commonFilter, equalities } from '../http/list-query.ts';
import type { AnyOf, ListInput } from '../http/list-query.ts';
import { projectCollection } from '../projects/project-model.ts';
import type { ModelCatalog } from '../providers/model-catalog.ts';
import type { SessionAgent, SessionAgents } from '../sessions/session-agent.ts';
import type { Database } from '../storage/database.ts';
import { defined } from '../storage/defined.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import type { ListPage } from '../storage/list.ts';
import { principalId } from '../tenancy/principal.ts';
import type { Principal } from '../tenancy/principal.ts';
import { checkRoom } from '../tenancy/record-limit.ts';
import type { Scope } from '../tenancy/scope.ts';
import { applyConfig, fillConfig } from './agent-config-input.ts';
import { agentCollection, agentVersionCollection, CONTENT_FIELDS } from './agent-model.ts';
import type { AgentContent, AgentLink, AgentRecord, AgentVersionRecord } from './agent-model.ts';
import { checkContent } from './agent-references.ts';
import type { CreateAgentRequest, PatchAgentRequest } from './agent-schema.ts';
import { HeaderSecrets } from './header-secrets.ts';

/** What it writes to the audit trail. */
export const AGENT_AUDIT = ['agent.purged'] as const;

/** Writers that meet more often than this are told so. */
const MAX_TRIES = 5;

export const LINK_LIMITS = { tools: 30, analyses: 20, knowledge_bases: 10 } as const;
export type LinkKind = keyof typeof LINK_LIMITS;

/** Whether all tests of a run against that version have passed. */
export interface PassedTests {
  (scope: Scope, agentId: string, version: number): Promise<boolean>;
}

/** Agents, their versions and their traffic. */
export class AgentService implements SessionAgents {
  readonly #database: Database;
  readonly #models: ModelCatalog;
  readonly #secrets: HeaderSecrets;
  readonly #audit: AuditLog<(typeof AGENT_AUDIT)[number]>;
  readonly #clock: Clock;
  readonly #outboundAllow: readonly string[];
  readonly #uses: (scope: Scope, agentId: string) => Promise<ErrorRef[]>;
  readonly #erase: (scope: Scope, agentId: string) => Promise<void>;
  readonly #hasPassedTests: PassedTests;

  constructor(deps: {
    database: Database;
    models: ModelCatalog;
    secrets: HeaderSecrets;
    audit: AuditLog<(typeof AGENT_AUDIT)[number]>;
    clock: Clock;
    outboundAllow: readonly string[];
    /** What keeps an agent from being archived, such as a number that rings it. */
    uses: (scope: Scope, agentId: string) => Promise<ErrorRef[]>;
    /** Removes what other features keep of an agent that is purged. */
    erase: (scope: Scope, agentId: string) => Promise<void>;
    hasPassedTests: PassedTests;
  }) {
    this.#database = deps.database;
    this.#models = deps.models;
    this.#secrets = deps.secrets;
    this.#audit = deps.audit;
    this.#clock = deps.clock;
    this.#outboundAllow = deps.outboundAllow;
    this.#uses = deps.uses;
    this.#erase = deps.erase;
    this.#hasPassedTests = deps.hasPassedTests;
  }

  list(
    scope: Scope,
    list: ListInput & { archived: boolean } & AnyOf<AgentRecord, 'llm_id' | 'stt_id' | 'tts_id'>,
  ): Promise<ListPage<AgentRecord>> {
    const filter = {
      ...commonFilter(list),
      ...equalities({ llm_id: list.llm_id, stt_id: list.stt_id, tts_id: list.tts_id }),
      archived_at: list.archived ? { $ne: null } : null,
    };
    return scope.collection(agentCollection).page(filter, list);
  }

  async create(scope: Scope, caller: Principal, request: CreateAgentRequest): Promise<AgentRecord> {
    const id = newId('agt', this.#clock.now());
    const defaults = await this.#projectDefaults(scope);
    const missing = (['llm_id', 'stt_id', 'tts_id'] as const).filter(
      (field) => !(request[field] ?? defaults[field]),
    );
    if (missing.length > 0) {
      const msg = 'Field required: the project has no default';
      throw new ValidationError(missing.map((field) => ({ loc: ['body', field], msg, type: 'missing' })));
    }
    const { config, webhooks, full } = applyConfig({ config: {}, webhooks: {} }, request.config ?? {}, {
      outboundAllow: this.#outboundAllow,
    });
    const content: AgentContent = {
      name: request.name,
      system_prompt: request.system_prompt ?? '',
      greeting: request.greeting ?? '',
      llm_id: (request.llm_id ?? defaults.llm_id)!,
      stt_id: (request.stt_id ?? defaults.stt_id)!,
      tts_id: (request.tts_id ?? defaults.tts_id)!,
      tts_voice_id: request.tts_voice_id ?? (request.tts_id === undefined ? defaults.tts_voice_id : null),
      config,
      flow_definition: request.flow_definition ?? null,
      tools: [],
      analyses: [],
      knowledge_bases: [],
    };
    await this.#check(scope, content, full);
    content.config = await this.#storeHeaders(scope, id, config);
    return this.#insert(scope, caller, id, content, webhooks, null);
  }

  /**
   * @param ifMatch the version that the caller has seen
   * @throws ConflictError `version_conflict`, `invalid_state` when archived, `duplicate` name
   */
  update(
    scope: Scope,
    caller: Principal,
    agent: AgentRecord,
    request: PatchAgentRequest,
    ifMatch?: number,
  ): Promise<AgentRecord> {
    return this.#change(scope, caller, agent, { ifMatch }, async (current) => {
      const { config: patch, ...fields } = request;
      const { config, webhooks, full } = applyConfig(current, patch ?? {}, {
        outboundAllow: this.#outboundAllow,
      });
      const sent = defined(fields);
      const content: AgentContent = { ...toContent(current), ...sent, config };
      await this.#check(scope, content, full, { before: current });
      content.config = await this.#storeHeaders(scope, current._id, config);
      return { content, webhooks };
    });
  }

  /** What `update` would say, with nothing stored. @returns the problems */
  async validate(scope: Scope, agent: AgentRecord, request: PatchAgentRequest): Promise<ValidationDetail[]> {
    try {
      const { config: patch, ...fields } = request;
      const { config, full } = applyConfig(agent, patch ?? {}, { outboundAllow: this.#outboundAllow });
      const sent = defined(fields);
      await this.#check(scope, { ...toContent(agent), ...sent, config }, full);
      return [];
    } catch (error) {
      if (error instanceof ValidationError) return [...error.details];
      throw error;
    }
  }

  /** Sets parts of `config.webhooks`; the same values as through PATCH. */
  setWebhooks(
    scope: Scope,
    caller: Principal,
    agent: AgentRecord,
    webhooks: Record<string, unknown>,
  ): Promise<AgentRecord> {
    return this.update(scope, caller, agent, { config: { webhooks } });
  }

  /** @throws ConflictError `resource_in_use` while something live leads to it */
  async archive(scope: Scope, agent: AgentRecord): Promise<void> {
    if (agent.archived_at) return;
    await this.#checkUnused(scope, agent);
    await scope.collection(agentCollection).update(
      { _id: agent._id, archived_at: null },
      {
        $set: { archived_at: new Date(this.#clock.now()), unique_name: `\u0001${agent._id}` },
      },
    );
  }

  /** Removes an archived agent, its versions and what it remembers; its sessions stay. @throws ConflictError `invalid_state` */
  async purge(
    scope: Scope,
    caller: Principal,
    agent: AgentRecord,
    origin: { address: string },
  ): Promise<void> {
    if (!agent.archived_at) throw new ConflictError('invalid_state', 'Only an archived agent can be purged.');
    await this.#erase(scope, agent._id);
    await scope.collection(agentVersionCollection).deleteMany({ agent_id: agent._id });
    await this.#secrets.forget(scope, agent._id);
    await scope.collection(agentCollection).delete({ _id: agent._id });
    await this.#audit.record({
      scope,
      caller,
      address: origin.address,
      action: 'agent.purged',
      target: agent._id,
    });
  }

  /** @throws ConflictError `duplicate` when a live agent has its name by now */
  async restore(scope: Scope, agent: AgentRecord): Promise<AgentRecord> {
    if (!agent.archived_at) return agent;
    const restored = await this.#named(() =>
      scope
        .collection(agentCollection)
        .update({ _id: agent._id }, { $set: { archived_at: null, unique_name: agent.name } }),
    );
    if (!restored) throw new NotFoundError();
    return restored;
  }

  /** A copy with version 1; webhooks and their secrets stay behind. `into` is the scope of the copy's project. */
  async duplicate(into: Scope, caller: Principal, agent: AgentRecord, name?: string): Promise<AgentRecord> {
    const id = newId('agt', this.#clock.now());
    const content = toContent(agent);
    content.name = name ?? `${agent.name.slice(0, 113)} (copy)`;
    await this.#check(into, content, fillConfig({ config: content.config, webhooks: {} }));
    const headers = content.config.pre_call?.headers;
    if (headers) {
      const values = await this.#secrets.reveal(headers);
      const stored = await this.#secrets.store(into, id, values);
      content.config = { ...content.config, pre_call: { ...content.config.pre_call, headers: stored } };
    }
    return this.#insert(into, caller, id, content, {}, null);
  }

  // Links

  /** Attaches, or finds attached. @throws ValidationError `too_long` past the limit of this kind */
  async attach(
    scope: Scope,
    caller: Principal,
    agent: AgentRecord,
    kind: LinkKind,
    id: string,
  ): Promise<AgentLink> {
    const changed = await this.#change(scope, caller, agent, {}, async (current) => {
      const content = toContent(current);
      if (!content[kind].some((link) => link.id === id)) {
        if (content[kind].length >= LINK_LIMITS[kind]) {
          throw invalid(['body'], `at most ${LINK_LIMITS[kind]} can be attached`, 'too_long');
        }
        content[kind] = [...content[kind], { id, enabled: true }];
      }
      return { content, webhooks: current.webhooks };
    });
    return changed[kind].find((link) => link.id === id)!;
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
    await this.#change(scope, caller, agent, {}, async (current) => {
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
    await this.#change(scope, caller, agent, {}, async (current) => {
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

  /** Takes it off every agent of the org, each with a new version. */
  async detachEverywhere(scope: Scope, caller: Principal, kind: LinkKind, id: string): Promise<void> {
    const agents = await this.#database
      .model(agentCollection)
      .find({ org_id: scope.orgId, [`${kind}.id`]: id })
      .limit(10_000)
      .lean<AgentRecord[]>();
    for (const agent of agents) {
      const own = scope.inProject(agent.project_id);
      await this.#change(own, caller, agent, { archived: true }, async (current) => {
        const content = toContent(current);
        content[kind] = content[kind].filter((link) => link.id !== id);
        return { content, webhooks: current.webhooks };
      });
    }
  }

  // Versions and traffic

  versions(scope: Scope, agent: AgentRecord, list: ListInput): Promise<ListPage<AgentVersionRecord>> {
    const filter = { ...commonFilter(list), agent_id: agent._id };
    return scope.collection(agentVersionCollection).page(filter, list);
  }

  /** @throws NotFoundError */
  async getVersion(scope: Scope, agent: AgentRecord, version: number): Promise<AgentVersionRecord> {
    if (version === agent.version) await this.#saveVersion(agent);
    return scope.collection(agentVersionCollection).get(versionId(agent._id, version));
  }

  async labelVersion(scope: Scope, agent: AgentRecord, version: number, label: string | null) {
    await this.getVersion(scope, agent, version);
    const labelled = await scope
      .collection(agentVersionCollection)
      .update({ _id: versionId(agent._id, version) }, { $set: { label } });
    if (!labelled) throw new NotFoundError();
    return labelled;
  }

  /** The old content becomes the newest version. @throws ValidationError when something it names is gone */
  async restoreVersion(
    scope: Scope,
    caller: Principal,
    agent: AgentRecord,
    version: number,
  ): Promise<AgentRecord> {
    const { snapshot } = await this.getVersion(scope, agent, version);
    return this.#change(scope, caller, agent, { restoredFrom: version }, async (current) => {
      await this.#check(scope, snapshot, fillConfig({ config: snapshot.config, webhooks: current.webhooks }));
      return { content: snapshot, webhooks: current.webhooks };
    });
  }

  /**
   * @throws ValidationError; NotFoundError-like `reference_not_found` for versions that do not exist; ConflictError
   *   for those without a passed test run, where one is required
   */
  async setTraffic(
    scope: Scope,
    agent: AgentRecord,
    traffic: AgentRecord['traffic'],
  ): Promise<AgentRecord['traffic']> {
    const loc = ['body', 'splits'];
    if (traffic.mode === 'latest' && traffic.splits.length > 0)
      throw invalid(loc, 'must be empty for latest');
    if (traffic.mode === 'pinned' && (traffic.splits.length !== 1 || traffic.splits[0]!.weight !== 100)) {
      throw invalid(loc, 'must name one version with weight 100');
    }
    for (const [index, split] of traffic.splits.entries()) {
      const known = await this.getVersion(scope, agent, split.version).catch((error: unknown) => {
        if (error instanceof NotFoundError) return null;
        throw error;
      });
      if (!known)
        throw invalid([...loc, index, 'version'], 'There is no such version', 'reference_not_found');
      if (traffic.require_passed_tests && !(await this.#hasPassedTests(scope, agent._id, split.version))) {
        throw new ConflictError(
          'conflict',
          `Version ${split.version} has no run of its tests that all passed.`,
        );
      }
    }
    const changed = await scope.collection(agentCollection).update({ _id: agent._id }, { $set: { traffic } });
    if (!changed) throw new NotFoundError();
    return changed.traffic;
  }

  // For sessions

  /** @inheritdoc */
  async forNewSession(agentId: string): Promise<SessionAgent | null> {
    const agent = await this.#find(agentId);
    if (!agent) return null;
    const pinned = agent.traffic.mode === 'pinned' ? agent.traffic.splits[0] : undefined;
    if (!pinned || pinned.version === agent.version) return this.#toSessionAgent(agent, agent.version, agent);
    return this.#ofVersion(agent, pinned.version);
  }

  /** @inheritdoc */
  async version(agentId: string, version: number): Promise<SessionAgent | null> {
    const agent = await this.#find(agentId);
    if (!agent) return null;
    return version === agent.version
      ? this.#toSessionAgent(agent, version, agent)
      : this.#ofVersion(agent, version);
  }

  /** Links of a version, as it was. Null when the agent or version is gone. */
  async contentOf(agentId: string, version: number): Promise<AgentContent | null> {
    const agent = await this.#find(agentId);
    if (!agent) return null;
    if (version === agent.version) return toContent(agent);
    return (await this.#versionRecord(agent, version))?.snapshot ?? null;
  }

  /**
   * Live agents of the org whose current or pinned version names one of these models or voices anywhere, at most 20:
   * such ids stand in configs and flows too, where no index reaches.
   */
  async naming(orgId: string, ids: readonly string[]): Promise<ErrorRef[]> {
    const wanted = ids.map((id) => JSON.stringify(id));
    const names = (content: object) => {
      const text = JSON.stringify(content);
      return wanted.some((id) => text.includes(id));
    };
    const refs: ErrorRef[] = [];
    const live = this.#database
      .model(agentCollection)
      .find({ org_id: orgId, archived_at: null })
      .lean<AgentRecord[]>()
      .cursor();
    for await (const agent of live as AsyncIterable<AgentRecord>) {
      const pinned = agent.traffic.mode === 'pinned' ? agent.traffic.splits[0]?.version : undefined;
      const snapshot =
        pinned === undefined || pinned === agent.version
          ? undefined
          : (await this.#versionRecord(agent, pinned))?.snapshot;
      const contents = [agent, ...(snapshot ? [snapshot] : [])];
      if (contents.some((content) => names(spokenWith(content)))) {
        refs.push({ type: 'agent', id: agent._id, name: agent.name });
      }
      if (refs.length >= 20) break;
    }
    return refs;
  }

  #find(agentId: string): Promise<AgentRecord | null> {
    return this.#database.model(agentCollection).findOne({ _id: agentId }).lean<AgentRecord>();
  }

  #versionRecord(agent: AgentRecord, version: number): Promise<AgentVersionRecord | null> {
    return this.#database
      .model(agentVersionCollection)
      .findOne({ _id: versionId(agent._id, version) })
      .lean<AgentVersionRecord>();
  }

  async #ofVersion(agent: AgentRecord, version: number): Promise<SessionAgent | null> {
    const record = await this.#versionRecord(agent, version);
    return record && this.#toSessionAgent(agent, version, record.snapshot);
  }

  async #toSessionAgent(agent: AgentRecord, version: number, content: AgentContent): Promise<SessionAgent> {
    const config = fillConfig({ config: content.config, webhooks: agent.webhooks });
    const headers = await this.#secrets.reveal(config.pre_call.headers);
    return {
      agent_id: agent._id,
      version,
      org_id: agent.org_id,
      project_id: agent.project_id,
      name: content.name,
      system_prompt: content.system_prompt,
      greeting: content.greeting,
      llm_id: content.llm_id,
      stt_id: content.stt_id,
      tts_id: content.tts_id,
      tts_voice_id: content.tts_voice_id,
      config: { ...config, pre_call: { ...config.pre_call, headers } },
      flow_definition: content.flow_definition,
      archived: agent.archived_at !== null,
    };
  }

  // Writing

  async #insert(
    scope: Scope,
    caller: Principal,
    id: string,
    content: AgentContent,
    webhooks: AgentRecord['webhooks'],
    restoredFrom: number | null,
  ): Promise<AgentRecord> {
    // Archived ones count, too: they go when they are purged.
    await checkRoom(scope.collection(agentCollection));
    const agent = await this.#named(() =>
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
    await this.#saveVersion(agent);
    return agent;
  }

  /**
   * Reads, computes, and writes only if nobody else did meanwhile: one atomic step decides, and the loser computes
   * again from what is there now.
   */
  async #change(
    scope: Scope,
    caller: Principal,
    agent: AgentRecord,
    options: { ifMatch?: number | undefined; restoredFrom?: number; archived?: boolean },
    compute: (current: AgentRecord) => Promise<{ content: AgentContent; webhooks: AgentRecord['webhooks'] }>,
  ): Promise<AgentRecord> {
    const agents = scope.collection(agentCollection);
    let current = agent;
    for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
      if (attempt > 0) current = await agents.get(agent._id);
      const { content, webhooks } = await compute(current);
      if (current.archived_at && !options.archived)
        throw new ConflictError('invalid_state', 'The agent is archived.');
      if (options.ifMatch !== undefined && options.ifMatch !== current.version) {
        throw new ConflictError('version_conflict', `The agent is at version ${current.version}.`);
      }
      const sameContent = isDeepStrictEqual(plain(content), plain(toContent(current)));
      if (sameContent && isDeepStrictEqual(plain(webhooks), plain(current.webhooks))) return current;
      const unchanged = { _id: agent._id, revision: current.revision };
      if (sameContent) {
        const changed = await agents.update(unchanged, { $set: { webhooks }, $inc: { revision: 1 } });
        if (changed) return changed;
        continue;
      }
      // The version that is being left is written first: a crash between two writes loses none.
      await this.#saveVersion(current);
      const changed = await this.#named(() =>
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
      await this.#saveVersion(changed);
      return changed;
    }
    throw new ConflictError('version_conflict', 'Others are changing this agent at the same time.');
  }

  /** Keeps the agent's current version; again is harmless. */
  async #saveVersion(agent: AgentRecord): Promise<void> {
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

  async #named<T>(write: () => Promise<T>): Promise<T> {
    try {
      return await write();
    } catch (error) {
      if (!isDuplicateKey(error, 'unique_name')) throw error;
      throw new ConflictError('duplicate', 'A live agent of this project has that name.', { cause: error });
    }
  }

  async #storeHeaders(
    scope: Scope,
    agentId: string,
    config: AgentRecord['config'],
  ): Promise<AgentRecord['config']> {
    const headers = config.pre_call?.headers;
    if (!headers) return config;
    const stored = await this.#secrets.store(scope, agentId, headers);
    return { ...config, pre_call: { ...config.pre_call, headers: stored } };
  }

  async #check(
    scope: Scope,
    content: AgentContent,
    full: ReturnType<typeof fillConfig>,
    options: { before?: AgentContent } = {},
  ): Promise<void> {
    const details = await checkContent(scope, this.#models, content, full, options.before);
    if (details.length > 0) throw new ValidationError(details);
  }

  async #checkUnused(scope: Scope, agent: AgentRecord): Promise<void> {
    const refs = await this.#uses(scope, agent._id);
    if (refs.length === 0) return;
    throw new AppError(409, 'resource_in_use', 'The agent is in use.', { refs });
  }

  async #projectDefaults(scope: Scope) {
    const project = await this.#database.model(projectCollection).findOne({ _id: scope.projectId }).lean();
    return {
      llm_id: project?.default_llm_id ?? null,
      stt_id: project?.default_stt_id ?? null,
      tts_id: project?.default_tts_id ?? null,
      tts_voice_id: project?.default_voice_id ?? null,
    };
  }
}

/** The part of a version that may name models and voices. */
function spokenWith({ llm_id, stt_id, tts_id, tts_voice_id, config, flow_definition }: AgentContent): object {
  return { llm_id, stt_id, tts_id, tts_voice_id, config, flow_definition };
}

function versionId(agentId: string, version: number): string {
  return `${agentId}.${version}`;
}

function toContent(agent: AgentContent): AgentContent {
  return Object.fromEntries(CONTENT_FIELDS.map((field) => [field, agent[field]])) as unknown as AgentContent;
}

/** As JSON has it: no undefined fields, no prototypes. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
