/** One message of a stream of server-sent events. */
export interface ServerEvent {
  /** `message` when the server names none. */
  type: string;
  data: string;
  /** The newest id so far; '' before the first. */
  id: string;
}

/**
 * Reads server-sent events from pieces of text, however they are cut.
 * WHATWG HTML, 9.2.6 "Interpreting an event stream"
 */
export class EventStreamReader {
  #rest = '';
  #data: string[] = [];
  #type = '';
  #id: string;

  constructor(lastEventId = '') {
    this.#id = lastEventId;
  }

  /** @returns the events that are whole now */
  read(piece: string): ServerEvent[] {
    const text = this.#rest + piece;
    // A carriage return at the end may be half of a line's end.
    const whole = text.endsWith('\r') ? text.slice(0, -1) : text;
    const lines = whole.split(/\r\n|\n|\r/);
    this.#rest = lines.pop()! + text.slice(whole.length);
    return lines.flatMap((line) => this.#line(line));
  }

  #line(line: string): ServerEvent[] {
    if (line === '') {
      const event = { type: this.#type || 'message', data: this.#data.join('\n'), id: this.#id };
      const empty = this.#data.length === 0;
      this.#data = [];
      this.#type = '';
      return empty ? [] : [event];
    }
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') this.#data.push(value);
    if (field === 'event') this.#type = value;
    if (field === 'id' && !value.includes('\0')) this.#id = value;
    return [];
  }
}
