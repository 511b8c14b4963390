import * as answers from './tool-answers.ts';
import type { Outcome } from './tool-log.ts';

/** Counts the tools that run and that the next reply waits for, and ends the wait for those that do not answer. */
export class RunningTools {
  /** What ends the wait for each tool that runs. */
  readonly #overdue = new Set<(outcome: Outcome) => void>();
  #count = 0;
  #idle: (() => void)[] = [];

  get any(): boolean {
    return this.#count > 0;
  }

  /** Resolves when none is running. */
  idle(): Promise<void> {
    return this.#count === 0 ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve));
  }

  /** A tool runs from now on. Each call is followed by one of `ended`. */
  began(): void {
    this.#count++;
  }

  ended(): void {
    this.#count--;
    if (this.#count === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** @returns what became of the work, or that it was given up, whichever comes first */
  async timely(work: Promise<Outcome>): Promise<Outcome> {
    const { promise: overdue, resolve: end } = Promise.withResolvers<Outcome>();
    this.#overdue.add(end);
    const outcome = await Promise.race([work, overdue]);
    this.#overdue.delete(end);
    return outcome;
  }

  /** Waits no longer for the tools that run. */
  giveUp(): void {
    for (const end of this.#overdue) end(answers.OVERDUE);
  }
}
