import { ProviderError } from '@parley/shared/errors/provider-error';
import type { LocalSpeech } from '@parley/shared/speech/flite';

/** The local voice, opened when it is first needed. One that did not start is tried again the next time. */
export class SharedSpeech {
  readonly #open: () => Promise<LocalSpeech>;
  #speech: Promise<LocalSpeech> | undefined;
  #disposed = false;

  constructor(open: () => Promise<LocalSpeech>) {
    this.#open = open;
  }

  get(): Promise<LocalSpeech> {
    if (this.#disposed)
      return Promise.reject(new ProviderError('flite', 'unavailable', 'the local voice is closed'));
    this.#speech ??= this.#open().catch((error: unknown) => {
      this.#speech = undefined;
      throw error;
    });
    return this.#speech;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    const speech = await this.#speech?.catch(() => undefined);
    await speech?.[Symbol.asyncDispose]();
  }
}
