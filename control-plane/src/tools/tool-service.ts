import type { z } from 'zod';
import { AppError } from '@parley/shared/errors/app-error';
import type { ErrorRef } from '@parley/shared/errors/app-error';
import type { SessionPlanWire } from '@parley/shared/contracts/session-plan';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { ToolRunner } from '@parley/shared/tools/tool-runner';
import type { AuditLog } from '../audit/audit-trail.ts';
import type { SecretBox } from '../crypto/secret-box.ts';
import { commonFilter, equalities } from '../http/list-query.ts';
import type { AnyOf, ListInput } from '../http/list-query.ts';
import { isOutboundUrl, OUTBOUND_URL_MESSAGE } from '../http/outbound-url.ts';
import { patchMap } from '../http/patch-schema.ts';
import { invalid } from '../http/validation.ts';
import type { SessionAgent, SessionTools } from '../sessions/session-agent.ts';
import type { Database } from '../storage/database.ts';
import { defined } from '../storage/defined.ts';
import { orDuplicate } from '../storage/duplicate.ts';
import type { ListPage } from '../storage/list.ts';
import type { Principal } from '../tenancy/principal.ts';
import { checkRoom } from '../tenancy/record-limit.ts';
import { checkProjects } from '../tenancy/project-references.ts';
import type { Scope } from '../tenancy/scope.ts';
import { toolCollection } from './tool-model.ts';
import type { ToolRecord, ToolSecrets } from './tool-model.ts';
import type { createToolRequest, patchToolRequest, testToolRequest } from './tool-schema.ts';
import { separateSecrets } from './tool-secrets.ts';
import { testTool } from './tool-tests.ts';
import type { ToolTestResult } from './tool-tests.ts';

/** What it writes to the audit trail. */
export const TOOL_AUDIT = ['credential.created', 'credential.changed', 'tool.deleted'] as const;

const DUPLICATE = 'A tool with this name already exists in this project or org.';

/** Agents that a tool is attached to: `AgentLinks`. */
export interface ToolLinks {
  attachedTo(scope: Scope, kind: 'tools', id: string): Promise<ErrorRef[]>;
  detachEverywhere(scope: Scope, caller: Principal, kind: 'tools', id: string): Promise<void>;
}

/** Versions of agents: `StoredAgents`. */
export interface ToolAgents {
  contentOf(
    agentId: string,
    version: number,
  ): Promise<{ tools: readonly { id: string; enabled: boolean }[] } | null>;
}

/** The org's catalogue of what agents can do besides talking. */
export class ToolService implements SessionTools {
  readonly #database: Database;
  readonly #agents: ToolAgents;
  readonly #links: ToolLinks;
  readonly #audit: AuditLog<(typeof TOOL_AUDIT)[number]>;
  readonly #box: SecretBox;
  readonly #clock: Clock;
  readonly #outboundAllow: readonly string[];
  readonly #runner: ToolRunner;

  constructor(deps: {
    database: Database;
    agents: ToolAgents;
    links: ToolLinks;
    audit: AuditLog<(typeof TOOL_AUDIT)[number]>;
    box: SecretBox;
    clock: Clock;
    outboundAllow: readonly string[];
    runner: ToolRunner;
  }) {
    this.#database = deps.database;
    this.#agents = deps.agents;
    this.#links = deps.links;
    this.#audit = deps.audit;
    this.#box = deps.box;
    this.#clock = deps.clock;
    this.#outboundAllow = deps.outboundAllow;
    this.#runner = deps.runner;
  }

  list(
    scope: Scope,
    list: ListInput & AnyOf<ToolRecord, 'type' | 'project_id'> & { enabled?: boolean | undefined },
  ): Promise<ListPage<ToolRecord>> {
    const { type, project_id, enabled } = list;
    const filter = { ...commonFilter(list), ...equalities({ type, project_id, enabled }) };
    return scope.collection(toolCollection).page(filter, list);
  }

