import type { Logger } from '@parley/shared/logging/logger';

/** Work that no request waits for. Its owner waits for it before closing what it uses. */
export class BackgroundWork {
  readonly #running = new Set<Promise<void>>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Failures are logged under `what`. */
  run(what: string, work: () => Promise<unknown>): void {
    const running = work().then(
      () => {},
      (error: unknown) => this.#logger.warn({ err: error }, what),
    );
    this.#running.add(running);
    void running.finally(() => this.#running.delete(running));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
