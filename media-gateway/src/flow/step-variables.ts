import type { FlowState } from '@parley/shared/contracts/flow-state';
import { renderTemplate } from '@parley/shared/templates/template';
import type { FlowEffect, Lookup } from './flow-effects.ts';

/** The variables of a call as one step of its flow sees and sets them. */
export class StepVariables {
  readonly #before: Lookup;
  readonly #state: Pick<FlowState, 'turns'>;
  readonly #effects: FlowEffect[];
  /** Those that this step has set. */
  readonly #assigned = new Map<string, string>();

  /** @param state of the step, read at the time @param effects what the step comes to: told of what is set, and of what is missing */
  constructor(before: Lookup, state: Pick<FlowState, 'turns'>, effects: FlowEffect[]) {
    this.#before = before;
    this.#state = state;
    this.#effects = effects;
  }

  readonly lookup: Lookup = (name) => {
    // The step counts turns itself.
    if (name === 'system.node_turns') return String(this.#state.turns);
    return this.#assigned.get(name) ?? this.#before(name);
  };

  /** Sets values that the flow or its tools have given. @param values name, value, and the variables that were filled in */
  assign(values: readonly (readonly [name: string, value: string, filled: readonly string[]])[]): void {
    const variables = Object.fromEntries(values.map(([name, value]) => [name, value]));
    this.#set(variables, Object.fromEntries(values.map(([name, , filled]) => [name, filled])));
  }

  /** Sets what the caller has said. */
  collect(name: string, value: string): void {
    this.#set({ [name]: value }, {});
  }

  render(text: string): string {
    return renderTemplate(text, this.lookup, (name) => this.#effects.push({ type: 'missing', name }));
  }

  /** Fills the texts of a JSON object. */
  renderRecord(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
    return this.#renderAll(values) as Record<string, unknown>;
  }

  #renderAll(value: unknown): unknown {
    if (typeof value === 'string') return this.render(value);
    if (Array.isArray(value)) return value.map((one) => this.#renderAll(one));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, this.#renderAll(one)]));
  }

  #set(variables: Record<string, string>, filled: Record<string, readonly string[]>): void {
    for (const [name, value] of Object.entries(variables)) this.#assigned.set(name, value);
    this.#effects.push({ type: 'assign', variables, filled });
  }
}
