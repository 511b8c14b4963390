import { isDeepStrictEqual } from 'node:util';
import type { FlowNode } from '@parley/shared/contracts/flow-definition';
import type { FlowState } from '@parley/shared/contracts/flow-state';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import { toFlowGraph, type FlowGraph } from '../flow/flow-graph.ts';
import { step, type FlowEffect, type FlowInput, type Route, type RouteOption } from '../flow/flow-step.ts';
import type { Emit } from '../reporting/call-reporter.ts';
import type { AgentSpeech } from '../speech/agent-speech.ts';
import type { AgentUtterance } from '../speech/agent-utterance.ts';
import type { PhaseOfCall } from './call-phase.ts';
import type { VariableChanges } from './variable-changes.ts';
import type { PromptTexts } from './prompt.ts';

/** How many events may wait until nobody speaks; further ones are dropped. */
const MAX_WAITING = 16;
/** Told to a model that is to speak though nothing was said to it. */
const GO_ON = 'It is your turn to speak: go on with your task.';

/** What a flow does to its call. */
export interface FlowCall {
  /** Has a node's prompt, tools and settings hold. */
  enter(node: FlowNode): void;
  /** Never rejects. @returns null: none, or there is no answer in time */
  choose(options: readonly RouteOption[], mayStay: boolean, signal: AbortSignal): Promise<Route | null>;
  /** Runs a tool of the plan. Never rejects. @returns its text */
  runTool(toolId: string, args: Record<string, unknown>): Promise<{ ok: boolean; content: string }>;
  /** @returns what cancels it */
  after(ms: number, then: () => void): () => void;
  /** Says the message, or that of the agent, and ends. */
  end(message: string | undefined): void;
  /** The flow cannot go on: the call ends. */
  fail(code: Extract<FlowEffect, { type: 'fail' }>['code']): void;
  /** The caller has said something that nobody has answered. */
  awaitsAnswer(): boolean;
  /** The caller is in the middle of something. */
  callerSpeaks(): boolean;
}

/** What is to be answered. */
export interface FlowAnswer {
  /** End of the caller's turn, monotonic ms; undefined: none has just ended. */
  endedAt?: number;
  /** Text only: no voice speaks it. Otherwise as `AgentSpeech.setTextOnly` says. */
  textOnly?: boolean;
}

/** Runs the flow of a call: gives it what happens, and carries out what it wants. */
export class FlowRun {
  readonly #plan: SessionPlan;
  readonly #variables: Record<string, string>;
  readonly #changes: VariableChanges;
  readonly #prompt: PromptTexts;
  readonly #phase: PhaseOfCall;
  readonly #speech: AgentSpeech;
  readonly #emit: Emit;
  readonly #call: FlowCall;
  #graph: FlowGraph | undefined;
  #state: FlowState | undefined;
  /** The fixed text that is being said. */
  #saying: AgentUtterance | undefined;
  /** The decision that a model is asked for. */
  #routing: AbortController | undefined;
  #stopWait: (() => void) | undefined;
  /** What waits until nobody speaks. */
  readonly #waiting: FlowInput[] = [];
  /** The variables at the last step. */
  #known: Record<string, string> = {};

  constructor(deps: {
    plan: SessionPlan;
    /** The variables of the call itself, not a copy: the flow sets some. */
    variables: Record<string, string>;
    changes: VariableChanges;
    prompt: PromptTexts;
    phase: PhaseOfCall;
    speech: AgentSpeech;
    emit: Emit;
    call: FlowCall;
  }) {
    this.#plan = deps.plan;
    this.#variables = deps.variables;
    this.#changes = deps.changes;
    this.#prompt = deps.prompt;
    this.#phase = deps.phase;
    this.#speech = deps.speech;
    this.#emit = deps.emit;
    this.#call = deps.call;
    this.#readPlan();
  }

  /** Another agent is in the plan, with a flow of its own or none. */
  agentChanged(): void {
    this.close();
    this.#saying = undefined;
    this.#waiting.length = 0;
    this.#state = undefined;
    this.#readPlan();
  }

