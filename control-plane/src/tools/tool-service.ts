import type { z } from 'zod';
import { AppError } from '@parley/shared/errors/app-error';
import type { ErrorRef } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { AuditLog } from '../audit/audit-trail.ts';
import type { SecretBox } from '../crypto/secret-box.ts';
import { commonFilter, equalities } from '../http/list-query.ts';
import type { AnyOf, ListInput } from '../http/list-query.ts';
import { isOutboundUrl, OUTBOUND_URL_MESSAGE } from '../http/outbound-url.ts';
import { patchMap } from '../http/patch-schema.ts';
import { invalid } from '../http/validation.ts';
import { defined } from '../storage/defined.ts';
import { orDuplicate } from '../storage/duplicate.ts';
import type { ListPage } from '../storage/list.ts';
import type { Principal } from '../tenancy/principal.ts';
import { checkRoom } from '../tenancy/record-limit.ts';
import { checkProjects } from '../tenancy/project-references.ts';
import type { Scope } from '../tenancy/scope.ts';
import { toolCollection } from './tool-model.ts';
import type { ToolMcp, ToolRecord, ToolSecrets, ToolWebhook } from './tool-model.ts';
import type { createToolRequest, patchToolRequest, ToolEndpointInput } from './tool-schema.ts';
import { openSecrets, separateSecrets } from './tool-secrets.ts';

/** What it writes to the audit trail. */
export const TOOL_AUDIT = ['credential.created', 'credential.changed', 'tool.deleted'] as const;

const DUPLICATE = 'A tool with this name already exists in this project or org.';

/** Agents that a tool is attached to: `AgentLinks`. */
export interface ToolLinks {
  attachedTo(scope: Scope, kind: 'tools', id: string): Promise<ErrorRef[]>;
  detachEverywhere(scope: Scope, caller: Principal, kind: 'tools', id: string): Promise<void>;
}

/** The org's catalogue of what agents can do besides talking. */
export class ToolService {
  readonly #links: ToolLinks;
  readonly #audit: AuditLog<(typeof TOOL_AUDIT)[number]>;
  readonly #box: SecretBox;
  readonly #clock: Clock;
  readonly #outboundAllow: readonly string[];

  constructor(deps: {
    links: ToolLinks;
    audit: AuditLog<(typeof TOOL_AUDIT)[number]>;
    box: SecretBox;
    clock: Clock;
    outboundAllow: readonly string[];
  }) {
    this.#links = deps.links;
    this.#audit = deps.audit;
    this.#box = deps.box;
    this.#clock = deps.clock;
    this.#outboundAllow = deps.outboundAllow;
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
    checkRetries(request.type, request.execution.retries);
    await checkRoom(scope.collection(toolCollection), { project_id: projectId });
    const tool = await orDuplicate(
      scope.collection(toolCollection).insert({
        _id: newId('tol', this.#clock.now()),
        project_id: projectId,
        name: request.name,
        description: request.description,
        type: request.type,
        ...this.#endpointOf(request),
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
    const { parameters, webhook, mcp, execution, response, ...rest } = request;
    const sent = { parameters, webhook, mcp };
    checkType(tool, sent);
    checkRetries(tool.type, execution?.retries);
    const basis = ['webhook', 'mcp', 'secrets', 'execution', 'response'] as const;
    const changed = await orDuplicate(
      scope.collection(toolCollection).change(tool, basis, (current) => {
        const change: Partial<ToolRecord> = defined(rest);
        if (parameters) change.parameters = JSON.stringify(parameters);
        if (execution) change.execution = { ...current.execution, ...defined(execution) };
        if (response) change.response = { ...current.response, ...defined(response) };
        if (webhook && current.webhook) {
          const { masked, secrets } = this.#changed('webhook', current, current.webhook, webhook);
          Object.assign(change, { webhook: masked, secrets });
        }
        if (mcp && current.mcp) {
          const { masked, secrets } = this.#changed('mcp', current, current.mcp, mcp);
          // Another server has other tools.
          const discovered = masked.url === current.mcp.url ? current.mcp.discovered : '[]';
          Object.assign(change, { mcp: { ...masked, discovered }, secrets });
        }
        return Promise.resolve(change);
      }),
      DUPLICATE,
    );
    if (webhook ?? mcp) {
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

  #endpointOf(
    request: z.output<typeof createToolRequest>,
  ): Pick<ToolRecord, 'parameters' | 'webhook' | 'mcp' | 'secrets'> {
    if (request.type === 'webhook') {
      this.#checkUrl('webhook', request.webhook.url);
      const { masked, secrets } = separateSecrets('webhook', request.webhook);
      const parameters = JSON.stringify(request.parameters);
      return { parameters, webhook: masked, mcp: null, secrets: this.#seal(secrets) };
    }
    this.#checkUrl('mcp', request.mcp.url);
    const { masked, secrets } = separateSecrets('mcp', request.mcp);
    const mcp = { ...masked, discovered: '[]' };
    return { parameters: '{"type":"object"}', webhook: null, mcp, secrets: this.#seal(secrets) };
  }

  #changed<Endpoint extends ToolWebhook | ToolMcp>(
    field: 'webhook' | 'mcp',
    current: ToolRecord,
    stored: Endpoint,
    sent: { headers?: unknown },
  ): { masked: Endpoint; secrets: string } {
    const { headers, ...rest } = defined(sent) as { headers?: Record<string, unknown> };
    const merged = { ...stored, ...rest, headers: patchMap<unknown>(stored.headers, headers) };
    this.#checkUrl(field, merged.url);
    const { masked, secrets } = separateSecrets(field, merged as ToolEndpointInput, {
      url: stored.url,
      secrets: openSecrets(this.#box, current),
    });
    return { masked: masked as Endpoint, secrets: this.#seal(secrets) };
  }

  #checkUrl(field: 'webhook' | 'mcp', url: string): void {
    if (!isOutboundUrl(url, this.#outboundAllow))
      throw invalid(['body', field, 'url'], OUTBOUND_URL_MESSAGE, 'url_scheme');
  }

  #seal(secrets: ToolSecrets): string {
    return this.#box.encryptSecret(JSON.stringify(secrets));
  }
}

/** @throws ValidationError for a field that is not of the tool's type */
function checkType(
  { type }: ToolRecord,
  { parameters, webhook, mcp }: { parameters: unknown; webhook: unknown; mcp: unknown },
): void {
  const refuse = (field: string) => {
    throw invalid(['body', field], `is not a field of a tool of the type ${type}`, 'extra_forbidden');
  };
  if (type !== 'mcp' && mcp !== undefined) refuse('mcp');
  if (type !== 'webhook' && webhook !== undefined) refuse('webhook');
  if (type !== 'webhook' && parameters !== undefined) refuse('parameters');
}

/** @throws ValidationError: whether a call of an MCP server may be repeated is not known */
function checkRetries(type: ToolRecord['type'], retries: number | null | undefined): void {
  if (type === 'mcp' && (retries ?? 0) > 0)
    throw invalid(['body', 'execution', 'retries'], 'must be 0 for an MCP server', 'not_available');
}
