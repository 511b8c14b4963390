import { TOOL_CALL_MARGIN_MS } from '@parley/shared/contracts/tool-calls';
import type { ToolCallAnswer, ToolCallRequest } from '@parley/shared/contracts/tool-calls';
import type { PlanTool } from '@parley/shared/contracts/session-plan';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { ToolCall, ToolOutcome, ToolRunner } from '@parley/shared/tools/tool-runner';
import { parseArguments } from '@parley/shared/tools/webhook-tool';

/** Runs tools for the calls of this gateway: the control plane. */
export interface ToolSource {
  /** @throws Error when there is no answer; the reason of `signal` */
  runTool(
    sessionId: string,
    request: ToolCallRequest,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<ToolCallAnswer>;
}

/** Runs webhook tools here, and has the control plane run the others. */
export class RemoteTools implements ToolRunner {
  readonly #webhooks: ToolRunner;
  readonly #source: ToolSource;
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #logger: Logger;

  constructor(deps: {
    webhooks: ToolRunner;
    source: ToolSource;
    clock: Pick<Clock, 'monotonic'>;
    logger: Logger;
  }) {
    this.#webhooks = deps.webhooks;
    this.#source = deps.source;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  async run(tool: PlanTool, call: ToolCall, signal: AbortSignal): Promise<ToolOutcome> {
    if (tool.type === 'webhook') return this.#webhooks.run(tool, call, signal);
    const startedMs = this.#clock.monotonic();
    const args = parseArguments(call.arguments);
    if (!args) return failure('invalid_arguments', 'The arguments are not a JSON object.', 0);
    const request = {
      tool_call_id: call.toolCallId,
      tool_id: tool.tool_id,
      arguments: args,
      ...(tool.function === undefined ? {} : { function: tool.function }),
    };
    const timeoutMs = tool.execution.timeout_ms + TOOL_CALL_MARGIN_MS;
    try {
      const answer = await this.#source.runTool(call.session.session_id, request, timeoutMs, signal);
      const { duration_ms: durationMs, code, ...rest } = answer;
      return { ...rest, durationMs, ...(code === undefined ? {} : { code }) };
    } catch (error) {
      signal.throwIfAborted();
      this.#logger.warn({ err: error, tool: tool.name }, 'a tool could not be run');
      const durationMs = Math.round(this.#clock.monotonic() - startedMs);
      return durationMs >= timeoutMs
        ? failure('timeout', `The tool did not answer within ${tool.execution.timeout_ms} ms.`, durationMs)
        : failure('unavailable', 'The tool could not be reached.', durationMs);
    }
  }
}

function failure(code: string, content: string, durationMs: number): ToolOutcome {
  return { ok: false, code, content, assigned: {}, durationMs };
}
