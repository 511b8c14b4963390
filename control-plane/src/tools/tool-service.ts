import type { z } from 'zod';
import { AppError, ValidationError } from '@parley/shared/errors/app-error';
import type { ErrorRef } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { AuditLog } from '../audit/audit-trail.ts';
import type { SecretBox } from '../crypto/secret-box.ts';
import { commonFilter, equalities } from '../http/list-query.ts';
import type { AnyOf, ListInput } from '../http/list-query.ts';
import { argumentFaults, findAction } from '../app-connections/app-catalog.ts';
import { isOutboundUrl, OUTBOUND_URL_MESSAGE } from '../http/outbound-url.ts';
import { patchMap } from '../http/patch-schema.ts';
import { invalid } from '../http/validation.ts';
import { defined } from '../storage/defined.ts';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import { orDuplicate } from '../storage/duplicate.ts';
import type { ListPage } from '../storage/list.ts';
import type { Principal } from '../tenancy/principal.ts';
import { checkRoom } from '../tenancy/record-limit.ts';
import { checkProjects } from '../tenancy/project-references.ts';
import { referenceNotFound } from '../tenancy/references.ts';
import type { Scope } from '../tenancy/scope.ts';
import { toolCollection } from './tool-model.ts';
import type { ToolApp, ToolMcp, ToolRecord, ToolSecrets, ToolWebhook } from './tool-model.ts';
import type { createToolRequest, patchToolRequest, ToolAppInput, ToolEndpointInput } from './tool-schema.ts';
import { NO_SECRETS, openSecrets, separateSecrets } from './tool-secrets.ts';

/** What it writes to the audit trail. */
export const TOOL_AUDIT = [
  'credential.created',
  'credential.changed',
  'tool.deleted',
  'tool.discovered',
] as const;

/** Of a tool whose parameters are its server's or its app's. */
const ANY_OBJECT = '{"type":"object"}';

const DUPLICATE = 'A tool with this name already exists in this project or org.';

/** Agents that a tool is attached to: `AgentLinks`. */
export interface ToolLinks {
  attachedTo(scope: Scope, kind: 'tools', id: string): Promise<ErrorRef[]>;
  detachEverywhere(scope: Scope, caller: Principal, kind: 'tools', id: string): Promise<void>;
}

/** Connections that tools may use: `AppConnectionRecord`. */
export interface UsableConnection extends StoredRecord {
  org_id: string;
  project_id: string | null;
  app: string;
}

/** The org's catalogue of what agents can do besides talking. */
export class ToolService {
  readonly #links: ToolLinks;
  readonly #audit: AuditLog<(typeof TOOL_AUDIT)[number]>;
  readonly #box: SecretBox;
  readonly #clock: Clock;
  readonly #outboundAllow: readonly string[];
  readonly #connections: Collection<UsableConnection>;

