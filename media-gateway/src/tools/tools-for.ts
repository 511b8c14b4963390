import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { ToolRunner } from '@parley/shared/tools/tool-runner';
import { LimitedTools } from './limited-tools.ts';
import { MockedTools } from './mocked-tools.ts';

/** What runs the tools of one call: those of the gateway, as often as the plan says. What is mocked is not run, nor counted. */
export function toolsFor(
  { tool_mocks: mocks, limits }: Pick<SessionPlan, 'tool_mocks' | 'limits'>,
  deps: Omit<ConstructorParameters<typeof LimitedTools>[0], 'limits'>,
): ToolRunner {
  const { tool_calls: own } = limits;
  const tools = own.length === 0 ? deps.tools : new LimitedTools({ ...deps, limits: own });
  return mocks.length === 0 ? tools : new MockedTools(mocks, tools);
}
