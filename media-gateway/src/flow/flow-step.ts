import type { FlowEdge, FlowNode } from '@parley/shared/contracts/flow-definition';
import { MAX_NODE_ENTRIES, MAX_RETURNS, MAX_STEPS_ALONE } from '@parley/shared/contracts/flow-state';
import type { FlowState } from '@parley/shared/contracts/flow-state';
import { toText, valueAt } from '@parley/shared/tools/tool-template';
import { placeholdersOf } from '@parley/shared/templates/template';
import { yesOrNo } from '../turns/yes-no.ts';
import type { Happening } from './conditions.ts';
import { Collection, type Collected } from './collect/collection.ts';
import type { FlowEffect, FlowInput, FlowStepped, Lookup, Route, Way } from './flow-effects.ts';
import { unbegun, type FlowGraph } from './flow-graph.ts';
import { StepVariables } from './step-variables.ts';
import { WaysOn } from './ways-on.ts';

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

type ToolNode = Extract<FlowNode, { type: 'tool' }>;

/** How often the caller is asked whether a tool is to run. */
const MAX_ASKED = 2;

/** The state and effects of one step while it is made. */
class Walk {
  readonly state: FlowState;
  readonly effects: FlowEffect[] = [];
  readonly #graph: FlowGraph;
  readonly #variables: StepVariables;
  readonly #ways: WaysOn;

