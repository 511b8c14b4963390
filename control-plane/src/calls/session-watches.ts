import type { Logger } from '@parley/shared/logging/logger';
import type { Clock, Timer } from '@parley/shared/time/clock';

export const WATCH_EVERY_MS = 30_000;
/** Longer than the time until the next one, by what a command may take. */
const WATCH_MS = 45_000;

/** Has gateways tell what is being said in sessions, for as long as somebody follows them. */
export class SessionWatches {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #watch: (sessionId: string, until: Date) => Promise<void>;
  readonly #watched = new Map<string, { followers: number; timer: Timer | undefined }>();

  /** @param deps.watch tells the gateway of the session, if it has one */
  constructor(deps: {
    clock: Clock;
    logger: Logger;
    watch: (sessionId: string, until: Date) => Promise<void>;
  }) {
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#watch = deps.watch;
  }

  /** @returns ends it, once */
  watch(sessionId: string): () => void {
    const watched = this.#watched.get(sessionId) ?? { followers: 0, timer: undefined };
    this.#watched.set(sessionId, watched);
    watched.followers++;
    if (watched.followers === 1) this.renew(sessionId);
    return () => {
      if (--watched.followers > 0) return;
      watched.timer?.cancel();
      this.#watched.delete(sessionId);
    };
  }

  /** Tells the session's gateway again, if somebody follows it: it may be another one by now. */
  renew(sessionId: string): void {
    const watched = this.#watched.get(sessionId);
    if (!watched) return;
    watched.timer?.cancel();
    watched.timer = this.#clock.setTimeout(() => this.renew(sessionId), WATCH_EVERY_MS);
    this.#watch(sessionId, new Date(this.#clock.now() + WATCH_MS)).catch((error: unknown) =>
      this.#logger.warn({ sessionId, err: error }, 'a gateway could not be asked for what is being said'),
    );
  }
}
