import { Worker } from 'node:worker_threads';
import type { Clock } from '@parley/shared/time/clock';
import type { Logger } from '@parley/shared/logging/logger';

/**
 * Tells which language a text is in. Never rejects.
 * @param among BCP 47 tags
 * @returns language of one of the tags; undefined: not known, or not in time
 */
export type DetectLanguage = (text: string, among: readonly string[]) => Promise<string | undefined>;

export interface LanguageQuestion {
  id: number;
  text: string;
  among: readonly string[];
}
export interface LanguageAnswer {
  id: number;
  language: string | undefined;
}

/** An answer to the caller does not wait longer. */
const DEADLINE_MS = 150;
const MAX_WAITING = 200;
/** More of a text tells no more. */
const MAX_CHARACTERS = 500;

/** Tells languages of texts for all calls of the process, in a worker that the first call with such a wish starts. */
export class TextLanguages {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #waiting = new Map<number, (language: string | undefined) => void>();
  #worker: Worker | undefined;
  #asked = 0;
  #over = false;

  constructor(deps: { clock: Clock; logger: Logger }) {
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** Has the tables loaded ahead of the first question. */
  warm(): void {
    if (this.#over || this.#worker) return;
    const worker = new Worker(new URL('./text-language-worker.ts', import.meta.url), {
      name: 'text-language',
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    worker.on('message', ({ id, language }: LanguageAnswer) => this.#waiting.get(id)?.(language));
    worker.on('error', (error) => {
      this.#logger.warn({ err: error }, 'languages of texts cannot be told');
      if (this.#worker === worker) this.#worker = undefined;
    });
    this.#worker = worker;
  }

  /** See `DetectLanguage`. */
  readonly detect: DetectLanguage = (text, among) => {
    this.warm();
    const worker = this.#worker;
    if (!worker || this.#waiting.size >= MAX_WAITING) return Promise.resolve(undefined);
    const id = ++this.#asked;
    const languages = [...new Set(among.map((tag) => tag.split('-', 1)[0]!.toLowerCase()))];
    return new Promise((resolve) => {
      const done = (language: string | undefined) => {
        timer.cancel();
        this.#waiting.delete(id);
        resolve(language);
      };
      const timer = this.#clock.setTimeout(() => done(undefined), DEADLINE_MS);
      this.#waiting.set(id, done);
      worker.postMessage({ id, text: text.slice(0, MAX_CHARACTERS), among: languages });
    });
  };

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over = true;
    for (const done of [...this.#waiting.values()]) done(undefined);
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }
}
