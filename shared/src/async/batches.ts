interface Waiting<In, Out> {
  item: In;
  resolve(value: Out): void;
  reject(error: unknown): void;
}

/**
 * Requests that share round trips: what comes in one turn of the event loop goes together, and what comes while a round
 * trip is under way waits for its end. Each is part of one that began after it came, so that it sees all that was
 * answered before. No more than `maxBatch` wait: when so many do, they go at once, beside the one under way.
 */
export class Batches<In, Out> {
  readonly #send: (items: In[]) => Promise<readonly PromiseSettledResult<Out>[]>;
  readonly #maxBatch: number;
  #waiting: Waiting<In, Out>[] = [];
  #underWay = 0;
  #due: NodeJS.Immediate | undefined;

  /** @param options.send gives a result for each item, in their order; what it throws fails all of them */
  constructor(options: {
    send: (items: In[]) => Promise<readonly PromiseSettledResult<Out>[]>;
    maxBatch: number;
  }) {
    this.#send = options.send;
    this.#maxBatch = options.maxBatch;
  }

  /** @throws what `send` says of this item, or throws */
  add(item: In): Promise<Out> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (this.#waiting.length >= this.#maxBatch) void this.#run();
      else if (this.#underWay === 0) this.#due ??= setImmediate(() => void this.#run());
    });
  }

  async #run(): Promise<void> {
    clearImmediate(this.#due);
    this.#due = undefined;
    const batch = this.#waiting;
    this.#waiting = [];
    this.#underWay += 1;
    try {
      const results = await this.#send(batch.map(({ item }) => item));
      for (const [index, { resolve, reject }] of batch.entries()) {
        const result = results[index]!;
        if (result.status === 'fulfilled') resolve(result.value);
        else reject(result.reason);
      }
    } catch (error) {
      for (const { reject } of batch) reject(error);
    } finally {
      this.#underWay -= 1;
      if (this.#underWay === 0 && this.#waiting.length > 0) void this.#run();
    }
  }
}

/** A result of `send` that is no failure. */
export function done<Out>(value: Out): PromiseFulfilledResult<Out> {
  return { status: 'fulfilled', value };
}
