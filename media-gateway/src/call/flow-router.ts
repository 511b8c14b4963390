import type { Usage } from '@parley/shared/contracts/call-events';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { Clock } from '@parley/shared/time/clock';
import type { RouteOption, Route } from '../flow/flow-step.ts';
import type { LlmMessage, LlmProvider } from '../providers/llm/llm-provider.ts';
import type { Emit } from '../reporting/call-reporter.ts';

/** How long the caller waits for the decision. Then the node stays. */
export const ROUTING_MS = 1500;
/** Enough for a number. */
const MAX_TOKENS = 16;

const RULES = [
  'You follow a conversation between an agent and a caller, and decide which of some numbered conditions is true now.',
  'Judge by what the caller has said and done. Answer with a number alone, never with words.',
].join(' ');

/** Has a model decide which way a flow goes on. */
export class FlowRouter {
  readonly #plan: SessionPlan;
  readonly #llm: (id: string | null) => LlmProvider;
  readonly #messages: (systemPrompt: string) => LlmMessage[];
  readonly #clock: Clock;
  readonly #usage: Usage;
  readonly #emit: Emit;
  readonly #signal: AbortSignal;

  constructor(deps: {
    plan: SessionPlan;
    /** The model with an id; null: the agent's own. */
    llm: (id: string | null) => LlmProvider;
    /** The conversation so far. */
    messages: (systemPrompt: string) => LlmMessage[];
    clock: Clock;
    usage: Usage;
    emit: Emit;
    /** Aborts when the call is over. */
    signal: AbortSignal;
  }) {
    this.#plan = deps.plan;
    this.#llm = deps.llm;
    this.#messages = deps.messages;
    this.#clock = deps.clock;
    this.#usage = deps.usage;
    this.#emit = deps.emit;
    this.#signal = deps.signal;
  }

  /**
   * Asks once. Never rejects.
   * @param mayStay none of them may be true
   * @returns null: none is true, or there is no answer in time
   */
  async choose(
    options: readonly RouteOption[],
    mayStay: boolean,
    signal: AbortSignal,
  ): Promise<Route | null> {
    const late = new AbortController();
    const overdue = Promise.withResolvers<undefined>();
    const timer = this.#clock.setTimeout(() => {
      late.abort(new Error('The decision took too long.'));
      overdue.resolve(undefined);
    }, ROUTING_MS);
    try {
      const asked = AbortSignal.any([signal, late.signal, this.#signal]);
      const answer = await Promise.race([this.#ask(options, mayStay, asked), overdue.promise]);
      if (answer === undefined) this.#emit('warning', { code: 'routing_late' });
      const number = /\d+/.exec(answer ?? '')?.[0];
      return options[Number(number ?? 0) - 1]?.route ?? null;
    } catch (error) {
      if (!signal.aborted && !this.#signal.aborted)
        this.#emit('warning', {
          code: 'routing_failed',
          error: error instanceof Error ? error.name : 'Error',
        });
      return null;
    } finally {
      timer.cancel();
    }
  }

  async #ask(options: readonly RouteOption[], mayStay: boolean, signal: AbortSignal): Promise<string> {
    const { agent, flow, project_id } = this.#plan;
    const list = options.map(({ condition }, i) => `${i + 1}. ${condition}`);
    const question = mayStay ? 'Answer 0 if none of them is true.' : 'Answer with the one that fits best.';
    const stream = this.#llm(flow?.definition.routing_llm_id ?? null).stream(
      {
        messages: [
          ...this.#messages(RULES),
          { role: 'user', content: `[Which of these is true now?\n${list.join('\n')}\n${question}]` },
        ],
        tools: [],
        temperature: 0,
        maxOutputTokens: MAX_TOKENS,
        timeoutMs: ROUTING_MS,
        cacheKey: `${agent.agent_id ?? project_id}:routing`,
      },
      signal,
    );
    let answer = '';
    for await (const event of stream) {
      if (event.type === 'text') answer += event.text;
      else if (event.type === 'usage') {
        this.#usage.llm_input_tokens += event.inputTokens;
        this.#usage.llm_output_tokens += event.outputTokens;
      }
    }
    return answer;
  }
}
