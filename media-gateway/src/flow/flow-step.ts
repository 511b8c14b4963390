import type { FlowEdge, FlowNode } from '@parley/shared/contracts/flow-definition';
import { MAX_NODE_ENTRIES, MAX_RETURNS, MAX_STEPS_ALONE } from '@parley/shared/contracts/flow-state';
import type { FlowState } from '@parley/shared/contracts/flow-state';
import { toText, valueAt } from '@parley/shared/tools/tool-template';
import { renderTemplate } from '@parley/shared/templates/template';
import { isTrue, type Happening } from './conditions.ts';
import { unbegun, type FlowGraph } from './flow-graph.ts';

/** What happens to a flow. */
export type FlowInput =
  /** @param greeted the agent has greeted already: a node that talks waits for the caller */
  | { type: 'start'; greeted: boolean }
  /** A later leg goes on where the one before stood. */
  | { type: 'resume' }
  /** The caller's turn is over, and written down. */
  | { type: 'turn' }
  | { type: 'keys'; digits: string }
  | { type: 'event'; name: string }
  /** So many reminders have gone unanswered. */
  | { type: 'silence'; count: number }
  /** Tools of the model have changed variables. */
  | { type: 'result' }
  /** A fixed text that was asked for was heard, or cannot be said. */
  | { type: 'played' }
  /** The tool that was to run has answered, or failed. @param result its JSON, or its text */
  | { type: 'tool_done'; ok: boolean; result: unknown }
  /** The time of a wait is over. */
  | { type: 'timer' }
  /** The model could not answer. */
  | { type: 'failed' }
  /** What the routing model chose; null: nothing of it. */
  | { type: 'route'; choice: Route | null };

/** A way that only a model can decide on: along an edge, to a global node, or back from one. */
export type Route = { by: 'edge' | 'global'; id: string } | { by: 'return' };

/** A route with what must be true for it. */
export interface RouteOption {
  route: Route;
  condition: string;
}

/** How a node was come to. */
export type Way = 'start' | 'edge' | 'global' | 'return';

/** What a call does for its flow, in order. */
export type FlowEffect =
  /** From now on the node's prompt, tools and settings hold. */
  | { type: 'enter'; node: FlowNode; by: Way | 'resume'; edgeId?: string }
  | { type: 'assign'; variables: Record<string, string> }
  /** A placeholder names a variable that has no value. */
  | { type: 'missing'; name: string }
  /** Says a fixed text; `played` follows when it was heard. */
  | { type: 'say'; text: string; interruptible: boolean }
  /** Runs a tool; `tool_done` follows. */
  | { type: 'tool'; toolId: string; arguments: Record<string, unknown> }
  /** Waits; `timer` follows, unless something else comes first. */
  | { type: 'wait'; seconds: number }
  /** The model answers, or goes on, with the prompt of the node. */
  | { type: 'reply' }
  /** A model decides; `route` follows. @param mayStay the node goes on when none is true */
  | { type: 'route'; options: readonly RouteOption[]; mayStay: boolean }
  /** Says the message, if there is one, and ends the call. */
  | { type: 'end'; message: string | undefined }
  /** The flow cannot go on. `flow_loop`: it goes round; `flow_stuck`: no edge of a node is true */
  | { type: 'fail'; code: 'flow_loop' | 'flow_stuck' };

export interface FlowStepped {
  state: FlowState;
  effects: FlowEffect[];
}

/** The value of a variable or of a placeholder of the system's. */
export type Lookup = (name: string) => string | undefined;

/**
 * One step of a flow. Pure: the same state, input and variables give the same step.
 * @param state undefined before the first step
 */
export function step(
  graph: FlowGraph,
  state: FlowState | undefined,
  input: FlowInput,
  lookup: Lookup,
): FlowStepped {
  const walk = new Walk(graph, structuredClone(state ?? unbegun(graph)), lookup);
  walk.take(input);
  return { state: walk.state, effects: walk.effects };
}

/** The state and effects of one step while it is made. */
class Walk {
  readonly state: FlowState;
  readonly effects: FlowEffect[] = [];
  readonly #graph: FlowGraph;
  readonly #lookup: Lookup;
  /** Variables that this step has set. */
  readonly #assigned = new Map<string, string>();

  constructor(graph: FlowGraph, state: FlowState, lookup: Lookup) {
    this.#graph = graph;
    this.state = state;
    this.#lookup = (name) => this.#assigned.get(name) ?? lookup(name);
  }

  take(input: FlowInput): void {
    const { state } = this;
    if (state.phase === 'done') return;
    switch (input.type) {
      case 'start':
        return this.#enter(this.#graph.definition.start_node_id, { by: 'start', speaks: !input.greeted });
      case 'resume':
        return this.#resume();
      case 'turn':
      case 'keys':
        return this.#callerActed(input);
      case 'played':
        if (state.phase === 'passing') return this.#arrive();
        if (state.phase === 'saying') return this.#leave({ type: 'done' });
        return;
      case 'silence':
        // Nothing is being said: what was to be heard was cut off by a caller who then said nothing.
        if (state.phase === 'passing' || state.phase === 'saying') return this.take({ type: 'played' });
        return this.#followIfTrue(input);
      case 'tool_done':
        return this.#toolDone(input);
      case 'timer':
        // Without what it waited for, a wait has failed.
        if (state.phase === 'waiting') this.#leave({ type: this.#awaited === null ? 'done' : 'failed' });
        return;
      case 'event':
        if (state.phase === 'waiting') return this.#waitingTakes(input);
        return this.#followIfTrue(input);
      case 'result':
      case 'failed':
        return this.#followIfTrue(input);
      case 'route':
        return this.#routed(input.choice);
    }
  }

