/** Anything that must be closed by its owner. Closing twice is harmless. */
export interface Disposable {
  [Symbol.asyncDispose](): PromiseLike<void>;
}

/**
 * Owns started things and closes them in reverse order, the last one first. One that fails to close does not keep
 * the others open; the failures are thrown together at the end.
 */
export class DisposableList implements AsyncDisposable {
  #items: (() => PromiseLike<void> | void)[] = [];
  #disposing: Promise<void> | undefined;

  /** Takes ownership of `item` and gives it back. */
  add<T extends Disposable>(item: T): T {
    this.defer(() => item[Symbol.asyncDispose]());
    return item;
  }

  /** Runs `close` when its turn in the reverse order comes. */
  defer(close: () => PromiseLike<void> | void): void {
    if (this.#disposing) throw new Error('The list has already been disposed.');
    this.#items.push(close);
  }

  dispose(): Promise<void> {
    this.#disposing ??= this.#disposeAll();
    return this.#disposing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  async #disposeAll(): Promise<void> {
    const failures: unknown[] = [];
    for (const close of this.#items.splice(0).reverse()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, 'Several resources failed to close.');
  }
}
