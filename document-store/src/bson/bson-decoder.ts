import { BSONRegExp, Binary, Code, Decimal128, Double, MaxKey, MinKey, ObjectId, Timestamp } from 'bson';
import { CommandError } from '../errors.ts';
import { isInt32, setField, type Bson, type BsonDocument } from './values.ts';

/** MongoDB's own limit for nesting, which also bounds the recursion here. */
export const MAX_DEPTH = 180;

// What is being decoded. Decoding never calls out, so one of each is enough.
let source: Buffer = Buffer.alloc(0);

let at = 0;

/**
 * Decodes one BSON document. Binary values are views of `bytes`.
 * @see https://bsonspec.org/spec.html
 * @throws CommandError when the bytes are not a well-formed document, or hold one of the types BSON has deprecated
 */
export function decodeDocument(bytes: Uint8Array): BsonDocument {
  source = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  at = 0;
  const document = readDocument(source.length, 0);
  if (at !== source.length) throw malformed('trailing bytes');
  return document;
}

/**
 * Decodes only these fields of a stored document, and reads no further than the last of them: much cheaper when a test
 * needs few of many. A stored document has no field twice.
 * @throws CommandError when what is read is not well-formed
 */
export function decodeFields(bytes: Uint8Array, names: ReadonlySet<string>): BsonDocument {
  source = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  at = 0;
  const end = readLength(source.length);
  const document: BsonDocument = {};
  for (let left = names.size; left > 0;) {
    const type = source[at++]!;
    if (type === 0) break;
    const name = readName(end);
    if (names.has(name)) {
      setField(document, name, readValue(type, end, 0));
      left -= 1;
    } else {
      skipValue(type, end);
    }
  }
  return document;
}

/**
 * A stored document cut down to these fields, or to all others: what stays is copied as it is.
 * @throws CommandError when it is not well-formed
 */
export function cutFields(
  bytes: Uint8Array,
  { names, kept }: { names: ReadonlySet<string>; kept: boolean },
): Uint8Array {
  source = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  at = 0;
  const end = readLength(source.length);
  const cut = Buffer.allocUnsafe(source.length);
  let length = at;
  // Neighbours are copied together.
  let from = at;
  for (;;) {
    const start = at;
    const type = source[at++]!;
    if (type !== 0 && names.has(readName(end)) === kept) {
      skipValue(type, end);
      continue;
    }
    length += source.copy(cut, length, from, start);
    if (type === 0) break;
    skipValue(type, end);
    from = at;
  }
  cut[length++] = 0;
  cut.writeInt32LE(length, 0);
  return cut.subarray(0, length);
}

function malformed(what: string): CommandError {
  return new CommandError(22, `Invalid BSON: ${what}`);
}

function readLength(limit: number): number {
  if (at + 5 > limit) throw malformed('truncated document');
  const length = source.readInt32LE(at);
  if (length < 5 || at + length > limit) throw malformed(`document length ${length}`);
  const end = at + length;
  if (source[end - 1] !== 0) throw malformed('document without its final zero');
  at += 4;
  return end;
}

function readDocument(limit: number, depth: number): BsonDocument {
  if (depth > MAX_DEPTH)
    throw new CommandError('Overflow', `BSONObj exceeds maximum nested object depth: ${MAX_DEPTH}`);
  const end = readLength(limit);
  const document: BsonDocument = {};
  for (;;) {
    const type = source[at++]!;
    if (type === 0) break;
    const name = readName(end);
    setField(document, name, readValue(type, end, depth));
  }
  if (at !== end) throw malformed('document ends early');
  return document;
}

function readArray(limit: number, depth: number): Bson[] {
  if (depth > MAX_DEPTH)
    throw new CommandError('Overflow', `BSONObj exceeds maximum nested object depth: ${MAX_DEPTH}`);
  const end = readLength(limit);
  const array: Bson[] = [];
  for (;;) {
    const type = source[at++]!;
    if (type === 0) break;
    at = endOfName(end) + 1;
    array.push(readValue(type, end, depth));
  }
  if (at !== end) throw malformed('array ends early');
  return array;
}

function need(bytes: number, limit: number): void {
  if (bytes < 0 || at + bytes >= limit) throw malformed('truncated value');
}

