import type { SttTranscript, SttWord } from './stt-provider.ts';

/**
 * Reads the messages of one recognition protocol and tells turns. It lives as long as the stream and survives its
 * connections; all times it tells are milliseconds of the stream.
 */
export interface ListenTurns {
  /** Somebody is speaking, as far as the provider has said. */
  readonly open: boolean;
  /**
   * A new connection stands: its audio will start where this says.
   * @param earliestMs the oldest audio that can still be sent
   * @returns a place from there on, behind everything that is settled
   */
  restart(earliestMs: number): number;
  /** @param offsetMs what to add to the connection's times to get those of the stream */
  read(message: unknown, offsetMs: number): void;
  /** The final transcript is wanted now. @param send sends a message if there is a connection */
  finalize(send: (message: object) => void): void;
  dispose(): void;
}

/** Collects what is said in one turn from pieces that will not change again. */
export class TranscriptBuilder {
  #text = '';
  #words = 0;
  #confidence = 0;
  #endMs: number | undefined;
  #language: string | undefined;
  #timed: SttWord[] = [];

  get isEmpty(): boolean {
    return this.#text === '';
  }

  add({ text, confidence, endMs, language, words: timed }: SttTranscript): this {
    if (text === '') return this;
    const words = text.split(' ').length;
    this.#text = this.#text === '' ? text : `${this.#text} ${text}`;
    this.#words += words;
    this.#confidence += words * (confidence ?? 1);
    this.#endMs = endMs ?? this.#endMs;
    this.#language = language ?? this.#language;
    if (timed) this.#timed.push(...timed);
    return this;
  }

  /** What was collected, followed by `more`, which is not kept. */
  with(more: SttTranscript | undefined): SttTranscript {
    const words = more && more.text !== '' ? more.text.split(' ').length : 0;
    const total = this.#words + words;
    const confidence = this.#confidence + words * (more?.confidence ?? 1);
    return {
      text: words === 0 ? this.#text : this.isEmpty ? more!.text : `${this.#text} ${more!.text}`,
      confidence: total === 0 ? undefined : confidence / total,
      endMs: (words === 0 ? undefined : more!.endMs) ?? this.#endMs,
      language: more?.language ?? this.#language,
      words: [...this.#timed, ...(words === 0 ? [] : (more!.words ?? []))],
    };
  }

  clear(): void {
    this.#text = '';
    this.#words = 0;
    this.#confidence = 0;
    this.#endMs = undefined;
    this.#language = undefined;
    this.#timed = [];
  }
}
