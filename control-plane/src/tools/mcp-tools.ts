import { AppError } from '@parley/shared/errors/app-error';
import type { PlanTool } from '@parley/shared/contracts/session-plan';
import type { Clock } from '@parley/shared/time/clock';
import type { ToolOutcome } from '@parley/shared/tools/tool-runner';
import { toResult } from '@parley/shared/tools/webhook-tool';
import { McpError } from './mcp-connections.ts';
import type { McpConnections, McpServer } from './mcp-connections.ts';
import { boundedFunctions } from './mcp-functions.ts';
import type { McpFunction, ToolRecord, ToolSecrets } from './tool-model.ts';

const DISCOVER_MS = 15_000;

/** Tools of MCP servers. */
export class McpTools {
  readonly #connections: McpConnections;
  readonly #clock: Pick<Clock, 'monotonic'>;

  constructor(deps: { connections: McpConnections; clock: Pick<Clock, 'monotonic'> }) {
    this.#connections = deps.connections;
    this.#clock = deps.clock;
  }

  /** What the server has now. @throws AppError 502 `provider_error`; the reason of `signal` */
  async discover(tool: ToolRecord, secrets: ToolSecrets, signal: AbortSignal): Promise<McpFunction[]> {
    try {
      const tools = await this.#connections.listTools(serverOf(tool, secrets), DISCOVER_MS, signal);
      return boundedFunctions(tools);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof McpError)) throw error;
      throw new AppError(502, 'provider_error', error.message);
    }
  }

  /** Runs one of its tools. Failures are outcomes. @throws the reason of `signal` */
  async run(
    tool: ToolRecord,
    planned: PlanTool,
    args: Record<string, unknown>,
    secrets: ToolSecrets,
    signal: AbortSignal,
  ): Promise<ToolOutcome> {
    const startedMs = this.#clock.monotonic();
    const took = () => Math.round(this.#clock.monotonic() - startedMs);
    const call = { name: planned.function ?? '', arguments: args };
    try {
      const server = serverOf(tool, secrets);
      const { failed, text } = await this.#connections.callTool(
        server,
        call,
        tool.execution.timeout_ms,
        signal,
      );
      const { status: _, ...result } = toResult(planned, {
        status: 200,
        headers: {},
        body: Buffer.from(text),
      });
      return failed
        ? { ok: false, code: 'tool_error', content: result.content, assigned: {}, durationMs: took() }
        : { ...result, durationMs: took() };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof McpError)) throw error;
      return { ok: false, code: error.code, content: error.message, assigned: {}, durationMs: took() };
    }
  }
}

function serverOf({ org_id: orgId, mcp }: ToolRecord, secrets: ToolSecrets): McpServer {
  return { orgId, url: mcp!.url, transport: mcp!.transport, secrets };
}
