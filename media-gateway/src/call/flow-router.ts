import type { Usage } from '@parley/shared/contracts/usage';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { Clock } from '@parley/shared/time/clock';
import { formOf } from '../flow/collect/tasks.ts';
import type { FlowEffect, RouteOption, Route } from '../flow/flow-effects.ts';
import { countTokens } from '../providers/llm/count-tokens.ts';
import type { LlmMessage, LlmProvider } from '../providers/llm/llm-provider.ts';
import type { Emit } from '../reporting/call-reporter.ts';

/** How long the caller waits for the decision. Then the node stays. */
export const ROUTING_MS = 1500;
/** Enough for a number, or for some values. */
const MAX_TOKENS = { route: 16, read: 400 } as const;

/** What is asked of a model. */
export type Question = Extract<FlowEffect, { type: 'route' | 'read' }>;

/** What it says. */
export interface Decision {
  /** Null: none is true, or there is no answer in time. */
  choice: Route | null;
  /** What the caller has said, by name; null: there is no answer, or nothing was looked for. */
  values: Readonly<Record<string, unknown>> | null;
}

const NOTHING: Decision = { choice: null, values: null };

const RULES = [
  'You follow a conversation between an agent and a caller, and decide which of some numbered conditions is true now.',
  'Judge by what the caller has said and done. Answer with a number alone, never with words.',
].join(' ');

const READING_RULES = [
  'You take down what a caller has said in a conversation with an agent.',
  'Write only what the caller has said, complete and with their last corrections, and nothing that you guess.',
  'Answer with one JSON object alone.',
].join(' ');

/** Has a model decide which way a flow goes on, and read what callers say. */
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

  /** Asks once. Never rejects. */
  async decide(question: Question, signal: AbortSignal): Promise<Decision> {
    if (question.type === 'read' && question.fields.length + question.options.length === 0) return NOTHING;
    const late = new AbortController();
    const overdue = Promise.withResolvers<undefined>();
    const timer = this.#clock.setTimeout(() => {
      late.abort(new Error('The decision took too long.'));
      overdue.resolve(undefined);
    }, ROUTING_MS);
    try {
      const asked = AbortSignal.any([signal, late.signal, this.#signal]);
      const answer = await Promise.race([this.#ask(question, asked), overdue.promise]);
      if (answer !== undefined) return decisionOf(question, answer);
      this.#emit('warning', { code: 'routing_late' });
      return NOTHING;
    } catch (error) {
      if (!signal.aborted && !this.#signal.aborted)
        this.#emit('warning', {
          code: 'routing_failed',
          error: error instanceof Error ? error.name : 'Error',
        });
      return NOTHING;
    } finally {
      timer.cancel();
    }
  }

  async #ask(question: Question, signal: AbortSignal): Promise<string> {
    const { agent, flow, project_id } = this.#plan;
    const llm = this.#llm(flow?.definition.routing_llm_id ?? null);
    const stream = llm.stream(
      {
        messages: [
          ...this.#messages(question.type === 'route' ? RULES : READING_RULES),
          {
            role: 'user',
            content: `[${question.type === 'route' ? routeText(question) : readText(question)}]`,
          },
        ],
        tools: [],
        temperature: 0,
        maxOutputTokens: MAX_TOKENS[question.type],
        timeoutMs: ROUTING_MS,
        cacheKey: `${agent.agent_id ?? project_id}:routing`,
      },
      signal,
    );
    let answer = '';
    for await (const event of stream) {
      if (event.type === 'text') answer += event.text;
      else if (event.type === 'usage') countTokens(this.#usage, llm, event);
    }
    return answer;
  }
}

const listOf = (options: readonly RouteOption[]) =>
  options.map(({ condition }, i) => `${i + 1}. ${condition}`).join('\n');

function routeText({ options, mayStay }: Extract<Question, { type: 'route' }>): string {
  const question = mayStay ? 'Answer 0 if none of them is true.' : 'Answer with the one that fits best.';
  return `Which of these is true now?\n${listOf(options)}\n${question}`;
}

function readText({ fields, options }: Extract<Question, { type: 'read' }>): string {
  const wanted = `"values": what the caller has said of these, by name, and no field for the others:\n${fields.map(formOf).join('\n')}`;
  if (options.length === 0) return `Answer {"values": {…}}.\n${wanted}`;
  const choice = `"choice": the number of what is true now instead, or 0:\n${listOf(options)}`;
  return `Answer {"values": {…}, "choice": 0}.\n${wanted}\n${choice}`;
}

function decisionOf(question: Question, answer: string): Decision {
  const routeAt = (number: unknown) => question.options[Number(number ?? 0) - 1]?.route ?? null;
  if (question.type === 'route') return { choice: routeAt(/\d+/.exec(answer)?.[0]), values: null };
  try {
    const from = answer.indexOf('{');
    const parsed: unknown = JSON.parse(answer.slice(from, answer.lastIndexOf('}') + 1));
    const { values, choice } = parsed as { values?: unknown; choice?: unknown };
    const isObject = typeof values === 'object' && values !== null && !Array.isArray(values);
    return { choice: routeAt(choice), values: isObject ? (values as Record<string, unknown>) : {} };
  } catch {
    return NOTHING;
  }
}