  constructor(graph: FlowGraph, state: FlowState, lookup: Lookup) {
    this.#graph = graph;
    this.state = state;
    this.#variables = new StepVariables(lookup, state, this.effects);
    this.#ways = new WaysOn(graph, state, this.#variables);
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
      case 'returned':
        if (state.phase === 'leading') this.#leave({ type: 'failed' });
        return;
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
      case 'read':
        if (input.choice !== null) return this.#routed(input.choice);
        return this.#collected(
          (collection) => collection.read(input.values, input.said),
          { type: 'result' },
          input.said,
        );
    }
  }

  get #node(): FlowNode {
    return this.#graph.nodes.get(this.state.node_id)!;
  }

  #resume(): void {
    const { phase } = this.state;
    this.effects.push({ type: 'enter', node: this.#node, by: 'resume' });
    if (phase === 'passing' || phase === 'saying') this.take({ type: 'played' });
    else if (phase === 'choosing') this.#leave({ type: 'done' });
    // Whether the tool has run is not known: it does not run twice.
    else if (phase === 'running') this.#leave({ type: 'failed' });
    else if (phase === 'confirming' && this.#node.type === 'tool') this.#askForYes(this.#node, false);
    else if (phase === 'waiting') this.#wait();
    else this.#collected((collection) => collection.resume());
  }

  // ---- the caller ----

  #callerActed(input: Extract<FlowInput, { type: 'turn' | 'keys' }>): void {
    const { state } = this;
    state.steps = 0;
    state.cooldowns = state.cooldowns.map((turns) => Math.max(0, turns - 1));
    if (state.phase === 'passing') return this.#arrive();
    if (state.phase === 'saying') {
      const edge = this.#ways.firstTrue(input);
      return edge ? this.#follow(edge) : this.#leave({ type: 'done' });
    }
    if (state.phase === 'running') return;
    // The caller is with the agent again, and was faster than the word of it.
    if (state.phase === 'leading') return this.take({ type: 'returned' });
    if (state.phase === 'waiting') return this.#waitingTakes(input);
    state.turns++;
    if (state.phase === 'collecting') return this.#collects(input);
    const node = this.#node;
    if (state.phase === 'confirming' && node.type === 'tool') return this.#confirms(input, node);
    const edge = this.#ways.firstTrue(input);
    if (edge) return this.#follow(edge);
    if (node.type === 'conversation' && state.turns >= node.max_turns) return this.#fail();
    this.#decide(() => this.effects.push({ type: 'reply' }));
  }

  /** A model decides where the call goes on. @param stay done where there is nothing to decide */
  #decide(stay: () => void): void {
    const options = this.#ways.routes();
    if (options.length > 0) this.effects.push({ type: 'route', options, mayStay: true });
    else stay();
  }

  #routed(choice: Route | null): void {
    const { state } = this;
    const node = this.#node;
    if (choice === null && state.phase === 'confirming' && node.type === 'tool')
      return this.#askForYes(node, true);
    if (state.phase === 'confirming') this.effects.push({ type: 'answered', answer: 'unconfirmed' });
    state.phase = 'talking';
    if (choice === null) {
      this.effects.push({ type: 'reply' });
      return;
    }
    if (choice.by === 'return') return this.#return();
    if (choice.by === 'edge') return this.#follow(this.#graph.edges.get(choice.id)!);
    const { global } = this.#graph.nodes.get(choice.id)!;
    if (global!.return) {
      state.returns = [...state.returns, state.node_id].slice(-MAX_RETURNS);
      // What was to be confirmed is asked for anew.
      const kept = state.collect && { ...state.collect, candidate: null, partial: false };
      state.collects = [...state.collects, kept].slice(-MAX_RETURNS);
    } else state.returns = state.collects = [];
    state.cooldowns[this.#graph.places.get(choice.id)!] = global!.cooldown_turns;
    this.#enter(choice.id, { by: 'global' });
  }

  // ---- edges ----

  #followIfTrue(happening: Happening): void {
    const { phase } = this.state;
    if (phase !== 'talking' && phase !== 'collecting') return;
    const edge =
      phase === 'talking' || happening.type === 'failed'
        ? this.#ways.firstTrue(happening)
        : this.#ways.firstWithCondition(happening);
    if (edge) this.#follow(edge);
  }

  #follow(edge: FlowEdge): void {
    const text = edge.say === null ? '' : this.#variables.render(edge.say).trim();
    if (text === '') {
      this.#enter(edge.to, { by: 'edge', edgeId: edge.id });
      return;
    }
    this.state.phase = 'passing';
    this.state.edge_id = edge.id;
    this.effects.push({ type: 'say', text, interruptible: true, assetId: null, keep: true });
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
    if (way.by === 'edge' && this.#node.global !== null) state.returns = state.collects = [];
    const kept = way.by === 'return' ? state.collect : null;
    state.collect = null;
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
        return this.#say(node);
      case 'set':
        this.#variables.assign(
          node.assignments.map(({ name, value }) => [
            name,
            this.#variables.render(value),
            placeholdersOf(value),
          ]),
        );
        return this.#leave({ type: 'done' });
      case 'tool':
        if (this.#graph.confirmed.has(node.tool_id)) return this.#askForYes(node, false);
        return this.#run(node);
      case 'wait':
        return this.#wait();
      case 'branch':
        return this.#leave({ type: 'done' });
      case 'end':
        if (node.outcome !== '') this.#variables.assign([['outcome', node.outcome, []]]);
        state.phase = 'done';
        this.effects.push({ type: 'end', message: this.#variables.render(node.message).trim() || undefined });
        return;
      case 'collect':
        return this.#collected((collection) => collection.begin(kept));
      case 'transfer':
        state.phase = 'leading';
        this.effects.push({ type: 'transfer', to: node.destination ?? node.destination_id! });
        return;
      case 'agent':
        state.phase = 'leading';
        this.effects.push({ type: 'hand_over', node });
        return;
    }
  }

  #say({ text: written, interruptible, audio_asset_id: assetId }: Extract<FlowNode, { type: 'say' }>): void {
    const text = this.#variables.render(written).trim();
    if (text === '' && assetId === null) return this.#leave({ type: 'done' });
    this.state.phase = 'saying';
    this.effects.push({ type: 'say', text, interruptible, assetId, keep: true });
  }

  // ---- collecting ----

  #collects(input: Extract<FlowInput, { type: 'turn' | 'keys' }>): void {
    // Keys that an edge wants are no value.
    if (this.#ways.firstWanting(input)) return this.#follow(this.#ways.firstWithCondition(input)!);
    const said = input.type === 'turn' ? (input.text ?? '') : '';
    this.#collected((collection) => collection.heard(input), input, said);
  }

  /**
   * Goes on with a node that collects values.
   * @param happening what may lead on before all is collected; undefined: nothing has happened
   * @param said the words of the caller, for a model to read
   */
  #collected(goOn: (collection: Collection) => Collected, happening?: Happening, said = ''): void {
    const node = this.#node;
    if (node.type !== 'collect') return;
    const collection = new Collection(node, this.state, this.#variables);
    const verdict = goOn(collection);
    if (verdict === 'done' || verdict === 'failed') return this.#leave({ type: verdict });
    const edge = happening && this.#ways.firstWithCondition(happening);
    if (edge) return this.#follow(edge);
    if (verdict === 'stays') this.effects.push(...collection.asks);
    else {
      const fields = collection.wanted;
      this.effects.push({ type: 'read', fields, options: this.#ways.routes(), said });
    }
  }

  // ---- tools and waits ----

  #run(node: ToolNode): void {
    this.state.phase = 'running';
    const { tool_id: toolId } = node;
    this.effects.push({ type: 'tool', toolId, arguments: this.#variables.renderRecord(node.arguments) });
  }

  #askForYes(node: ToolNode, again: boolean): void {
    this.state.phase = 'confirming';
    const { tool_id: toolId } = node;
    this.effects.push({
      type: 'ask',
      toolId,
      arguments: this.#variables.renderRecord(node.arguments),
      again,
    });
  }

  /** What the caller has said may be the yes that a tool waits for. */
  #confirms(input: Extract<FlowInput, { type: 'turn' | 'keys' }>, node: ToolNode): void {
    const language = this.#variables.lookup('system.language') ?? 'en';
    const answer =
      input.type === 'turn' ? yesOrNo(input.text ?? '', input.asked ?? '', language) : ('unclear' as const);
    if (answer !== 'unclear') {
      this.effects.push({ type: 'answered', answer });
      return answer === 'yes' ? this.#run(node) : this.#leave({ type: 'failed' });
    }
    const edge = this.#ways.firstWanting(input);
    if (!edge && this.state.turns < MAX_ASKED) {
      this.effects.push({ type: 'answered', answer });
      return this.#decide(() => this.#askForYes(node, true));
    }
    this.effects.push({ type: 'answered', answer: 'unconfirmed' });
    return edge ? this.#follow(edge) : this.#leave({ type: 'failed' });
  }

  #toolDone({ ok, result }: Extract<FlowInput, { type: 'tool_done' }>): void {
    const node = this.#node;
    if (this.state.phase !== 'running' || node.type !== 'tool') return;
    const found = node.result_variables.map(({ path, name }): [string, string, string[]] => [
      name,
      toText(valueAt(result, path)),
      [],
    ]);
    if (ok && found.length > 0) this.#variables.assign(found);
    this.#leave({ type: ok ? 'done' : 'failed' });
  }

  #wait(): void {
    const node = this.#node;
    if (node.type !== 'wait') return;
    this.state.phase = 'waiting';
    const { timeout_seconds: seconds, hold_audio_asset_id: holdAssetId } = node;
    this.effects.push({ type: 'wait', seconds, holdAssetId });
  }

  /** The event that a wait is for. */
  get #awaited(): string | null {
    const node = this.#node;
    return node.type === 'wait' ? node.event : null;
  }

  /** Who waits is led on by what is waited for, and by edges that want just this. */
  #waitingTakes(input: Extract<FlowInput, { type: 'turn' | 'keys' | 'event' }>): void {
    const edge = this.#ways.firstWithCondition(input);
    if (edge) this.#follow(edge);
    else if (input.type === 'event' && input.name === this.#awaited) this.#leave({ type: 'done' });
  }

  /** The node has done what it does by itself, or has failed. */
  #leave(happening: { type: 'done' | 'failed' }): void {
    const edge = this.#ways.firstTrue(happening);
    if (edge) return this.#follow(edge);
    if (this.state.returns.length > 0 && this.#node.global !== null) return this.#return();
    const options = this.#ways.routes().filter(({ route }) => route.by === 'edge');
    if (options.length > 0 && this.#node.type !== 'say') {
      this.state.phase = 'choosing';
      this.effects.push({ type: 'route', options, mayStay: false });
    } else if (this.#node.type === 'say' && this.#ways.edges.length > 0)
      // The other edges wait for what the caller does.
      this.state.phase = 'talking';
    else this.#end('flow_stuck');
  }

  /** A node that talks has talked for too long. */
  #fail(): void {
    const edge = this.#ways.firstTrue({ type: 'failed' });
    if (edge) return this.#follow(edge);
    this.state.phase = 'done';
    this.effects.push({ type: 'end', message: undefined });
  }

  #return(): void {
    const id = this.state.returns.pop()!;
    this.state.collect = this.state.collects.pop() ?? null;
    this.#enter(id, { by: 'return', speaks: true });
  }

  #end(code: 'flow_loop' | 'flow_stuck'): void {
    this.state.phase = 'done';
    this.effects.push({ type: 'fail', code });
  }
}
