import { decodeBase64 } from './base64.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const SPACE = 0x20;
const ZERO = 0x30;
const NINE = 0x39;
const LOWER_U = 0x75;
const MAX_DIGITS = 15;

const ascii = (text: string) => Uint8Array.from(text, (character) => character.charCodeAt(0));
const EVENT = ascii('event');
const MEDIA = ascii('media');
const TRACK = ascii('track');
const CHUNK = ascii('chunk');
const TIMESTAMP = ascii('timestamp');
const PAYLOAD = ascii('payload');
const INBOUND = ascii('inbound');
/** What may follow a backslash and is one character. */
const SIMPLE_ESCAPES = new Set(ascii('"\\/bfnrt'));

/** Decoded audio; one piece of memory for all streams, because it is only valid until the next message. */
const scratch = new Uint8Array(256 * 1024);
let view = scratch.subarray(0, 160);

function fail(): -1 {
  return -1;
}

/**
 * Reads the messages that make up nearly all traffic without building a string or an object: a JSON object with
 * `event: "media"` and `media: {track: "inbound", payload, chunk?, timestamp?}`, which all three carriers share.
 * Anything it is not sure about is left to `JSON.parse` and the schema; what it accepts, they accept with the same
 * result (tested against each other). What is read is handed on and never kept: an old object that holds a new one of
 * each frame would cost the garbage collector more than the reading.
 */
export class MediaScanner {
  /** After a successful `scan`: valid until the next one, of any stream. */
  bytes: Uint8Array = view;
  chunk: number | undefined;
  timestampMs: number | undefined;

  #at = 0;
  #number: number | undefined;
  #payloadStart = -1;
  #payloadEnd = -1;

