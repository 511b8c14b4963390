/** Tells which variables of a call have changed since it last told of them. */
export class VariableChanges {
  readonly #variables: Readonly<Record<string, string>>;
  #told: Readonly<Record<string, string>>;

  /** @param variables those of the call itself, not a copy */
  constructor(variables: Readonly<Record<string, string>>) {
    this.#variables = variables;
    this.#told = { ...variables };
  }

  /** As a field of an event; each change is told once. */
  take(): { variables?: Record<string, string> } {
    const changed = Object.entries(this.#variables).filter(([name, value]) => this.#told[name] !== value);
    if (changed.length === 0) return {};
    this.#told = { ...this.#variables };
    return { variables: Object.fromEntries(changed) };
  }
}
