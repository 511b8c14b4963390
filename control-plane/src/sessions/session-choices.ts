import type { CarrierName } from '@parley/shared/contracts/session-values';
import { ConflictError, NotFoundError, ValidationError } from '@parley/shared/errors/app-error';
import type { ToolMock } from '../http/tool-mock-schema.ts';
import { invalid } from '../http/validation.ts';
import type { ModelCatalog, ModelKind } from '../providers/model-catalog.ts';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import type { Access } from '../tenancy/access.ts';
import type { Directory } from '../tenancy/directory.ts';
import { checkReferences } from '../tenancy/references.ts';
import type { Scope } from '../tenancy/scope.ts';
import type { SessionAgent, SessionAgents } from './session-agent.ts';
import type { CreateSessionBody } from './session-schema.ts';

/** What answers in place of tools may take, as JSON. */
const MAX_MOCK_BYTES = 65_536;

/** The telephony account a session without a named carrier belongs to. */
export interface SessionAccounts {
  /** The project's default account, or the first usable one it may use; null when there is none. */
  defaultFor(orgId: string, projectId: string): Promise<{ id: string; provider: CarrierName } | null>;
}

/** Which analyses a project may name. */
export interface SessionAnalyses {
  missing(orgId: string, projectId: string, ids: readonly string[]): Promise<string[]>;
}

/** What a client may choose for a session: agent, project, carrier, models, analyses, variables. */
export class SessionChoices {
  readonly #agents: SessionAgents;
  readonly #accounts: SessionAccounts;
  readonly #analyses: SessionAnalyses;
  readonly #catalog: ModelCatalog;
  readonly #directory: Directory;
  readonly #named: { tools: Collection<StoredRecord> };

  constructor(deps: {
    agents: SessionAgents;
    accounts: SessionAccounts;
    analyses: SessionAnalyses;
    catalog: ModelCatalog;
    directory: Directory;
    named: { tools: Collection<StoredRecord> };
  }) {
    this.#agents = deps.agents;
    this.#accounts = deps.accounts;
    this.#analyses = deps.analyses;
    this.#catalog = deps.catalog;
    this.#directory = deps.directory;
    this.#named = deps.named;
  }

  async agent(access: Access, agentId: string, caller: string | null): Promise<SessionAgent> {
    const agent = await this.#agents.forNewSession(agentId, caller);
    const visible = agent && (await orNull(access.project(agent.project_id, agent.org_id)));
    if (!visible) throw notFound(['body', 'agent_id']);
    return agent;
  }

  /** The version that was asked for; null: the one that was chosen. @throws ValidationError */
  async version(chosen: SessionAgent, version: number | null): Promise<SessionAgent> {
    if (version === null || version === chosen.version) return chosen;
    const agent = await this.#agents.version(chosen.agent_id, version);
    if (!agent)
      throw invalid(['body', 'agent_version'], 'The agent has no such version', 'reference_not_found');
    return agent;
  }

  /** The project: of the key, of the agent, or the one named; what is named must agree. */
  async scope(access: Access, body: CreateSessionBody, agent: SessionAgent | null): Promise<Scope> {
    const caller = access.principal;
    const projectId =
      caller.auth === 'api_key' ? caller.project_id : (agent?.project_id ?? body.project_id ?? undefined);
    if (projectId === undefined) throw invalid(['body', 'project_id'], 'Field required', 'missing');
    const scope = await orNull(access.project(projectId));
    if (!scope) throw notFound(['body', 'project_id']);
    const mismatch = (field: string) =>
      invalid(['body', field], `must match the project of the ${agent ? 'agent' : 'caller'}`, 'mismatch');
    if (agent && agent.project_id !== projectId) throw notFound(['body', 'agent_id']);
    if (body.project_id && body.project_id !== projectId) throw mismatch('project_id');
    if (body.org_id && body.org_id !== scope.orgId) throw mismatch('org_id');
    return scope;
  }