  /** A key's tool is always of its own project. @throws ConflictError `duplicate`, ValidationError */
  async create(
    scope: Scope,
    caller: Principal,
    request: z.output<typeof createToolRequest>,
    origin: { address: string },
  ): Promise<ToolRecord> {
    const projectId = await this.#projectOf(scope, caller, request.project_id);
    this.#checkUrl(request.webhook.url);
    await checkRoom(scope.collection(toolCollection), { project_id: projectId });
    const { webhook, secrets } = separateSecrets(request.webhook);
    const tool = await orDuplicate(
      scope.collection(toolCollection).insert({
        _id: newId('tol', this.#clock.now()),
        project_id: projectId,
        name: request.name,
        description: request.description,
        type: request.type,
        parameters: JSON.stringify(request.parameters),
        webhook,
        secrets: this.#seal(secrets),
        execution: request.execution,
        response: request.response,
        enabled: request.enabled,
      }),
      DUPLICATE,
    );
    await this.#audit.record({
      scope,
      caller,
      address: origin.address,
      action: 'credential.created',
      target: tool._id,
    });
    return tool;
  }

  async update(
    scope: Scope,
    caller: Principal,
    tool: ToolRecord,
    request: z.output<typeof patchToolRequest>,
    origin: { address: string },
  ): Promise<ToolRecord> {
    const { parameters, webhook: sent, execution, response, ...rest } = request;
    const basis = ['webhook', 'secrets', 'execution', 'response'] as const;
    const changed = await orDuplicate(
      scope.collection(toolCollection).change(tool, basis, (current) => {
        const change: Partial<ToolRecord> = defined(rest);
        if (parameters) change.parameters = JSON.stringify(parameters);
        if (execution) change.execution = { ...current.execution, ...defined(execution) };
        if (response) change.response = { ...current.response, ...defined(response) };
        if (sent) Object.assign(change, this.#webhookChange(current, sent));
        return Promise.resolve(change);
      }),
      DUPLICATE,
    );
    if (sent) {
      await this.#audit.record({
        scope,
        caller,
        address: origin.address,
        action: 'credential.changed',
        target: tool._id,
      });
    }
    return changed;
  }

  /** @throws AppError 409 `resource_in_use` while attached to live agents */
  async delete(
    scope: Scope,
    caller: Principal,
    tool: ToolRecord,
    origin: { address: string },
  ): Promise<void> {
    const refs = await this.#links.attachedTo(scope, 'tools', tool._id);
    if (refs.length > 0)
      throw new AppError(409, 'resource_in_use', 'The tool is attached to agents. Detach it first.', {
        refs,
      });
    await scope.collection(toolCollection).delete({ _id: tool._id });
    // Archived agents may have it, and one that attached it just now.
    await this.#links.detachEverywhere(scope, caller, 'tools', tool._id);
    await this.#audit.record({
      scope,
      caller,
      address: origin.address,
      action: 'tool.deleted',
      target: tool._id,
    });
  }

  /** Tries a tool, enabled or not. @throws the reason of `signal` */
  test(
    tool: ToolRecord,
    request: z.output<typeof testToolRequest>,
    signal: AbortSignal,
  ): Promise<ToolTestResult> {
    return testTool(this.#runner, tool, this.#planTool(tool), request, this.#open(tool), signal);
  }

  /** Enabled tools of the version and of its flow, secrets in the clear. */
  async forPlan(agent: SessionAgent): Promise<SessionPlanWire['tools']> {
    const content = await this.#agents.contentOf(agent.agent_id, agent.version);
    const ids = (content?.tools ?? []).filter((link) => link.enabled).map((link) => link.id);
    return this.#planTools(agent, [...new Set([...ids, ...flowToolIds(agent.flow_definition)])]);
  }

  async #planTools(agent: SessionAgent, ids: readonly string[]): Promise<SessionPlanWire['tools']> {
    if (ids.length === 0) return [];
    const tools = await this.#database
      .model(toolCollection)
      .find({
        _id: { $in: ids },
        org_id: agent.org_id,
        project_id: { $in: [null, agent.project_id] },
        enabled: true,
      })
      .lean<ToolRecord[]>();
    const order = new Map(ids.map((id, index) => [id, index]));
    tools.sort((a, b) => order.get(a._id)! - order.get(b._id)!);
    return tools.map((tool) => this.#planTool(tool));
  }

  /** As a session plan has it, secrets in the clear. */
  #planTool(tool: ToolRecord): SessionPlanWire['tools'][number] {
    const { url, method, body_template: body, query_template: query } = tool.webhook;
    return {
      tool_id: tool._id,
      name: tool.name,
      description: tool.description,
      parameters: JSON.parse(tool.parameters) as Record<string, unknown>,
      type: tool.type,
      webhook: {
        url,
        method,
        ...this.#open(tool),
        ...(body !== null && { body_template: body }),
        ...(query !== null && { query_template: query }),
      },
      execution: tool.execution,
      response: tool.response,
    };
  }

  async #projectOf(
    scope: Scope,
    caller: Principal,
    requested: string | null | undefined,
  ): Promise<string | null> {
    const own = caller.auth === 'api_key' ? caller.project_id : null;
    const loc = ['body', 'project_id'];
    if (own !== null) {
      if (requested != null && requested !== own)
        throw invalid(loc, 'Record not found', 'reference_not_found');
      return own;
    }
    if (requested == null) {
      if (scope.projects !== null)
        throw invalid(loc, 'Field required: your access is limited to projects', 'missing');
      return null;
    }
    await checkProjects(scope, [{ id: requested, loc }]);
    if (!scope.sees(requested)) throw invalid(loc, 'Record not found', 'reference_not_found');
    return requested;
  }

  #webhookChange(
    current: ToolRecord,
    sent: NonNullable<z.output<typeof patchToolRequest>['webhook']>,
  ): Pick<ToolRecord, 'webhook' | 'secrets'> {
    const { headers, ...rest } = defined(sent);
    const merged = {
      ...current.webhook,
      ...rest,
      headers: patchMap<unknown>(current.webhook.headers, headers),
    } as Parameters<typeof separateSecrets>[0];
    this.#checkUrl(merged.url);
    const { webhook, secrets } = separateSecrets(merged, {
      url: current.webhook.url,
      secrets: this.#open(current),
    });
    return { webhook, secrets: this.#seal(secrets) };
  }

  #checkUrl(url: string): void {
    if (!isOutboundUrl(url, this.#outboundAllow)) {
      throw invalid(['body', 'webhook', 'url'], OUTBOUND_URL_MESSAGE, 'url_scheme');
    }
  }

  #seal(secrets: ToolSecrets): string {
    return this.#box.encryptSecret(JSON.stringify(secrets));
  }

  #open(tool: ToolRecord): ToolSecrets {
    return JSON.parse(this.#box.decryptSecret(tool.secrets)) as ToolSecrets;
  }
}

/** Tools that a flow names in its nodes; checked when the flow was stored. */
function flowToolIds(flow: Record<string, unknown> | null): string[] {
  const nodes = (flow?.['nodes'] ?? []) as { tool_id?: string; tool_ids?: string[] }[];
  return nodes.flatMap((node) => [
    ...(node.tool_id === undefined ? [] : [node.tool_id]),
    ...(node.tool_ids ?? []),
  ]);
}