  #readPlan(): void {
    const { flow, agent } = this.#plan;
    this.#graph = flow ? toFlowGraph(flow.definition, agent.agent_id) : undefined;
    const state = flow?.state;
    const fits =
      state?.agent_id === agent.agent_id &&
      state.entries.length === flow?.definition.nodes.length &&
      this.#graph?.nodes.has(state.node_id);
    if (state && fits) this.#state = state;
  }

  /** Whether the agent has a flow at all. */
  get exists(): boolean {
    return this.#graph !== undefined;
  }

  get hasBegun(): boolean {
    return this.#state !== undefined;
  }

  /** Whether the first node talks with the caller, so that it need not wait for the greeting. */
  get beginsTalking(): boolean {
    const start = this.#graph?.nodes.get(this.#graph.definition.start_node_id);
    return start?.type === 'conversation';
  }

  /** The node that the call is in. */
  get nodeId(): string | undefined {
    return this.#state?.node_id;
  }

  /** Whether a model is being asked which way to go. */
  get isDeciding(): boolean {
    return this.#routing !== undefined;
  }

  /** Makes a reply only before the caller's turn is over where nothing but the node's own model answers it. */
  get mayThinkAhead(): boolean {
    if (!this.#graph) return true;
    const { node_id: id, phase, returns } = this.#state ?? {};
    const edges = id === undefined ? [] : (this.#graph.leaving.get(id) ?? []);
    const decides = edges.some(({ condition }) => condition.type === 'llm') || this.#graph.globals.length > 0;
    return phase === 'talking' && !decides && returns?.length === 0;
  }

  /** Whether an event or a time is waited for, and not the caller. */
  get isWaiting(): boolean {
    return this.#state?.phase === 'waiting';
  }

  /** An event from outside; it waits until nobody speaks. */
  event(name: string): void {
    if (this.#graph && this.#waiting.length < MAX_WAITING) this.#takeSoon({ type: 'event', name });
  }

  /** The call ends, or the flow is another one's. */
  close(): void {
    this.#stopRouting();
    this.#stopWait?.();
    this.#stopWait = undefined;
  }

  #takeSoon(input: FlowInput): void {
    this.#waiting.push(input);
    this.takeWaiting();
  }

  /** Takes what has waited, if nobody speaks. */
  takeWaiting(): void {
    if (this.#waiting.length === 0 || this.#speech.busy || this.#routing || this.#call.callerSpeaks()) return;
    if (this.#phase.on('flow_step') === 'take') this.take(this.#waiting.shift()!);
  }

  /** An utterance of the model was heard: what its tools have set may lead on. */
  heard(): void {
    if (this.#state && !this.#saying && !isDeepStrictEqual(this.#known, { ...this.#variables }))
      this.take({ type: 'result' });
    this.takeWaiting();
  }

  /**
   * Takes a step.
   * @param answer what a reply of the model answers
   * @returns whether the flow did anything
   */
  take(input: FlowInput, answer: FlowAnswer = {}): boolean {
    if (!this.#graph || this.#phase.on('flow_step') !== 'take') return false;
    this.#stopRouting();
    const { state, effects } = step(this.#graph, this.#state, input, (name) => this.#prompt.lookup(name));
    this.#state = state;
    if (state.phase !== 'waiting') this.#stopWait?.();
    const entered = effects.findLast((effect) => effect.type === 'enter');
    for (const effect of effects) {
      if (effect === entered) {
        this.#speech.discardPrepared();
        this.#call.enter(effect.node);
      }
      this.#carryOut(effect, state, answer);
    }
    this.#known = { ...this.#variables };
    return effects.length > 0;
  }

  #carryOut(effect: FlowEffect, state: FlowState, answer: FlowAnswer): void {
    switch (effect.type) {
      case 'enter': {
        const { node, by, edgeId } = effect;
        if (by === 'resume') return;
        const along = edgeId === undefined ? {} : { edge_id: edgeId };
        this.#emit('flow_node', { node_id: node.id, by, ...along, state, ...this.#changes.take() });
        return;
      }
      case 'assign':
        Object.assign(this.#variables, effect.variables);
        return;
      case 'missing':
        this.#prompt.missing(effect.name);
        return;
      case 'say':
        this.#say(effect.text, effect.interruptible);
        return;
      case 'tool':
        void this.#call.runTool(effect.toolId, effect.arguments).then(({ ok, content }) => {
          this.#takeSoon({ type: 'tool_done', ok, result: parsed(content) });
        });
        return;
      case 'wait':
        this.#stopWait?.();
        this.#stopWait = this.#call.after(effect.seconds * 1000, () => this.#takeSoon({ type: 'timer' }));
        return;
      case 'reply':
        this.#reply(answer);
        return;
      case 'route':
        this.#route(effect, answer);
        return;
      case 'end':
        this.#call.end(effect.message);
        return;
      case 'fail':
        this.#call.fail(effect.code);
    }
  }

  #say(text: string, interruptible: boolean): void {
    const saying = this.#speech.say(text, 'say', { interruptible });
    this.#saying = saying;
    void saying.done.then(({ status }) => {
      if (this.#saying !== saying) return;
      this.#saying = undefined;
      // Who interrupted will be done in a moment.
      if (status !== 'interrupted') this.take({ type: 'played' });
    });
  }

  #reply({ endedAt, textOnly }: FlowAnswer): void {
    const how = textOnly === undefined ? {} : { textOnly };
    if (endedAt !== undefined) this.#speech.answerTurn(endedAt);
    else if (this.#call.awaitsAnswer()) this.#speech.answer(how);
    else this.#speech.answer({ note: GO_ON, ...how });
  }

  #route({ options, mayStay }: Extract<FlowEffect, { type: 'route' }>, answer: FlowAnswer): void {
    const routing = (this.#routing = new AbortController());
    // The node may stay: then its answer is on its way already.
    if (mayStay && this.#plan.agent.config.turn_taking.preemptive_generation) this.#speech.prepare();
    void this.#call.choose(options, mayStay, routing.signal).then((choice) => {
      if (this.#routing !== routing) return;
      this.#routing = undefined;
      this.take({ type: 'route', choice }, answer);
    });
  }

  #stopRouting(): void {
    if (!this.#routing) return;
    this.#routing.abort(new Error('The caller went on.'));
    this.#routing = undefined;
    this.#speech.discardPrepared();
  }
}

/** The answer of a tool as JSON, or as its text where it is none. */
function parsed(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return content;
  }
}