  /** A named carrier is the client's own; without a name it is the project's default account. */
  async carrier(
    scope: Scope,
    provider: CarrierName | null,
  ): Promise<{ provider: CarrierName; accountId: string | null }> {
    if (provider !== null) return { provider, accountId: null };
    const account = await this.#accounts.defaultFor(scope.orgId, scope.projectId);
    if (!account)
      throw invalid(
        ['body', 'provider'],
        'Field required: the project has no active telephony account',
        'missing',
      );
    return { provider: account.provider, accountId: account.id };
  }

  async models(
    scope: Pick<Scope, 'orgId' | 'projectId'>,
    agent: SessionAgent | null,
    body: Partial<Pick<CreateSessionBody, 'llm_id' | 'stt_id' | 'tts_id'>>,
  ): Promise<Record<ModelKind, string>> {
    const project = await this.#directory.project(scope.projectId);
    const choose = async (kind: ModelKind): Promise<string> => {
      const field = `${kind}_id` as const;
      const id =
        body[field] ??
        agent?.[field] ??
        project?.[`default_${kind}_id`] ??
        (await this.#catalog.fallback(scope.orgId, kind, scope.projectId));
      if (!id) throw invalid(['body', field], 'Field required', 'missing');
      const model = await this.#catalog.find(scope.orgId, id, scope.projectId);
      if (!model || model.kind !== kind) throw notFound(['body', field]);
      if (model.status !== 'available') {
        throw invalid(['body', field], `the model cannot be used: ${model.status}`, 'model_unavailable');
      }
      return id;
    };
    return { llm: await choose('llm'), stt: await choose('stt'), tts: await choose('tts') };
  }

  /** Answers in place of tools, as a session keeps them; null: there are none. @throws ValidationError */
  async toolMocks(scope: Scope, mocks: readonly ToolMock[]): Promise<string | null> {
    if (mocks.length === 0) return null;
    await checkReferences(
      scope,
      mocks.map(({ tool_id: id }, index) => ({
        ...{ collection: this.#named.tools, id },
        loc: ['body', 'tool_mocks', index, 'tool_id'],
      })),
    );
    const kept = JSON.stringify(mocks);
    if (Buffer.byteLength(kept) > MAX_MOCK_BYTES)
      throw invalid(['body', 'tool_mocks'], `must be at most ${MAX_MOCK_BYTES} bytes`, 'too_long');
    return kept;
  }

  async analysisIds(scope: Scope, ids: string[] | null): Promise<string[] | null> {
    if (ids === null || ids.length === 0) return ids;
    const missing = await this.#analyses.missing(scope.orgId, scope.projectId, ids);
    if (missing.length === 0) return [...new Set(ids)];
    throw new ValidationError(
      missing.map((id) => ({
        loc: ['body', 'post_call_analysis_ids', ids.indexOf(id)],
        msg: 'Analysis not found in the project',
        type: 'reference_not_found',
      })),
    );
  }
}

/**
 * The agent's defaults, and over them what was asked for.
 * @throws ValidationError for a required variable without a value
 */
export function effectiveVariables(
  agent: SessionAgent | null,
  given: Record<string, string>,
  { required = true }: { required?: boolean } = {},
): Record<string, string> {
  const variables: Record<string, string> = {};
  for (const { name, default: value } of agent?.config.variables ?? [])
    if (value !== null) variables[name] = value;
  Object.assign(variables, given);
  // What is still missing may come from the agent's own call before the call.
  if (!required || agent?.config.pre_call.url) return variables;
  const missing = (agent?.config.variables ?? []).filter(
    (variable) => variable.required && (variables[variable.name] ?? '') === '',
  );
  if (missing.length === 0) return variables;
  throw new ValidationError(
    missing.map(({ name }) => ({ loc: ['body', 'variables', name], msg: 'Field required', type: 'missing' })),
  );
}

/** @throws ConflictError `invalid_state` */
export function refuseArchived(agent: SessionAgent | null): void {
  if (agent?.archived) throw new ConflictError('invalid_state', 'The agent is archived. Restore it first.');
}

function notFound(loc: (string | number)[]): ValidationError {
  return invalid(loc, 'Record not found in the project', 'reference_not_found');
}

async function orNull<T>(lookup: Promise<T>): Promise<T | null> {
  try {
    return await lookup;
  } catch (error) {
    if (error instanceof NotFoundError) return null;
    throw error;
  }
}
