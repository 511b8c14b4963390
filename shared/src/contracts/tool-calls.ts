import { z } from 'zod';

/**
 * A gateway has the control plane run a tool. The same request again, while it runs or within fifteen minutes, gets the
 * same answer, and runs nothing; closing the connection cancels the tool.
 */
export const toolCallRequest = z.object({
  tool_call_id: z.string().min(1).max(256),
  tool_id: z.string(),
  /** Of an MCP server: its own name of the tool; of an app: the action. */
  function: z.string().max(256).optional(),
  arguments: z.record(z.string(), z.unknown()),
});
export type ToolCallRequest = z.output<typeof toolCallRequest>;

/** As `ToolOutcome` of shared/src/tools. */
export const toolCallAnswer = z.object({
  ok: z.boolean(),
  content: z.string(),
  code: z.string().optional(),
  assigned: z.record(z.string(), z.string()),
  duration_ms: z.number(),
});
export type ToolCallAnswer = z.output<typeof toolCallAnswer>;

/** How much longer than the tool's own time an answer may take, ms. */
export const TOOL_CALL_MARGIN_MS = 2000;