function readValue(type: number, limit: number, depth: number): Bson {
  switch (type) {
    case 0x01: {
      need(8, limit);
      const value = source.readDoubleLE(at);
      at += 8;
      return isInt32(value) ? new Double(value) : value;
    }
    case 0x02:
      return readString(limit);
    case 0x03:
      return readDocument(limit - 1, depth + 1);
    case 0x04:
      return readArray(limit - 1, depth + 1);
    case 0x05: {
      need(5, limit);
      let length = source.readInt32LE(at);
      const subtype = source[at + 4]!;
      at += 5;
      need(length, limit);
      if (subtype === Binary.SUBTYPE_BYTE_ARRAY) {
        if (length < 4 || source.readInt32LE(at) !== length - 4) throw malformed('old binary length');
        at += 4;
        length -= 4;
      }
      const value = new Binary(source.subarray(at, at + length), subtype);
      at += length;
      return value;
    }
    case 0x07: {
      need(12, limit);
      const value = new ObjectId(source.subarray(at, at + 12));
      at += 12;
      return value;
    }
    case 0x08: {
      need(1, limit);
      const value = source[at++]!;
      if (value > 1) throw malformed('boolean');
      return value === 1;
    }
    case 0x09: {
      need(8, limit);
      const milliseconds = source.readInt32LE(at + 4) * 0x1_0000_0000 + source.readUInt32LE(at);
      at += 8;
      if (Math.abs(milliseconds) > 8.64e15) throw malformed('a date beyond the years JavaScript has');
      return new Date(milliseconds);
    }
    case 0x0a:
      return null;
    case 0x0b: {
      const pattern = readName(limit);
      return regexOf(pattern, readName(limit));
    }
    case 0x0d:
      return new Code(readString(limit));
    case 0x0f: {
      need(4, limit);
      const end = at + source.readInt32LE(at);
      at += 4;
      const code = readString(limit);
      const scope = readDocument(limit - 1, depth + 1);
      if (at !== end) throw malformed('code with scope');
      return new Code(code, scope);
    }
    case 0x10: {
      need(4, limit);
      const value = source.readInt32LE(at);
      at += 4;
      return value;
    }
    case 0x11: {
      need(8, limit);
      const value = new Timestamp({ t: source.readUInt32LE(at + 4), i: source.readUInt32LE(at) });
      at += 8;
      return value;
    }
    case 0x12: {
      need(8, limit);
      const value = source.readBigInt64LE(at);
      at += 8;
      return value;
    }
    case 0x13: {
      need(16, limit);
      const value = new Decimal128(Uint8Array.prototype.slice.call(source, at, at + 16));
      at += 16;
      return value;
    }
    case 0xff:
      return new MinKey();
    case 0x7f:
      return new MaxKey();
    default:
      throw malformed(`type 0x${type.toString(16)} is not supported`);
  }
}

function skipValue(type: number, limit: number): void {
  switch (type) {
    case 0x01:
    case 0x09:
    case 0x11:
    case 0x12:
      return skip(8, limit);
    case 0x02:
    case 0x0d:
      need(4, limit);
      return skip(4 + source.readInt32LE(at), limit);
    case 0x03:
    case 0x04:
    case 0x0f:
      need(4, limit);
      return skip(source.readInt32LE(at), limit);
    case 0x05:
      need(4, limit);
      return skip(5 + source.readInt32LE(at), limit);
    case 0x08:
      return skip(1, limit);
    case 0x0a:
    case 0x7f:
    case 0xff:
      return;
    case 0x10:
      return skip(4, limit);
    default:
      readValue(type, limit, 0);
  }
}

function skip(bytes: number, limit: number): void {
  need(bytes, limit);
  at += bytes;
}

/** @throws CommandError for options that no regular expression has */
export function regexOf(pattern: string, options: string): BSONRegExp {
  try {
    return new BSONRegExp(pattern, options);
  } catch {
    throw new CommandError(51108, `invalid flag in regex options: ${options}`);
  }
}

function readString(limit: number): string {
  need(4, limit);
  const length = source.readInt32LE(at);
  at += 4;
  need(length, limit);
  if (length < 1 || source[at + length - 1] !== 0) throw malformed('string');
  const value = shortText(at, at + length - 1);
  at += length;
  return value;
}

/** Short ASCII is put together here, which is quicker than the call into native code. */
function shortText(start: number, end: number): string {
  if (end - start > 24) return source.toString('utf8', start, end);
  let text = '';
  for (let i = start; i < end; i++) {
    const byte = source[i]!;
    if (byte > 127) return source.toString('utf8', start, end);
    text += String.fromCharCode(byte);
  }
  return text;
}

function endOfName(limit: number): number {
  let end = at;
  while (source[end] !== 0) if (++end >= limit) throw malformed('unterminated name');
  return end;
}

// Field names repeat in every document: a small table keyed by a hash of the bytes saves making them anew.
const NAMES = 4096;

const knownNames: (string | undefined)[] = new Array<string | undefined>(NAMES);

function readName(limit: number): string {
  const start = at;
  let end = at;
  let hash = 0;
  for (;;) {
    const byte = source[end];
    if (byte === 0) break;
    if (byte === undefined || end >= limit) throw malformed('unterminated name');
    if (byte > 127) hash = -1;
    if (hash >= 0) hash = (Math.imul(hash, 31) + byte) & 0x7fffffff;
    end++;
  }
  at = end + 1;
  if (hash < 0 || end - start > 32) return source.toString('utf8', start, end);
  const slot = hash & (NAMES - 1);
  const known = knownNames[slot];
  if (known !== undefined && known.length === end - start) {
    let i = 0;
    while (i < known.length && known.charCodeAt(i) === source[start + i]) i++;
    if (i === known.length) return known;
  }
  const name = source.toString('latin1', start, end);
  knownNames[slot] = name;
  return name;
}