  constructor(deps: {
    links: ToolLinks;
    audit: AuditLog<(typeof TOOL_AUDIT)[number]>;
    box: SecretBox;
    clock: Clock;
    outboundAllow: readonly string[];
    connections: Collection<UsableConnection>;
  }) {
    this.#links = deps.links;
    this.#audit = deps.audit;
    this.#box = deps.box;
    this.#clock = deps.clock;
    this.#outboundAllow = deps.outboundAllow;
    this.#connections = deps.connections;
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
    const app = request.type === 'app' ? await this.#appOf(scope, projectId, request.app) : null;
    await checkRoom(scope.collection(toolCollection), { project_id: projectId });
    const tool = await orDuplicate(
      scope.collection(toolCollection).insert({
        _id: newId('tol', this.#clock.now()),
        project_id: projectId,
        name: request.name,
        description: request.description,
        type: request.type,
        ...this.#endpointOf(request),
        app,
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
    const { parameters, webhook, mcp, app, execution, response, ...rest } = request;
    const sent = { parameters, webhook, mcp, app };
    checkType(tool, sent);
    checkRetries(tool.type, execution?.retries);
    const basis = ['webhook', 'mcp', 'app', 'secrets', 'execution', 'response'] as const;
    const changed = await orDuplicate(
      scope.collection(toolCollection).change(tool, basis, async (current) => {
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
        if (app && current.app) change.app = await this.#changedApp(scope, current, current.app, app);
        return change;
      }),
      DUPLICATE,
    );
    if (webhook ?? mcp ?? app) {
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
    if (request.type === 'app') {
      return { parameters: ANY_OBJECT, webhook: null, mcp: null, secrets: this.#seal(NO_SECRETS) };
    }
    if (request.type === 'webhook') {
      this.#checkUrl('webhook', request.webhook.url);
      const { masked, secrets } = separateSecrets('webhook', request.webhook);
      const parameters = JSON.stringify(request.parameters);
      return { parameters, webhook: masked, mcp: null, secrets: this.#seal(secrets) };
    }
    this.#checkUrl('mcp', request.mcp.url);
    const { masked, secrets } = separateSecrets('mcp', request.mcp);
    const mcp = { ...masked, discovered: '[]' };
    return { parameters: ANY_OBJECT, webhook: null, mcp, secrets: this.#seal(secrets) };
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

  /**
   * What a tool is to have an app do: with a connection that its project can use, and arguments that fit the action.
   * @throws ValidationError
   */
  async #appOf(
    scope: Scope,
    projectId: string | null,
    { connection_id, action: name, fixed_arguments: fixed }: ToolAppInput,
  ): Promise<ToolApp> {
    const at = ['body', 'app'];
    const connection = await scope.collection(this.#connections).findOne({ _id: connection_id });
    if (!connection || (connection.project_id !== null && connection.project_id !== projectId))
      throw new ValidationError([referenceNotFound([...at, 'connection_id'])]);
    const action = findAction(connection.app, name);
    if (!action) throw invalid([...at, 'action'], `is not an action of ${connection.app}`);
    const faults = argumentFaults(action, fixed, { partly: true });
    if (faults.length > 0) {
      throw new ValidationError(
        faults.map(({ name: argument, problem }) => ({
          loc: [...at, 'fixed_arguments', ...(argument === null ? [] : [argument])],
          msg: problem,
          type: 'value_error',
        })),
      );
    }
    return { connection_id, app: connection.app, action: name, fixed_arguments: JSON.stringify(fixed) };
  }

  #changedApp(
    scope: Scope,
    { project_id: projectId }: ToolRecord,
    stored: ToolApp,
    sent: { fixed_arguments?: Record<string, unknown> | null | undefined } & Partial<
      Record<'connection_id' | 'action', string | undefined>
    >,
  ): Promise<ToolApp> {
    const { fixed_arguments: patch, ...rest } = sent;
    const before = JSON.parse(stored.fixed_arguments) as Record<string, unknown>;
    const merged = { ...stored, ...defined(rest), fixed_arguments: patchMap(before, patch) };
    return this.#appOf(scope, projectId, merged);
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
  { parameters, webhook, mcp, app }: { parameters: unknown; webhook: unknown; mcp: unknown; app: unknown },
): void {
  const refuse = (field: string) => {
    throw invalid(['body', field], `is not a field of a tool of the type ${type}`, 'extra_forbidden');
  };
  if (type !== 'mcp' && mcp !== undefined) refuse('mcp');
  if (type !== 'app' && app !== undefined) refuse('app');
  if (type !== 'webhook' && webhook !== undefined) refuse('webhook');
  if (type !== 'webhook' && parameters !== undefined) refuse('parameters');
}

/** @throws ValidationError: whether a call of an MCP server may be repeated is not known */
function checkRetries(type: ToolRecord['type'], retries: number | null | undefined): void {
  if (type === 'mcp' && (retries ?? 0) > 0)
    throw invalid(['body', 'execution', 'retries'], 'must be 0 for an MCP server', 'not_available');
}
