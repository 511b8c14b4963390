import type { PlanTool, PlanToolMock } from '@parley/shared/contracts/session-plan';
import { isSubset } from '@parley/shared/json/is-subset';
import type { ToolCall, ToolOutcome, ToolRunner } from '@parley/shared/tools/tool-runner';
import { parseArguments, toResult } from '@parley/shared/tools/webhook-tool';

/** Answers the functions that are mocked, and never calls them; the others run. */
export class MockedTools implements ToolRunner {
  readonly #mocks: readonly PlanToolMock[];
  readonly #real: ToolRunner;

  constructor(mocks: readonly PlanToolMock[], real: ToolRunner) {
    this.#mocks = mocks;
    this.#real = real;
  }

  run(tool: PlanTool, call: ToolCall, signal: AbortSignal): Promise<ToolOutcome> {
    const mocks = this.#mocks.filter(
      (mock) => mock.tool_id === tool.tool_id && (mock.function === null || mock.function === tool.function),
    );
    if (mocks.length === 0) return this.#real.run(tool, call, signal);
    return Promise.resolve({ ...answer(mocks, tool, call), durationMs: 0 });
  }
}

function answer(
  mocks: readonly PlanToolMock[],
  tool: PlanTool,
  call: ToolCall,
): Omit<ToolOutcome, 'durationMs'> {
  const args = parseArguments(call.arguments);
  const mock = args && mocks.find(({ match }) => isSubset(match, args));
  if (!mock) return failure('no_mock_matched', 'No mock matches these arguments.');
  if (mock.error !== null) return failure('mocked_error', mock.error);
  const text = typeof mock.result === 'string' ? mock.result : JSON.stringify(mock.result);
  return toResult(tool, { status: 200, headers: {}, body: Buffer.from(text) });
}

function failure(code: string, content: string): Omit<ToolOutcome, 'durationMs'> {
  return { ok: false, code, content, assigned: {} };
}
