import { isSubset } from '@parley/shared/json/is-subset';
import { spoken, variableHolds } from '@parley/shared/values/variable-comparison';
import type { AgentTestCheck } from './agent-test-schema.ts';

/** What a conversation was, as checks see it. Turn 0 is what the agent says first, turn n answers the nth caller turn. */
export interface Observed {
  said: { role: 'caller' | 'agent'; text: string; turn: number }[];
  toolCalls: ToolUse[];
  /** Nodes of the agent's flow that the call has come to. */
  nodes: { nodeId: string; turn: number }[];
  /** Answers that were spoken: from the caller's last sound to the agent's first. */
  answers: { turn: number; latencyMs: number }[];
  /** As they were at the end. */
  variables: Readonly<Record<string, string>>;
  endedBy: string | null;
}

export interface ToolUse {
  toolId: string | null;
  name: string;
  /** Undefined where they were no JSON, or too long to be kept whole. */
  arguments: unknown;
  turn: number;
  /** Why it failed. */
  code: string | null;
}

export interface CheckOutcome {
  id: string;
  passed: boolean;
  reason: string;
}

type PlainCheck = Exclude<AgentTestCheck, { kind: 'judge' }>;

const MAX_QUOTE = 300;

/** @param turn only what happened in this turn counts; undefined for the whole conversation */
export function evaluate(check: PlainCheck, observed: Observed, turn?: number): Omit<CheckOutcome, 'id'> {
  const inScope = (one: { turn: number }) => turn === undefined || one.turn === turn;
  switch (check.kind) {
    case 'contains':
    case 'not_contains': {
      const texts = observed.said.filter((one) => one.role === 'agent' && inScope(one));
      const found = texts.find(({ text }) => spoken(text).includes(spoken(check.text)));
      const passed = (found !== undefined) === (check.kind === 'contains');
      return {
        passed,
        reason: found
          ? `The agent said: ${quote(found.text)}`
          : texts.length === 0
            ? 'The agent said nothing.'
            : `The agent did not say this. It said: ${quote(texts.map(({ text }) => text).join(' '))}`,
      };
    }
    case 'tool_called':
    case 'tool_not_called': {
      const calls = observed.toolCalls.filter((one) => one.toolId === check.tool_id && inScope(one));
      const wanted = check.kind === 'tool_called' ? check.arguments : undefined;
      const fits = calls.filter((one) => wanted === undefined || isSubset(wanted, one.arguments));
      const passed = fits.length > 0 === (check.kind === 'tool_called');
      const last = fits.at(-1) ?? calls.at(-1);
      return {
        passed,
        reason: last
          ? `${last.name} was called with ${quote(JSON.stringify(last.arguments) ?? 'unreadable arguments')}`
          : 'The tool was not called.',
      };
    }
    case 'node_reached': {
      const reached = observed.nodes.filter(inScope).map(({ nodeId }) => nodeId);
      return {
        passed: reached.includes(check.node_id),
        reason:
          reached.length === 0
            ? 'The conversation came to no node of a flow.'
            : `The conversation came to: ${quote(reached.join(', '))}`,
      };
    }
    case 'variable': {
      const value = observed.variables[check.name];
      return {
        passed: variableHolds(value, check.op, check.value),
        reason: value === undefined ? `${check.name} is not set.` : `${check.name} is ${quote(value)}`,
      };
    }
    case 'max_latency_ms': {
      const answers = observed.answers.filter(inScope);
      const slowest = answers.reduce<(typeof answers)[number] | undefined>(
        (worst, one) => (worst && worst.latencyMs >= one.latencyMs ? worst : one),
        undefined,
      );
      return {
        passed: slowest !== undefined && slowest.latencyMs <= check.value,
        reason: slowest
          ? `The slowest answer took ${slowest.latencyMs} ms, in turn ${slowest.turn}.`
          : 'The agent answered nothing aloud.',
      };
    }
    case 'ended_by':
      return {
        passed: observed.endedBy === check.value,
        reason: `The conversation was ended by: ${observed.endedBy ?? 'nobody'}.`,
      };
  }
}

function quote(text: string): string {
  return text.length <= MAX_QUOTE ? text : `${text.slice(0, MAX_QUOTE)}…`;
}
