import type { PlanTool } from '@parley/shared/contracts/session-plan';

/** Runs the tools that live outside the gateway. Never throws except on abort. */
export interface ToolRunner {
  run(
    tool: PlanTool,
    call: {
      toolCallId: string;
      arguments: unknown;
      session: ToolSession;
      orgId: string;
      allow: readonly string[];
    },
    signal: AbortSignal,
  ): Promise<ToolOutcome>;
}

/** What a tool is told of the call it serves. */
export interface ToolSession {
  session_id: string;
  agent_id: string | null;
  channel: string;
  direction: string;
  from_number: string | null;
  to_number: string | null;
  variables: Record<string, string>;
}

export interface ToolOutcome {
  ok: boolean;
  /** For the LLM, already cut to size. */
  content: string;
  status?: number;
  code?: string;
  /** Variables to set, by the tool's `response.assign`. */
  assigned: Record<string, string>;
  durationMs: number;
}
