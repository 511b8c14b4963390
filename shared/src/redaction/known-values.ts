import type { FoundKind } from './kinds.ts';

const MOST = 64;
const SHORTEST = 4;

/** Numbers that were found in a call: whoever says them again, in whole or in part, says something personal. */
export class KnownValues {
  readonly #values = new Map<string, FoundKind>();

  /** @param digits those of less than four are not kept */
  add(digits: string, kind: FoundKind): void {
    const known = this.#values.get(digits);
    if (digits.length < SHORTEST || (known && known !== 'number')) return;
    this.#values.set(digits, kind);
    const oldest = this.#values.keys().next();
    if (this.#values.size > MOST && !oldest.done) this.#values.delete(oldest.value);
  }

  /** The kind of a number that is known, or the beginning, middle or end of one; rather one that is known to be something. */
  kindOf(digits: string): FoundKind | undefined {
    if (digits.length < SHORTEST) return undefined;
    let kind: FoundKind | undefined;
    for (const [value, of] of this.#values) {
      if (!value.includes(digits)) continue;
      if (of !== 'number') return of;
      kind = of;
    }
    return kind;
  }
}
