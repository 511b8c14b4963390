import { randomUUID } from 'node:crypto';
import type { PlanTool, SessionPlan } from '@parley/shared/contracts/session-plan';
import type { AgentTools } from './agent-tools.ts';
import { refusal } from './built-in-tools.ts';
import type { RunningTools } from './running-tools.ts';
import * as answers from './tool-answers.ts';
import type { Outcome, ToldCall, ToolLog } from './tool-log.ts';

/** A tool call of a flow. */
interface FlowCall extends ToldCall {
  readonly tool: PlanTool;
  readonly args: Record<string, unknown>;
}

/** Runs the tools that the nodes of a flow call, one at a time, some only with the caller's yes. */
export class FlowTools {
  readonly #plan: Pick<SessionPlan, 'tools'>;
  readonly #agent: AgentTools;
  readonly #log: ToolLog;
  readonly #running: RunningTools;
  /** What the flow has told of and not run yet. */
  #told: FlowCall | undefined;

  constructor(deps: {
    plan: Pick<SessionPlan, 'tools'>;
    agent: AgentTools;
    log: ToolLog;
    running: RunningTools;
  }) {
    this.#plan = deps.plan;
    this.#agent = deps.agent;
    this.#log = deps.log;
    this.#running = deps.running;
  }

  /** Tells that the flow wants to run a tool, which waits for the caller's yes. */
  ask(toolId: string, given: Record<string, unknown>): PlanTool | undefined {
    const told = (this.#told ??= this.#begin(toolId, given));
    if (told) this.#log.confirmation(told, 'asked');
    return told?.tool;
  }

  /** Tells what the caller has said to it. @param answer `unconfirmed`: no clear yes or no, and it is not asked again */
  answered(answer: 'yes' | 'no' | 'unclear' | 'unconfirmed'): void {
    const told = this.#told;
    if (!told) return;
    this.#log.confirmation(told, answer === 'unconfirmed' ? 'unclear' : answer);
    if (answer === 'yes' || answer === 'unclear') return;
    this.#log.finished(told, answer === 'no' ? answers.DECLINED : answers.UNCONFIRMED);
    this.#told = undefined;
  }

  /** Runs a tool once as the flow wants it, and waits for it whatever its mode. Never rejects. */
  async run(toolId: string, given: Record<string, unknown>): Promise<Outcome & { name: string }> {
    const told = this.#told ?? this.#begin(toolId, given);
    this.#told = undefined;
    if (!told) return { name: 'unknown', ok: false, code: 'unknown_tool', content: refusal('Unknown tool.') };
    const { tool, call, args } = told;
    this.#running.began();
    const outcome = await this.#running.timely(this.#agent.run(tool, call.id, args));
    this.#log.finished(told, outcome);
    this.#running.ended();
    return { ...outcome, name: tool.name };
  }

  /** The call is over: what waits for the caller's yes is told as cancelled. */
  close(): void {
    if (this.#told) this.#log.finished(this.#told, answers.ENDED);
  }

  #begin(toolId: string, given: Record<string, unknown>): FlowCall | undefined {
    const tool = this.#plan.tools.find(({ tool_id: id }) => id === toolId);
    if (!tool) return undefined;
    const args = typedArguments(given, tool);
    const call = { id: `flow_${randomUUID()}`, name: tool.name, arguments: JSON.stringify(args) };
    return { ...this.#log.started(call), tool, args };
  }
}

/** Texts that templates have filled, as the numbers and truth values that a tool wants. */
function typedArguments(given: Record<string, unknown>, { parameters }: PlanTool): Record<string, unknown> {
  const properties = (parameters['properties'] ?? {}) as Record<string, { type?: unknown } | undefined>;
  const typed = (name: string, value: unknown): unknown => {
    const type = properties[name]?.type;
    if (typeof value !== 'string') return value;
    if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
    const isNumber = (type === 'number' || type === 'integer') && value.trim() !== '';
    return isNumber && Number.isFinite(Number(value)) ? Number(value) : value;
  };
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, typed(name, value)]));
}
