import type { PlanTool } from '../contracts/session-plan.ts';

/** Runs the tools that live outside the gateway. */
export interface ToolRunner {
  /** Runs a tool once. Failures are outcomes; only an abort throws, with the reason of `signal`. */
  run(tool: PlanTool, call: ToolCall, signal: AbortSignal): Promise<ToolOutcome>;
}

export interface ToolCall {
  toolCallId: string;
  /** An object, or the JSON of one as the model wrote it. */
  arguments: unknown;
  /** The session, as it is sent to tools. */
  session: ToolSession;
  orgId: string;
  /** `outbound_allow` of the session plan. */
  allow?: readonly string[];
}

/** What a tool gets to know of the session it serves. */
export interface ToolSession {
  session_id: string;
  agent_id: string | null;
  channel: string;
  direction: string;
  from_number: string | null;
  to_number: string | null;
  variables: Readonly<Record<string, string>>;
}

export interface ToolOutcome {
  ok: boolean;
  /** Text for the LLM, cut to size: the tool's answer, or what went wrong. */
  content: string;
  /** HTTP status, where there was an answer. */
  status?: number;
  /**
   * Code word of the failure: `invalid_arguments`, `unsupported`, `http_error`, `not_text`, or a code of
   * outbound-errors.ts.
   */
  code?: string;
  /** Variables to set, by the tool's `response.assign`. */
  assigned: Record<string, string>;
  durationMs: number;
}
