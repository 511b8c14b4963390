import { LocalSpeechError, openFlite } from '@parley/shared/speech/flite';
import type { LocalSpeech } from '@parley/shared/speech/flite';

/** The local voice of this process: opened by the first who needs it, shared by all. */
export class LocalVoice implements AsyncDisposable {
  readonly #openSpeech: () => Promise<LocalSpeech>;
  #speech: Promise<LocalSpeech> | undefined;
  #disposed = false;

  constructor({ openSpeech = openFlite }: { openSpeech?: () => Promise<LocalSpeech> } = {}) {
    this.#openSpeech = openSpeech;
  }

  /** @returns `FLITE_SAMPLE_RATE`, mono @throws LocalSpeechError; the reason of `signal` */
  async synthesize(text: string, signal: AbortSignal): Promise<Int16Array> {
    if (this.#disposed) throw new LocalSpeechError('closed', 'The local voice has been closed.');
    this.#speech ??= this.#openSpeech().catch((error: unknown) => {
      this.#speech = undefined;
      throw error;
    });
    return (await this.#speech).synthesize(text, { signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    const speech = await this.#speech?.catch(() => undefined);
    await speech?.[Symbol.asyncDispose]();
  }
}
