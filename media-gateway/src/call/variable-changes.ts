import type { TrustedVariables } from './trusted-variables.ts';

/** What a leg of a call tells the next one of its variables. */
export interface ToldVariables {
  variables?: Record<string, string>;
  /** Those of `variables` that trusted sources have given. */
  trusted_variables?: string[];
}

/** Tells which variables of a call have changed since it last told of them, or have become trusted. */
export class VariableChanges {
  readonly #variables: Readonly<Record<string, string>>;
  readonly #trusted: Pick<TrustedVariables, 'get'>;
  #told: Readonly<Record<string, string>>;
  #toldTrusted: ReadonlySet<string>;

  /** @param variables those of the call itself, not a copy */
  constructor(variables: Readonly<Record<string, string>>, trusted: Pick<TrustedVariables, 'get'>) {
    this.#variables = variables;
    this.#trusted = trusted;
    this.#told = { ...variables };
    this.#toldTrusted = this.#namesOfTrusted();
  }

  /** As fields of an event; each change is told once. */
  take(): ToldVariables {
    const trusted = this.#namesOfTrusted();
    const changed = Object.entries(this.#variables).filter(
      ([name, value]) => this.#told[name] !== value || trusted.has(name) !== this.#toldTrusted.has(name),
    );
    if (changed.length === 0) return {};
    this.#told = { ...this.#variables };
    this.#toldTrusted = trusted;
    const names = changed.map(([name]) => name).filter((name) => trusted.has(name));
    return {
      variables: Object.fromEntries(changed),
      ...(names.length > 0 && { trusted_variables: names }),
    };
  }

  #namesOfTrusted(): Set<string> {
    return new Set(Object.keys(this.#variables).filter((name) => this.#trusted.get(name) !== undefined));
  }
}
