/** A wait that what happens to the call cuts short. One at a time. */
export class CallWait {
  #wake: (() => void) | undefined;

  /** Resolves (never rejects) when `event` does, or at the next `interrupt()`. */
  async until(event: Promise<unknown>): Promise<void> {
    const woken = new Promise<void>((resolve) => (this.#wake = resolve));
    await Promise.race([event.catch(() => {}), woken]);
    this.#wake = undefined;
  }

  async forMs(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await this.until(new Promise<void>((resolve) => (timer = setTimeout(resolve, ms))));
    clearTimeout(timer);
  }

  interrupt(): void {
    this.#wake?.();
  }
}
