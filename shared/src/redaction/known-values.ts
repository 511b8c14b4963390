import type { RedactionKind } from './kinds.ts';

const MOST = 64;
const SHORTEST = 4;

/** Numbers that were found in a call: whoever says them again, in whole or in part, says something personal. */
export class KnownValues {
  readonly #values = new Map<string, RedactionKind>();

  /** @param digits those of less than four are not kept */
  add(digits: string, kind: RedactionKind): void {
    if (digits.length < SHORTEST || this.#values.has(digits)) return;
    this.#values.set(digits, kind);
    const oldest = this.#values.keys().next();
    if (this.#values.size > MOST && !oldest.done) this.#values.delete(oldest.value);
  }

  /** The kind of a number that is known, or the beginning, middle or end of one. */
  kindOf(digits: string): RedactionKind | undefined {
    if (digits.length < SHORTEST) return undefined;
    for (const [value, kind] of this.#values) if (value.includes(digits)) return kind;
    return undefined;
  }
}
