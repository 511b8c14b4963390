import { isDeepStrictEqual } from 'node:util';
import type { FlowNode } from '@parley/shared/contracts/flow-definition';
import type { FlowState } from '@parley/shared/contracts/flow-state';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import { toFlowGraph, type FlowGraph } from '../flow/flow-graph.ts';
import type { Assignment, FlowEffect, FlowInput } from '../flow/flow-effects.ts';
import { step } from '../flow/flow-step.ts';
import type { Emit } from '../reporting/call-reporter.ts';
import type { AgentSpeech } from '../speech/agent-speech.ts';
import type { UtteranceEnd } from '../speech/agent-utterance.ts';
import type { PhaseOfCall } from './call-phase.ts';
import type { Decision, Question } from './flow-router.ts';
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
  assign(assignment: Assignment): void;
  /** Has a model decide which way to go, and read what the caller has said. Never rejects. */
  decide(question: Question, signal: AbortSignal): Promise<Decision>;
  /** What the model is to do in the node now. */
  setTask(text: string): void;
  /** What the caller has said that nobody has answered, and what the agent said before. */
  said(): { text: string; asked: string };
  /** Tells the model what to ask the caller before a tool runs. */
  askForTool(effect: Extract<FlowEffect, { type: 'ask' }>): void;
  answeredForTool(answer: Extract<FlowEffect, { type: 'answered' }>['answer']): void;
  /** Runs a tool of the plan. Never rejects. @returns its text */
  runTool(toolId: string, args: Record<string, unknown>): Promise<{ ok: boolean; content: string }>;
  /**
   * Plays an audio asset as words of the agent. Never rejects.
   * @param isDue whether it is still wanted when it is there
   * @returns how it ended; undefined: nothing was said
   */
  playAsset(
    effect: Extract<FlowEffect, { type: 'say' }>,
    assetId: string,
    isDue: () => boolean,
  ): Promise<UtteranceEnd['status'] | undefined>;
  /** Has the caller hear an audio asset. @returns what ends that */
  hold(assetId: string): () => void;
  /** Brings the caller to somebody else; `FlowRun.returned` follows when they are still with the agent. */
  lead(effect: Extract<FlowEffect, { type: 'transfer' | 'hand_over' }>): void;
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
  /** Stands for the fixed text that is being said, or waits for its audio. */
  #saying: object | undefined;
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
    const confirmed = this.#plan.tools.filter(({ execution }) => execution.confirm);
    const ids = new Set(confirmed.map(({ tool_id: id }) => id));
    this.#graph = flow ? toFlowGraph(flow.definition, agent.agent_id, ids) : undefined;
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

  /** The node that the call is in, and the turns of the caller in it. */
  get place(): Pick<FlowState, 'node_id' | 'turns'> | undefined {
    return this.#state;
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

  /** A later leg goes on where the one before stood. */
  resume(): void {
    this.take({ type: 'resume' });
    // Of a transfer that the carrier could not make more is known: what is said of it comes first.
    if (this.#plan.returned_from === null) this.take({ type: 'returned' });
  }

  /** Whether the caller is being brought to somebody else, as a node wants it. */
  get isLeading(): boolean {
    return this.#state?.phase === 'leading';
  }

  /** The caller was to be brought to somebody else, and is still with the agent. */
  returned(): void {
    if (this.isLeading) this.#takeSoon({ type: 'returned' });
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
    if (this.#waiting.length === 0 || this.#speech.busy || this.#call.callerSpeaks()) return;
    if (this.#routing || this.#saying) return;
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
    const heard = input.type === 'turn' ? { ...input, ...this.#call.said() } : input;
    const { state, effects } = step(this.#graph, this.#state, heard, (name) => this.#prompt.lookup(name));
    this.#state = state;
    if (state.phase !== 'waiting') this.#stopWait?.();
    if (state.phase !== 'saying' && state.phase !== 'passing') this.#saying = undefined;
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
        this.#call.assign(effect);
        return;
      case 'missing':
        this.#prompt.missing(effect.name);
        return;
      case 'say':
        this.#say(effect);
        return;
      case 'tool':
        void this.#call.runTool(effect.toolId, effect.arguments).then(({ ok, content }) => {
          this.#takeSoon({ type: 'tool_done', ok, result: parsed(content) });
        });
        return;
      case 'wait':
        this.#wait(effect);
        return;
      case 'transfer':
      case 'hand_over':
        this.#call.lead(effect);
        return;
      case 'reply':
        this.#reply(answer);
        return;
      case 'ask':
        this.#call.askForTool(effect);
        this.#reply(answer);
        return;
      case 'answered':
        this.#call.answeredForTool(effect.answer);
        return;
      case 'task':
        this.#call.setTask(effect.text);
        return;
      case 'route':
      case 'read':
        this.#decide(effect, answer);
        return;
      case 'end':
        this.#call.end(effect.message);
        return;
      case 'fail':
        this.#call.fail(effect.code);
    }
  }

  #wait({ seconds, holdAssetId }: Extract<FlowEffect, { type: 'wait' }>): void {
    this.#stopWait?.();
    const endHold = holdAssetId === null ? undefined : this.#call.hold(holdAssetId);
    const cancel = this.#call.after(seconds * 1000, () => this.#takeSoon({ type: 'timer' }));
    this.#stopWait = () => {
      cancel();
      endHold?.();
    };
  }

  #say(effect: Extract<FlowEffect, { type: 'say' }>): void {
    const { text, interruptible, assetId, keep } = effect;
    const saying = (this.#saying = {});
    const said =
      assetId === null
        ? this.#speech.say(text, 'say', { interruptible, keep }).done.then(({ status }) => status)
        : this.#call.playAsset(effect, assetId, () => this.#saying === saying);
    void said.then((status) => {
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

  #decide(effect: Question, answer: FlowAnswer): void {
    const routing = (this.#routing = new AbortController());
    // The node may stay: then its answer is on its way already.
    const mayStay = effect.type === 'route' && effect.mayStay;
    if (mayStay && this.#plan.agent.config.turn_taking.preemptive_generation) this.#speech.prepare();
    void this.#call.decide(effect, routing.signal).then(({ choice, values }) => {
      if (this.#routing !== routing) return;
      this.#routing = undefined;
      if (effect.type === 'route') this.take({ type: 'route', choice }, answer);
      else this.take({ type: 'read', choice, values, said: effect.said }, answer);
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
