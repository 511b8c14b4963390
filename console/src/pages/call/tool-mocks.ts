import { toolCallsOf } from './lanes.ts';
import type { LogEvent } from './session-log.ts';

/** As the API takes it. */
export interface ToolMock {
  tool_id: string;
  function: null;
  /** A subset of the arguments. */
  match: Record<string, unknown>;
  result: unknown;
  error: string | null;
}

const MAX_MOCKS = 50;

/**
 * Answers of tools as they were in a call, for a test that is to have the same ones. Left out is what could not be given
 * again: calls that failed, and arguments or answers that are no whole JSON, such as those that were shortened.
 */
export function mocksOf(events: readonly LogEvent[]): ToolMock[] {
  const mocks: ToolMock[] = [];
  for (const call of toolCallsOf(events)) {
    if (call.tool_id === null || call.kind !== 'webhook' || call.ok !== true || mocks.length === MAX_MOCKS)
      continue;
    const match = parsed(call.arguments ?? '{}');
    const result = parsed(call.result ?? '');
    if (typeof match !== 'object' || match === null || Array.isArray(match) || result === undefined) continue;
    mocks.push({
      ...{ tool_id: call.tool_id, function: null, error: null },
      match: match as Record<string, unknown>,
      result,
    });
  }
  return mocks;
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}
