/** How often the same tool call may fail in the same way, one after the other, before it is refused. */
const MAX_SAME_FAILURES = 3;
/** The refusal of the same call that ends the reply: the model does not take no for an answer. */
const LAST_REFUSAL = 3;
/** How many failing calls are remembered; the oldest are forgotten. */
const MAX_REMEMBERED = 100;

/**
 * `refuse`: the model is told to stop trying. `give_up`: it was told so and goes on; the reply ends here.
 * @property first whether the call is refused for the first time
 */
export interface ToolRefusal {
  action: 'refuse' | 'give_up';
  first: boolean;
}

interface Failing {
  failure: string;
  failures: number;
  refusals: number;
}

/**
 * Breaks loops of a model that calls a tool again and again though it fails each time in the same way. A call is known
 * by a key that its caller chooses; one that succeeds begins anew.
 */
export class ToolGuard {
  readonly #failing = new Map<string, Failing>();

  /** Asks for one more run. @returns why it must not run, undefined when it may */
  refuse(key: string): ToolRefusal | undefined {
    const known = this.#failing.get(key);
    if (known === undefined || known.failures < MAX_SAME_FAILURES) return undefined;
    known.refusals++;
    return { action: known.refusals < LAST_REFUSAL ? 'refuse' : 'give_up', first: known.refusals === 1 };
  }

  /** @param failure what tells one kind of failure from another */
  failed(key: string, failure: string): void {
    const known = this.#failing.get(key);
    if (known?.failure === failure) known.failures++;
    else this.#failing.set(key, { failure, failures: 1, refusals: 0 });
    if (this.#failing.size > MAX_REMEMBERED) this.#failing.delete(this.#failing.keys().next().value!);
  }

  succeeded(key: string): void {
    this.#failing.delete(key);
  }
}

/** The key of a tool call: its name, and its arguments whatever the order of their fields. */
export function toolCallKey(name: string, args: Record<string, unknown>): string {
  return `${name} ${JSON.stringify(args, (_, value: unknown) => (isPlain(value) ? sorted(value) : value))}`;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function sorted(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
