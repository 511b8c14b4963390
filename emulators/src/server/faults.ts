import * as z from 'zod';

/**
 * Faults every emulator knows. What a stream's items are (tokens, audio chunks, messages) is the emulator's to say.
 * - `refuse`: answer the request or upgrade with `status` (503 when none is given)
 * - `rate_limit`: the vendor's 429; with `after`, its error inside the stream
 * - `slow_handshake`: wait `delayMs` (2000 when none is given) before anything is answered
 * - `stall`: stop sending after `after` items, and keep the connection
 * - `cut`: end in good order but too early, after `after` items
 * - `reset`: TCP reset after `after` items
 * - `garbage`: send something that is no message of this protocol after `after` items, then go on
 */
export const COMMON_FAULTS = [
  'refuse',
  'rate_limit',
  'slow_handshake',
  'stall',
  'cut',
  'reset',
  'garbage',
] as const;

export type CommonFault = (typeof COMMON_FAULTS)[number];

/** What to do wrong, how often, and how. */
export interface Fault<Kind extends string = CommonFault> {
  kind: Kind;
  /** How many times at most; no limit when absent. */
  count?: number | undefined;
  /** Of one occasion; 1 when absent. */
  probability?: number | undefined;
  /** HTTP status of `refuse`. */
  status?: number | undefined;
  /** Sent as `retry-after` with a refusal; no header when absent. */
  retryAfterMs?: number | undefined;
  delayMs?: number | undefined;
  /** Items of the stream that still go out before the fault; 0 when absent. */
  after?: number | undefined;
}

function faultListSchema<Kind extends string>(kinds: readonly Kind[]) {
  return z
    .array(
      z.strictObject({
        kind: z.enum(kinds as readonly [Kind, ...Kind[]]),
        count: z.int().min(0).optional(),
        probability: z.number().min(0).max(1).optional(),
        status: z.int().min(400).max(599).optional(),
        retryAfterMs: z.number().min(0).optional(),
        delayMs: z.number().min(0).max(600_000).optional(),
        after: z.int().min(0).optional(),
      }),
    )
    .max(100);
}

/** Holds the faults in force and decides, occasion by occasion, whether one strikes. */
export class FaultPlan<Kind extends string = CommonFault> {
  readonly #schema;
  readonly #random: () => number;
  #faults: { fault: Fault<Kind>; left: number }[] = [];
  readonly #struck = new Map<Kind, number>();

  /** @param kinds what this emulator can do wrong: `COMMON_FAULTS` and its own */
  constructor(kinds: readonly Kind[], random: () => number) {
    this.#schema = faultListSchema(kinds);
    this.#random = random;
  }

  /**
   * Replaces all faults; an empty list heals everything.
   * @throws ZodError when `faults` (which may come from outside) are none
   */
  set(faults: unknown): void {
    const parsed = this.#schema.parse(faults) as Fault<Kind>[];
    this.#faults = parsed.map((fault) => ({ fault, left: fault.count ?? Infinity }));
  }

  /** The faults still in force, with what is left of their counts. */
  get faults(): Fault<Kind>[] {
    return this.#faults
      .filter(({ left }) => left > 0)
      .map(({ fault, left }) => (left === Infinity ? fault : { ...fault, count: left }));
  }

  /** How often each kind has struck so far. */
  get struck(): Partial<Record<Kind, number>> {
    return Object.fromEntries(this.#struck) as Partial<Record<Kind, number>>;
  }

  /**
   * Asks once per occasion. The first fault of one of `kinds` whose dice fall strikes, and its count goes down.
   * @param accepts narrows further, such as to faults with or without `after`
   */
  take(
    kinds: readonly Kind[],
    accepts: (fault: Fault<Kind>) => boolean = () => true,
  ): Fault<Kind> | undefined {
    for (const entry of this.#faults) {
      const { fault } = entry;
      if (entry.left <= 0 || !kinds.includes(fault.kind) || !accepts(fault)) continue;
      const probability = fault.probability ?? 1;
      if (probability < 1 && this.#random() >= probability) continue;
      entry.left -= 1;
      this.#struck.set(fault.kind, (this.#struck.get(fault.kind) ?? 0) + 1);
      return fault;
    }
    return undefined;
  }
}