  get #node(): FlowNode {
    return this.#graph.nodes.get(this.state.node_id)!;
  }

  get #leaving(): readonly FlowEdge[] {
    return this.#graph.leaving.get(this.state.node_id) ?? [];
  }

  #resume(): void {
    const { phase } = this.state;
    this.effects.push({ type: 'enter', node: this.#node, by: 'resume' });
    if (phase === 'passing' || phase === 'saying') this.take({ type: 'played' });
    else if (phase === 'choosing') this.#leave({ type: 'done' });
    // Whether the tool has run is not known: it does not run twice.
    else if (phase === 'running') this.#leave({ type: 'failed' });
    else if (phase === 'waiting') this.#wait();
  }

  // ---- the caller ----

  #callerActed(input: Extract<FlowInput, { type: 'turn' | 'keys' }>): void {
    const { state } = this;
    state.steps = 0;
    state.cooldowns = state.cooldowns.map((turns) => Math.max(0, turns - 1));
    if (state.phase === 'passing') return this.#arrive();
    if (state.phase === 'saying') {
      const edge = this.#firstTrue(input);
      return edge ? this.#follow(edge) : this.#leave({ type: 'done' });
    }
    if (state.phase === 'running') return;
    if (state.phase === 'waiting') return this.#waitingTakes(input);
    state.turns++;
    const edge = this.#firstTrue(input);
    if (edge) return this.#follow(edge);
    const node = this.#node;
    if (node.type === 'conversation' && state.turns >= node.max_turns) return this.#fail();
    const options = this.#routes();
    if (options.length > 0) this.effects.push({ type: 'route', options, mayStay: true });
    else this.effects.push({ type: 'reply' });
  }

  /** What a model must decide on after a turn of the caller. */
  #routes(): RouteOption[] {
    const { state } = this;
    const edges = this.#leaving.flatMap(({ id, condition }): RouteOption[] =>
      condition.type === 'llm'
        ? [{ route: { by: 'edge', id }, condition: this.#render(condition.prompt) }]
        : [],
    );
    const globals = this.#graph.globals.flatMap((node): RouteOption[] => {
      const rests = state.cooldowns[this.#graph.places.get(node.id)!]! > 0;
      if (rests || node.id === state.node_id) return [];
      return [{ route: { by: 'global', id: node.id }, condition: this.#render(node.global!.condition) }];
    });
    const back: RouteOption[] =
      state.returns.length === 0
        ? []
        : [
            {
              route: { by: 'return' },
              condition: 'What the caller asked in between is dealt with, and the conversation can go on.',
            },
          ];
    return [...edges, ...globals, ...back];
  }

  #routed(choice: Route | null): void {
    const { state } = this;
    state.phase = 'talking';
    if (choice === null) {
      this.effects.push({ type: 'reply' });
      return;
    }
    if (choice.by === 'return') return this.#return();
    if (choice.by === 'edge') return this.#follow(this.#graph.edges.get(choice.id)!);
    const { global } = this.#graph.nodes.get(choice.id)!;
    if (global!.return) state.returns = [...state.returns, state.node_id].slice(-MAX_RETURNS);
    else state.returns = [];
    state.cooldowns[this.#graph.places.get(choice.id)!] = global!.cooldown_turns;
    this.#enter(choice.id, { by: 'global' });
  }

  // ---- edges ----

  #firstTrue(happening: Happening): FlowEdge | undefined {
    return this.#leaving.find(({ condition }) => isTrue(condition, happening, this.#lookup));
  }

  #followIfTrue(happening: Happening): void {
    if (this.state.phase !== 'talking') return;
    const edge = this.#firstTrue(happening);
    if (edge) this.#follow(edge);
  }

  #follow(edge: FlowEdge): void {
    const text = edge.say === null ? '' : this.#render(edge.say).trim();
    if (text === '') {
      this.#enter(edge.to, { by: 'edge', edgeId: edge.id });
      return;
    }
    this.state.phase = 'passing';
    this.state.edge_id = edge.id;
    this.effects.push({ type: 'say', text, interruptible: true });
  }

  /** What was said on the way was heard. */
  #arrive(): void {
    const { edge_id: id } = this.state;
    const edge = this.#graph.edges.get(id ?? '');
    this.state.edge_id = null;
    if (edge) this.#enter(edge.to, { by: 'edge', edgeId: edge.id });
    else this.state.phase = 'talking';
  }

  // ---- nodes ----

  #enter(id: string, { speaks = true, ...way }: { by: Way; edgeId?: string; speaks?: boolean }): void {
    const { state } = this;
    const node = this.#graph.nodes.get(id)!;
    // What leaves a global node by an edge does not come back.
    if (way.by === 'edge' && this.#node.global !== null) state.returns = [];
    state.node_id = id;
    state.turns = 0;
    state.phase = 'talking';
    state.steps++;
    if (way.by !== 'return') state.entries[this.#graph.places.get(id)!]!++;
    this.effects.push({ type: 'enter', node, ...way });
    if (state.entries[this.#graph.places.get(id)!]! >= MAX_NODE_ENTRIES || state.steps > MAX_STEPS_ALONE)
      return this.#end('flow_loop');
    switch (node.type) {
      case 'conversation':
        if (speaks) this.effects.push({ type: 'reply' });
        return;
      case 'say':
        return this.#say(this.#render(node.text).trim(), node.interruptible);
      case 'set':
        this.#assign(
          Object.fromEntries(node.assignments.map(({ name, value }) => [name, this.#render(value)])),
        );
        return this.#leave({ type: 'done' });
      case 'tool':
        state.phase = 'running';
        this.effects.push({
          type: 'tool',
          toolId: node.tool_id,
          arguments: this.#renderAll(node.arguments) as Record<string, unknown>,
        });
        return;
      case 'wait':
        return this.#wait();
      case 'branch':
        return this.#leave({ type: 'done' });
      case 'end':
        if (node.outcome !== '') this.#assign({ outcome: node.outcome });
        state.phase = 'done';
        this.effects.push({ type: 'end', message: this.#render(node.message).trim() || undefined });
        return;
      default:
        // No agent can be stored with one.
        return this.#end('flow_stuck');
    }
  }

  #say(text: string, interruptible: boolean): void {
    if (text === '') return this.#leave({ type: 'done' });
    this.state.phase = 'saying';
    this.effects.push({ type: 'say', text, interruptible });
  }

  // ---- tools and waits ----

  #toolDone({ ok, result }: Extract<FlowInput, { type: 'tool_done' }>): void {
    const node = this.#node;
    if (this.state.phase !== 'running' || node.type !== 'tool') return;
    const found = node.result_variables.map(
      ({ path, name }) => [name, toText(valueAt(result, path))] as const,
    );
    if (ok && found.length > 0) this.#assign(Object.fromEntries(found));
    this.#leave({ type: ok ? 'done' : 'failed' });
  }

  #wait(): void {
    const node = this.#node;
    if (node.type !== 'wait') return;
    this.state.phase = 'waiting';
    this.effects.push({ type: 'wait', seconds: node.timeout_seconds });
  }

  /** The event that a wait is for. */
  get #awaited(): string | null {
    const node = this.#node;
    return node.type === 'wait' ? node.event : null;
  }

  /** Who waits is led on by what is waited for, and by edges that want just this. */
  #waitingTakes(input: Extract<FlowInput, { type: 'turn' | 'keys' | 'event' }>): void {
    const edge = this.#leaving.find(
      ({ condition }) => condition.type !== 'always' && isTrue(condition, input, this.#lookup),
    );
    if (edge) this.#follow(edge);
    else if (input.type === 'event' && input.name === this.#awaited) this.#leave({ type: 'done' });
  }

  /** The node has done what it does by itself, or has failed. */
  #leave(happening: { type: 'done' | 'failed' }): void {
    const edge = this.#firstTrue(happening);
    if (edge) return this.#follow(edge);
    if (this.state.returns.length > 0 && this.#node.global !== null) return this.#return();
    const options = this.#routes().filter(({ route }) => route.by === 'edge');
    if (options.length > 0 && this.#node.type !== 'say') {
      this.state.phase = 'choosing';
      this.effects.push({ type: 'route', options, mayStay: false });
    } else if (this.#node.type === 'say' && this.#leaving.length > 0)
      // The other edges wait for what the caller does.
      this.state.phase = 'talking';
    else this.#end('flow_stuck');
  }

  /** A node that talks has talked for too long. */
  #fail(): void {
    const edge = this.#firstTrue({ type: 'failed' });
    if (edge) return this.#follow(edge);
    this.state.phase = 'done';
    this.effects.push({ type: 'end', message: undefined });
  }

  #return(): void {
    const id = this.state.returns.pop()!;
    this.#enter(id, { by: 'return', speaks: true });
  }

  #end(code: 'flow_loop' | 'flow_stuck'): void {
    this.state.phase = 'done';
    this.effects.push({ type: 'fail', code });
  }

  // ---- variables ----

  #assign(variables: Record<string, string>): void {
    for (const [name, value] of Object.entries(variables)) this.#assigned.set(name, value);
    this.effects.push({ type: 'assign', variables });
  }

  /** Fills the texts of a JSON value. */
  #renderAll(value: unknown): unknown {
    if (typeof value === 'string') return this.#render(value);
    if (Array.isArray(value)) return value.map((one) => this.#renderAll(one));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, this.#renderAll(one)]));
  }

  #render(text: string): string {
    return renderTemplate(text, this.#lookup, (name) => this.effects.push({ type: 'missing', name }));
  }
}
