import { AppError, ConflictError, NotFoundError, ValidationError } from '@parley/shared/errors/app-error';
import type { ErrorRef, ValidationDetail } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { AuditLog } from '../audit/audit-trail.ts';
import { commonFilter, equalities } from '../http/list-query.ts';
import type { AnyOf, ListInput } from '../http/list-query.ts';
import { defined } from '../storage/defined.ts';
import type { ListPage } from '../storage/list.ts';
import type { Principal } from '../tenancy/principal.ts';
import type { Scope } from '../tenancy/scope.ts';
import { applyConfig, fillConfig, NEW_AGENT } from './agent-config-input.ts';
import { toContent } from './agent-content.ts';
import type { AgentContents } from './agent-content.ts';
import { agentCollection, agentVersionCollection } from './agent-model.ts';
import type { AgentContent, AgentRecord } from './agent-record.ts';
import type { CreateAgentRequest, PatchAgentRequest } from './agent-schema.ts';
import type { AgentWriter } from './agent-writer.ts';
import type { HeaderSecrets } from './header-secrets.ts';

/** What it writes to the audit trail. */
export const AGENT_AUDIT = ['agent.purged'] as const;

/** Other features, as far as they have to do with agents. */
export interface AgentDependents {
  /** What keeps an agent from being archived, such as a number that rings it. */
  usesOfAgent(scope: Scope, agentId: string): Promise<ErrorRef[]>;
  /** Removes what they keep of an agent that is purged. */
  eraseAgent(scope: Scope, agentId: string): Promise<void>;
}

/** Where the models and the voice of an agent come from that names none. */
export interface ProjectDefaults {
  get(
    scope: Scope,
  ): Promise<
    Record<'default_llm_id' | 'default_stt_id' | 'default_tts_id' | 'default_voice_id', string | null>
  >;
}

/** Agents: made, changed, put away and brought back. */
export class AgentService {
  readonly #writer: AgentWriter;
  readonly #contents: AgentContents;
  readonly #projects: ProjectDefaults;
  readonly #secrets: HeaderSecrets;
  readonly #dependents: AgentDependents;
  readonly #audit: AuditLog<(typeof AGENT_AUDIT)[number]>;
  readonly #clock: Clock;
  readonly #outboundAllow: readonly string[];

  constructor(deps: {
    writer: AgentWriter;
    contents: AgentContents;
    projects: ProjectDefaults;
    secrets: HeaderSecrets;
    dependents: AgentDependents;
    audit: AuditLog<(typeof AGENT_AUDIT)[number]>;
    clock: Clock;
    outboundAllow: readonly string[];
  }) {
    this.#writer = deps.writer;
    this.#contents = deps.contents;
    this.#projects = deps.projects;
    this.#secrets = deps.secrets;
    this.#dependents = deps.dependents;
    this.#audit = deps.audit;
    this.#clock = deps.clock;
    this.#outboundAllow = deps.outboundAllow;
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
      const msg = 'Field required: the project has no default model';
      throw new ValidationError(missing.map((field) => ({ loc: ['body', field], msg, type: 'missing' })));
    }
    const { config, webhooks, full } = applyConfig(NEW_AGENT, request.config ?? {}, {
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
    await this.#contents.check(scope, content, full);
    content.config = await this.#storeHeaders(scope, id, config);
    return this.#writer.insert(scope, caller, id, content, webhooks, null);
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
    return this.#writer.change(scope, caller, agent, { ifMatch }, async (current) => {
      const { config: patch, ...fields } = request;
      const { config, webhooks, full } = applyConfig(current, patch ?? {}, {
        outboundAllow: this.#outboundAllow,
      });
      const sent = defined(fields);
      const content: AgentContent = { ...toContent(current), ...sent, config };
      await this.#contents.check(scope, content, full, { before: current });
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
      await this.#contents.check(scope, { ...toContent(agent), ...sent, config }, full, { before: agent });
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
    if (!agent.archived_at)
      throw new ConflictError('invalid_state', 'Only an archived agent can be purged. Archive it first.');
    await this.#dependents.eraseAgent(scope, agent._id);
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
    const restored = await this.#writer.named(() =>
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
    await this.#contents.check(into, content, fillConfig({ config: content.config, webhooks: {} }));
    const headers = content.config.pre_call?.headers;
    if (headers) {
      const values = await this.#secrets.reveal(headers);
      const stored = await this.#secrets.store(into, id, values);
      content.config = { ...content.config, pre_call: { ...content.config.pre_call, headers: stored } };
    }
    return this.#writer.insert(into, caller, id, content, {}, null);
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

  async #checkUnused(scope: Scope, agent: AgentRecord): Promise<void> {
    const refs = await this.#dependents.usesOfAgent(scope, agent._id);
    if (refs.length === 0) return;
    throw new AppError(409, 'resource_in_use', 'The agent is in use: see refs.', { refs });
  }

  async #projectDefaults(scope: Scope) {
    const project = await this.#projects.get(scope);
    return {
      llm_id: project.default_llm_id,
      stt_id: project.default_stt_id,
      tts_id: project.default_tts_id,
      tts_voice_id: project.default_voice_id,
    };
  }
}