  /** @returns whether the message was caller audio in its usual form */
  scan(input: Uint8Array): boolean {
    this.#at = 1;
    this.chunk = undefined;
    this.timestampMs = undefined;
    this.#payloadStart = -1;
    if (input[0] !== OPEN || !this.#message(input) || this.#at !== input.length) return false;
    if (((this.#payloadEnd - this.#payloadStart) >> 2) * 3 > scratch.length) return false;
    const length = decodeBase64(input, this.#payloadStart, this.#payloadEnd, scratch);
    if (length <= 0) return false;
    if (view.length !== length) view = scratch.subarray(0, length);
    this.bytes = view;
    return true;
  }

  /** From behind `{` to behind `}`. */
  #message(input: Uint8Array): boolean {
    let isMedia = false;
    let hasMedia = false;
    for (;;) {
      const keyStart = this.#at + 1;
      const keyEnd = this.#string(input);
      if (keyEnd < 0 || !this.#colon(input)) return false;
      if (this.#is(input, EVENT, keyStart, keyEnd)) {
        const start = this.#at + 1;
        const end = this.#string(input);
        if (isMedia || end < 0 || !this.#is(input, MEDIA, start, end)) return false;
        isMedia = true;
      } else if (this.#is(input, MEDIA, keyStart, keyEnd)) {
        if (hasMedia || input[this.#at] !== OPEN) return false;
        this.#at++;
        if (!this.#media(input)) return false;
        hasMedia = true;
      } else if (!this.#skipValue(input)) return false;
      if (input[this.#at] === CLOSE) {
        this.#at++;
        return isMedia && hasMedia;
      }
      if (!this.#comma(input)) return false;
    }
  }

  #media(input: Uint8Array): boolean {
    let hasTrack = false;
    let hasChunk = false;
    let hasTimestamp = false;
    for (;;) {
      const keyStart = this.#at + 1;
      const keyEnd = this.#string(input);
      if (keyEnd < 0 || !this.#colon(input)) return false;
      if (this.#is(input, PAYLOAD, keyStart, keyEnd)) {
        if (this.#payloadStart !== -1 || input[this.#at] !== QUOTE) return false;
        this.#payloadStart = this.#at + 1;
        // Only the closing quote matters: decoding refuses what is no base64.
        const end = input.indexOf(QUOTE, this.#payloadStart);
        if (end < 0) return false;
        this.#payloadEnd = end;
        this.#at = end + 1;
      } else if (this.#is(input, TRACK, keyStart, keyEnd)) {
        const start = this.#at + 1;
        const end = this.#string(input);
        if (hasTrack || end < 0 || !this.#is(input, INBOUND, start, end)) return false;
        hasTrack = true;
      } else if (this.#is(input, CHUNK, keyStart, keyEnd)) {
        if (hasChunk || !this.#counter(input)) return false;
        hasChunk = true;
        this.chunk = this.#number;
      } else if (this.#is(input, TIMESTAMP, keyStart, keyEnd)) {
        if (hasTimestamp || !this.#counter(input)) return false;
        hasTimestamp = true;
        this.timestampMs = this.#number;
      } else if (!this.#skipValue(input)) return false;
      if (input[this.#at] === CLOSE) {
        this.#at++;
        return this.#payloadStart !== -1;
      }
      if (!this.#comma(input)) return false;
    }
  }

  /** Steps over a string without escapes. @returns where its content ends, or -1 */
  #string(input: Uint8Array): number {
    let at = this.#at;
    if (input[at] !== QUOTE) return fail();
    for (at++; at < input.length; at++) {
      const byte = input[at]!;
      if (byte === QUOTE) {
        this.#at = at + 1;
        return at;
      }
      if (byte === BACKSLASH || byte < SPACE) return fail();
    }
    return fail();
  }

  /** Steps over a value nobody needs: a string, or a whole number that is not negative. */
  #skipValue(input: Uint8Array): boolean {
    if (input[this.#at] !== QUOTE) return this.#digits(input);
    for (let at = this.#at + 1; at < input.length; at++) {
      const byte = input[at]!;
      if (byte === QUOTE) {
        this.#at = at + 1;
        return true;
      }
      if (byte < SPACE) return false;
      if (byte === BACKSLASH) {
        const escaped = input[++at];
        if (escaped === LOWER_U || escaped === undefined || !SIMPLE_ESCAPES.has(escaped)) return false;
      }
    }
    return false;
  }

  /** A counter, as a number or as a string of digits. */
  #counter(input: Uint8Array): boolean {
    if (input[this.#at] !== QUOTE) return this.#digits(input);
    this.#at++;
    let value = 0;
    const start = this.#at;
    for (; this.#isDigit(input); this.#at++) value = value * 10 + input[this.#at]! - ZERO;
    const length = this.#at - start;
    if (length === 0 || length > MAX_DIGITS || input[this.#at] !== QUOTE) return false;
    this.#at++;
    this.#number = value;
    return true;
  }

  #digits(input: Uint8Array): boolean {
    const start = this.#at;
    let value = 0;
    for (; this.#isDigit(input); this.#at++) value = value * 10 + input[this.#at]! - ZERO;
    const length = this.#at - start;
    if (length === 0 || length > MAX_DIGITS || (length > 1 && input[start] === ZERO)) return false;
    this.#number = value;
    // Whatever follows (a fraction, an exponent) is refused as it is neither a comma nor a brace.
    return true;
  }

  #isDigit(input: Uint8Array): boolean {
    const byte = input[this.#at];
    return byte !== undefined && byte >= ZERO && byte <= NINE;
  }

  #colon(input: Uint8Array): boolean {
    return this.#separator(input, COLON);
  }

  #comma(input: Uint8Array): boolean {
    return this.#separator(input, COMMA);
  }

  #separator(input: Uint8Array, byte: number): boolean {
    if (input[this.#at] !== byte) return false;
    this.#at++;
    while (input[this.#at] === SPACE) this.#at++;
    return true;
  }

  #is(input: Uint8Array, word: Uint8Array, start: number, end: number): boolean {
    if (end - start !== word.length) return false;
    for (let i = 0; i < word.length; i++) if (input[start + i] !== word[i]) return false;
    return true;
  }
}
