import { performance } from 'node:perf_hooks';

/** Length of a telephone frame. */
export const FRAME_MS = 20;
/** Calls are spread over this many moments within a frame, as the calls of a real carrier are. */
const PHASES = 20;

/**
 * One timer for all simulated calls, on a grid that does not drift. It knows how late it was itself: figures taken
 * while the simulator was late say nothing about the server.
 */
export class FrameClock {
  readonly #phases: Set<() => void>[] = Array.from({ length: PHASES }, () => new Set());
  #next = 0;
  #nextAt = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Told after each moment by how much it was late, ms. */
  onLateness: ((ms: number) => void) | undefined;

  /** Runs `frame` every 20 ms. @returns a function that stops it */
  add(frame: () => void): () => void {
    const smallest = this.#phases.reduce((best, set) => (set.size < best.size ? set : best));
    smallest.add(frame);
    if (!this.#timer) {
      this.#nextAt = performance.now() + FRAME_MS / PHASES;
      this.#arm();
    }
    return () => {
      smallest.delete(frame);
      if (this.#timer && this.#phases.every((set) => set.size === 0)) {
        clearTimeout(this.#timer);
        this.#timer = undefined;
      }
    };
  }

  #arm(): void {
    this.#timer = setTimeout(
      () => {
        // Moments that were missed are made up for: a carrier sends every frame.
        while (this.#nextAt <= performance.now()) {
          this.onLateness?.(performance.now() - this.#nextAt);
          const phase = this.#phases[this.#next]!;
          this.#next = (this.#next + 1) % PHASES;
          this.#nextAt += FRAME_MS / PHASES;
          for (const frame of phase) frame();
        }
        if (this.#timer) this.#arm();
      },
      Math.max(0, this.#nextAt - performance.now()),
    );
  }
}

export const frameClock = new FrameClock();
