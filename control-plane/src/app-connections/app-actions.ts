import type { PlanTool } from '@parley/shared/contracts/session-plan';
import type { SafeFetch } from '@parley/shared/http/safe-fetch';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { ToolCall, ToolOutcome } from '@parley/shared/tools/tool-runner';
import { parseArguments, requestTool } from '@parley/shared/tools/webhook-tool';
import type { ToolResult } from '@parley/shared/tools/webhook-tool';
import type { Database } from '../storage/database.ts';
import { argumentFaults, findAction } from './app-catalog.ts';
import { appConnectionCollection } from './app-connection-model.ts';
import type { AppConnectionRecord } from './app-connection-model.ts';
import { AppConnectionError } from './app-credentials.ts';
import type { AppCredentials, OpenCredential } from './app-credentials.ts';
import { appFetch } from './app-fetch.ts';
import { fillRequest } from './app-request.ts';
import type { InstalledApps } from './app-settings.ts';

/** An action of a connection, as a tool holds it. */
export interface AppUse {
  orgId: string;
  /** Of the tool; null: every project of the org. */
  projectId: string | null;
  connectionId: string;
  action: string;
  /** Arguments that the model is not asked for, and cannot change. */
  fixed: Readonly<Record<string, unknown>>;
}

/** Runs actions of apps with the credentials of connections. */
export class AppActions {
  readonly #database: Database;
  readonly #apps: InstalledApps;
  readonly #credentials: AppCredentials;
  readonly #safeFetch: Pick<SafeFetch, 'request'>;
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor(deps: {
    database: Database;
    apps: InstalledApps;
    credentials: AppCredentials;
    safeFetch: Pick<SafeFetch, 'request'>;
    clock: Clock;
    logger: Logger;
  }) {
    this.#database = deps.database;
    this.#apps = deps.apps;
    this.#credentials = deps.credentials;
    this.#safeFetch = deps.safeFetch;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** Runs an action once. Failures are outcomes. @throws the reason of `signal` */
  async run(use: AppUse, tool: PlanTool, call: ToolCall, signal: AbortSignal): Promise<ToolOutcome> {
    signal.throwIfAborted();
    const startedMs = this.#clock.monotonic();
    const { timeout_ms: timeoutMs } = tool.execution;
    const timeUp = AbortSignal.timeout(timeoutMs);
    let result: ToolResult;
    try {
      result = await this.#attempt(use, tool, call, AbortSignal.any([signal, timeUp]));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof AppConnectionError) result = failure(error.code, error.message);
      else if (timeUp.aborted) result = failure('timeout', `The app did not answer within ${timeoutMs} ms.`);
      else throw error;
    }
    const durationMs = Math.round(this.#clock.monotonic() - startedMs);
    const { ok, status, code } = result;
    const { toolCallId } = call;
    this.#logger.info({ tool: tool.name, toolCallId, ok, status, code, durationMs }, 'app tool finished');
    return { ...result, durationMs };
  }

  async #attempt(use: AppUse, tool: PlanTool, call: ToolCall, signal: AbortSignal): Promise<ToolResult> {
    const connection = await this.#connectionOf(use);
    if (!connection) return failure('not_connected', 'The connection of this tool to its app was deleted.');
    const action = findAction(connection.app, use.action);
    if (!action) return failure('unsupported', 'The app does not have this action.');
    const given = parseArguments(call.arguments);
    if (!given)
      return failure('invalid_arguments', 'The arguments are not a JSON object. Call the tool again.');
    const args = { ...given, ...use.fixed };
    const faults = argumentFaults(action, args);
    if (faults.length > 0) {
      const said = faults.map(({ name, problem }) => `${name ?? 'the arguments'} ${problem}`).join('; ');
      return failure('invalid_arguments', `The arguments do not fit: ${said}. Call the tool again.`);
    }
    const { apiUrl, allow, descriptor } = this.#apps.get(connection.app);
    const request = fillRequest(apiUrl, action.request, args);
    if (!request) return failure('invalid_arguments', 'The arguments do not fit the address of the action.');
    const send = async ({ token }: OpenCredential) => {
      const headers = { ...descriptor.headers, ...request.headers, authorization: `Bearer ${token}` };
      const result = await requestTool(
        { safeFetch: appFetch(this.#safeFetch, descriptor), clock: this.#clock },
        tool,
        () => ({ ...request, headers }),
        { orgId: use.orgId, allow },
        signal,
      );
      return { ...result, content: result.content.replaceAll(token, '[secret]') };
    };
    const credential = await this.#credentials.open(connection, signal);
    const result = await send(credential);
    if (result.status !== 401) return result;
    // It was refused, so nothing was done.
    const another = await this.#credentials.afterRefusal(credential, signal);
    if (!another) return refused(result);
    const second = await send(another);
    if (second.status !== 401) return second;
    await this.#credentials.giveUp(another);
    return refused(second);
  }

  async #connectionOf({ orgId, projectId, connectionId }: AppUse): Promise<AppConnectionRecord | null> {
    const connection = await this.#database.read(appConnectionCollection, connectionId);
    if (connection?.org_id !== orgId) return null;
    return connection.project_id === null || connection.project_id === projectId ? connection : null;
  }
}

function failure(code: string, content: string): ToolResult {
  return { ok: false, code, content, assigned: {} };
}

/** What the vendor says of a credential is nothing to the model. */
function refused({ status }: ToolResult): ToolResult {
  const content = 'The app refuses the connection of this tool. An admin of the org must reconnect it.';
  return { ...failure('not_connected', content), ...(status === undefined ? {} : { status }) };
}
