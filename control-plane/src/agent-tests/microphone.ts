import type { Clock, Timer } from '@parley/shared/time/clock';

/** PCM16 a second: 24 kHz, mono. */
const BYTES_PER_MS = 48;
const FRAME_MS = 20;
const FRAME_BYTES = FRAME_MS * BYTES_PER_MS;
/** What a process that was held up that long did not send is not made up for. */
const MAX_BEHIND_MS = 1000;
const SILENCE = Buffer.alloc(FRAME_BYTES).toString('base64');

/** Gives a frame each 20 ms, as a microphone does: what is being said, or silence. */
export class Microphone {
  readonly #clock: Clock;
  readonly #send: (base64: string) => void;
  readonly #onSaid: () => void;
  #saying: Buffer = Buffer.alloc(0);
  #dueAt: number;
  #timer: Timer | undefined;
  #isOff = false;

  /**
   * Begins at once.
   * @param deps.send takes a frame: PCM16 at 24 kHz
   * @param deps.onSaid the last frame of what was said has gone
   */
  constructor(deps: { clock: Clock; send: (base64: string) => void; onSaid: () => void }) {
    this.#clock = deps.clock;
    this.#send = deps.send;
    this.#onSaid = deps.onSaid;
    this.#dueAt = deps.clock.monotonic();
    this.#tick();
  }

  /** @param pcm PCM16 at 24 kHz, in place of what is still being said */
  say(pcm: Buffer): void {
    this.#saying = pcm;
  }

  get isSilent(): boolean {
    return this.#saying.length === 0;
  }

  stop(): void {
    this.#isOff = true;
    this.#timer?.cancel();
  }

  #tick(): void {
    const now = this.#clock.monotonic();
    if (now - this.#dueAt > MAX_BEHIND_MS) this.#dueAt = now;
    for (; this.#dueAt <= now; this.#dueAt += FRAME_MS) this.#frame();
    if (!this.#isOff) this.#timer = this.#clock.setTimeout(() => this.#tick(), this.#dueAt - now);
  }

  #frame(): void {
    if (this.isSilent) {
      this.#send(SILENCE);
      return;
    }
    const frame = Buffer.alloc(FRAME_BYTES);
    this.#saying.copy(frame);
    this.#saying = this.#saying.subarray(FRAME_BYTES);
    this.#send(frame.toString('base64'));
    if (this.isSilent) this.#onSaid();
  }
}
