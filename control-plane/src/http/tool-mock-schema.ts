import { z } from 'zod';
import { idSchema } from './operation.ts';

export const mockedFunction = z.string().min(1).max(256).nullable().meta({
  description:
    'Which function of the tool: of an MCP server its own name of the tool, of an app the action. Null: each of them.',
  example: null,
});

const toolMock = z.strictObject({
  tool_id: idSchema('tol'),
  function: mockedFunction.default(null),
  match: z.record(z.string(), z.unknown()).default({}).meta({ description: 'A subset of the arguments.' }),
  result: z.unknown().default(null),
  error: z.string().min(1).max(2000).nullable().default(null),
});
export type ToolMock = z.output<typeof toolMock>;

/** Answers in place of tools, which are not called: those of tests, and of whoever tries an agent. */
export const toolMocks = z.array(toolMock).max(50);
