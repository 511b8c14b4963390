import type { PlanTool, SessionPlan } from '@parley/shared/contracts/session-plan';
import type { ToolRunner, ToolSession } from '@parley/shared/tools/tool-runner';
import type { LlmTool } from '../providers/llm/llm-provider.ts';
import * as answers from './tool-answers.ts';
import type { Outcome } from './tool-log.ts';
import type { TrustedVariables } from './trusted-variables.ts';

/** The tools that the agent of a call has from the catalogue: which of them it may use now, and how each is run. */
export class AgentTools {
  readonly #plan: SessionPlan;
  readonly #variables: Record<string, string>;
  readonly #trusted: TrustedVariables;
  readonly #signal: AbortSignal;
  readonly #byName = new Map<string, PlanTool>();
  #runner: ToolRunner;
  /** Those that the present node of a flow adds. */
  #ofNode: ReadonlySet<string> = new Set();

  /**
   * @param deps.variables of the call itself, not a copy: tools set some
   * @param deps.signal aborts at the end of the call, not of the reply: a tool that was started is finished
   */
  constructor(deps: {
    plan: SessionPlan;
    runner: ToolRunner;
    variables: Record<string, string>;
    trusted: TrustedVariables;
    signal: AbortSignal;
  }) {
    this.#plan = deps.plan;
    this.#variables = deps.variables;
    this.#trusted = deps.trusted;
    this.#signal = deps.signal;
    this.#runner = deps.runner;
    this.#learnNames();
  }

  /** Another agent is in the plan. @param runner of its tools */
  agentChanged(runner: ToolRunner): void {
    this.#runner = runner;
    this.#learnNames();
  }

  /** From now on the model has these tools too, and no more those of the node before. */
  setNode(toolIds: readonly string[]): void {
    this.#ofNode = new Set(toolIds);
  }

  /** What the model is offered. */
  list(): LlmTool[] {
    return this.#plan.tools
      .filter((tool) => this.#isOffered(tool))
      .map(({ name, description, parameters }) => ({ name, description, parameters }));
  }

  get byName(): ReadonlyMap<string, PlanTool> {
    return this.#byName;
  }

  /** @returns undefined for one that is not offered now */
  find(name: string): PlanTool | undefined {
    const tool = this.#byName.get(name);
    return tool && this.#isOffered(tool) ? tool : undefined;
  }

  /** Runs a tool once. Never rejects. @param callId tells its repetitions from other calls */
  async run(tool: PlanTool, callId: string, args: Record<string, unknown>): Promise<Outcome> {
    try {
      const outcome = await this.#runner.run(
        tool,
        {
          toolCallId: callId,
          arguments: args,
          session: this.#session(),
          orgId: this.#plan.org_id,
          allow: this.#plan.outbound_allow,
        },
        this.#signal,
      );
      Object.assign(this.#variables, outcome.assigned);
      this.#trusted.add(outcome.assigned);
      return { ok: outcome.ok, status: outcome.status, code: outcome.code, content: outcome.content };
    } catch (error) {
      return this.#signal.aborted ? answers.ENDED : answers.broken(error);
    }
  }

  #learnNames(): void {
    this.#byName.clear();
    for (const tool of this.#plan.tools) this.#byName.set(tool.name, tool);
  }

  #isOffered({ attached, tool_id }: PlanTool): boolean {
    return attached || this.#ofNode.has(tool_id);
  }

  #session(): ToolSession {
    const plan = this.#plan;
    return {
      session_id: plan.session_id,
      agent_id: plan.agent.agent_id,
      channel: plan.channel,
      direction: plan.direction,
      from_number: plan.system.caller_number,
      to_number: plan.system.called_number,
      variables: { ...this.#variables },
    };
  }
}
