/**
 * Values of variables that systems of the agent's owner have given: the request before the call, tools, the flow. Only
 * these may be a number that a caller is transferred to; what callers and requests say may not. A value that something
 * else has replaced counts no more, whoever replaced it.
 */
export class TrustedVariables {
  readonly #variables: Readonly<Record<string, string>>;
  readonly #trusted = new Map<string, string>();

  /**
   * @param variables of the call itself, not a copy
   * @param names of those that are trusted as they are now
   */
  constructor(variables: Readonly<Record<string, string>>, names: readonly string[]) {
    this.#variables = variables;
    for (const name of names) this.#trust(name, variables[name]);
  }

  /** Notes what a trusted source has given. */
  add(values: Readonly<Record<string, string>>): void {
    for (const [name, value] of Object.entries(values)) this.#trust(name, value);
  }

  /** @returns undefined where the value of now is not from a trusted source */
  get(name: string): string | undefined {
    const value = this.#variables[name];
    return value !== undefined && this.#trusted.get(name) === value ? value : undefined;
  }

  #trust(name: string, value: string | undefined): void {
    if (value !== undefined) this.#trusted.set(name, value);
  }
}
