import type { FlowEdge } from '@parley/shared/contracts/flow-definition';
import type { FlowState } from '@parley/shared/contracts/flow-state';
import { isTrue, type Happening } from './conditions.ts';
import type { RouteOption } from './flow-effects.ts';
import type { FlowGraph } from './flow-graph.ts';
import type { StepVariables } from './step-variables.ts';

/** The ways on from the node that a flow is in. Reads the state of a step at the time, and changes nothing in it. */
export class WaysOn {
  readonly #graph: FlowGraph;
  readonly #state: FlowState;
  readonly #variables: StepVariables;

  constructor(graph: FlowGraph, state: FlowState, variables: StepVariables) {
    this.#graph = graph;
    this.#state = state;
    this.#variables = variables;
  }

  /** The edges that leave the node, lowest priority number first. */
  get edges(): readonly FlowEdge[] {
    return this.#graph.leaving.get(this.#state.node_id) ?? [];
  }

  /** The first edge that is true without a model. */
  firstTrue(happening: Happening): FlowEdge | undefined {
    return this.edges.find(({ condition }) => isTrue(condition, happening, this.#variables.lookup));
  }

  /** The first edge that wants just this. */
  firstWanting(happening: Happening): FlowEdge | undefined {
    return this.edges.find(
      ({ condition }) =>
        condition.type !== 'always' &&
        condition.type !== 'expression' &&
        isTrue(condition, happening, this.#variables.lookup),
    );
  }

  /** Of the edges of a node that is not done, the first that is true and has a condition. */
  firstWithCondition(happening: Happening): FlowEdge | undefined {
    return this.edges.find(
      ({ condition }) => condition.type !== 'always' && isTrue(condition, happening, this.#variables.lookup),
    );
  }

  /** What a model must decide on after a turn of the caller: edges, global nodes, and the way back from one. */
  routes(): RouteOption[] {
    return [...this.#edgeRoutes(), ...this.#globalRoutes(), ...this.#routeBack()];
  }

  /** The edges that a model must decide on. */
  #edgeRoutes(): RouteOption[] {
    return this.edges.flatMap(({ id, condition }): RouteOption[] =>
      condition.type === 'llm'
        ? [{ route: { by: 'edge', id }, condition: this.#variables.render(condition.prompt) }]
        : [],
    );
  }

  #globalRoutes(): RouteOption[] {
    return this.#graph.globals.flatMap((node): RouteOption[] => {
      const rests = this.#state.cooldowns[this.#graph.places.get(node.id)!]! > 0;
      if (rests || node.id === this.#state.node_id) return [];
      return [
        { route: { by: 'global', id: node.id }, condition: this.#variables.render(node.global!.condition) },
      ];
    });
  }

  #routeBack(): RouteOption[] {
    if (this.#state.returns.length === 0) return [];
    return [
      {
        route: { by: 'return' },
        condition: 'What the caller asked in between is dealt with, and the conversation can go on.',
      },
    ];
  }
}
