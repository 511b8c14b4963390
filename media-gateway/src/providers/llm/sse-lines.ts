/**
 * Takes server-sent events apart as far as chat completions need it: gives the value of each `data:` line. Comments,
 * other fields and empty lines are passed over; a value of several lines is not put together, as none is ever sent.
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 */
export class SseLines {
  readonly #decoder = new TextDecoder();
  #rest = '';

  /** @returns the values of the lines that ended in this chunk */
  push(chunk: Uint8Array): string[] {
    return this.#take(this.#rest + this.#decoder.decode(chunk, { stream: true }));
  }

  /** @returns the value of a last line without line end */
  end(): string[] {
    return this.#take(`${this.#rest}${this.#decoder.decode()}\n`);
  }

  #take(text: string): string[] {
    const values: string[] = [];
    let from = 0;
    for (let to = text.indexOf('\n'); to !== -1; to = text.indexOf('\n', from)) {
      const end = to > from && text.charCodeAt(to - 1) === CARRIAGE_RETURN ? to - 1 : to;
      if (text.startsWith('data:', from)) {
        const start = from + (text.charCodeAt(from + 5) === SPACE ? 6 : 5);
        if (end > start) values.push(text.slice(start, end));
      }
      from = to + 1;
    }
    this.#rest = text.slice(from);
    return values;
  }
}

const CARRIAGE_RETURN = 13;
const SPACE = 32;
