import { Binary, BSONRegExp, Code, Decimal128, Double, MaxKey, MinKey, ObjectId, Timestamp } from 'bson';
import { CommandError } from './errors.ts';
import { isInt32, setField, type Bson, type BsonDocument } from './values.ts';

/** MongoDB's own limit for a stored document. */
export const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024;
/** MongoDB's own limit for nesting, which also bounds the recursion here. */
const MAX_DEPTH = 180;

/** Encoded bytes that take the place of a document when encoding, so that what is only passed on is not decoded. */
export class RawDocument {
  readonly bytes: Uint8Array;
  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

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

// What is being encoded; it grows to the largest document seen and is kept.
let target = Buffer.allocUnsafeSlow(64 * 1024);
let length = 0;

/** What may be encoded: as well as stored values, replies hold undefined (left out) and raw documents. */
export type Encodable = Bson | undefined | RawDocument | Encodable[] | { [field: string]: Encodable };

/** Encodes a document; the result is the caller's own. Fields that are undefined are left out. */
export function encodeDocument(document: { readonly [field: string]: Encodable }): Buffer {
  length = 0;
  try {
    writeDocument(document, 0);
    return Buffer.from(target.subarray(0, length));
  } finally {
    if (target.length > 1024 * 1024) target = Buffer.allocUnsafeSlow(64 * 1024);
  }
}

function ensure(bytes: number): void {
  if (length + bytes <= target.length) return;
  const grown = Buffer.allocUnsafeSlow(Math.max(target.length * 2, length + bytes));
  target.copy(grown, 0, 0, length);
  target = grown;
}

function writeDocument(document: { readonly [field: string]: Encodable }, depth: number): void {
  if (depth > MAX_DEPTH)
    throw new CommandError('Overflow', `BSONObj exceeds maximum nested object depth: ${MAX_DEPTH}`);
  const start = length;
  ensure(5);
  length += 4;
  for (const field in document) {
    const value = document[field];
    if (value !== undefined) writeElement(field, value, depth);
  }
  closeDocument(start);
}

function writeArray(array: readonly Encodable[], depth: number): void {
  if (depth > MAX_DEPTH)
    throw new CommandError('Overflow', `BSONObj exceeds maximum nested object depth: ${MAX_DEPTH}`);
  const start = length;
  ensure(5);
  length += 4;
  for (let i = 0; i < array.length; i++) writeElement(String(i), array[i] ?? null, depth);
  closeDocument(start);
}

function closeDocument(start: number): void {
  ensure(1);
  target[length++] = 0;
  target.writeInt32LE(length - start, start);
}

function writeName(type: number, name: string): void {
  ensure(name.length * 3 + 2);
  target[length++] = type;
  const start = length;
  for (let i = 0; i < name.length; i++) {
    const unit = name.charCodeAt(i);
    if (unit === 0) throw new CommandError('BadValue', 'a field name must not contain a null byte');
    if (unit > 127) {
      length = start + target.write(name, start, 'utf8');
      break;
    }
    target[length++] = unit;
  }
  target[length++] = 0;
}

function writeText(text: string): void {
  ensure(text.length * 3 + 5);
  const bytes = target.write(text, length + 4, 'utf8');
  target.writeInt32LE(bytes + 1, length);
  length += 4 + bytes;
  target[length++] = 0;
}

function writeElement(name: string, value: Encodable, depth: number): void {
  switch (typeof value) {
    case 'string':
      writeName(0x02, name);
      writeText(value);
      return;
    case 'number':
      if (isInt32(value)) {
        writeName(0x10, name);
        ensure(4);
        length = target.writeInt32LE(value, length);
      } else {
        writeDouble(name, value);
      }
      return;
    case 'boolean':
      writeName(0x08, name);
      ensure(1);
      target[length++] = value ? 1 : 0;
      return;
    case 'bigint':
      writeName(0x12, name);
      ensure(8);
      length = target.writeBigInt64LE(BigInt.asIntN(64, value), length);
      return;
  }
  if (value === null || value === undefined) {
    writeName(0x0a, name);
  } else if (Array.isArray(value)) {
    writeName(0x04, name);
    writeArray(value, depth + 1);
  } else if (value instanceof ObjectId) {
    writeName(0x07, name);
    writeBytes(value.id);
  } else if (value instanceof Date) {
    writeName(0x09, name);
    ensure(8);
    length = target.writeBigInt64LE(BigInt(value.getTime()), length);
  } else if (Object.getPrototypeOf(value) === Object.prototype) {
    writeName(0x03, name);
    writeDocument(value as { [field: string]: Encodable }, depth + 1);
  } else if (value instanceof RawDocument) {
    writeName(0x03, name);
    writeBytes(value.bytes);
  } else if (value instanceof Double) {
    writeDouble(name, value.value);
  } else if (value instanceof Decimal128) {
    writeName(0x13, name);
    writeBytes(value.bytes);
  } else if (value instanceof Binary) {
    writeBinary(name, value);
  } else if (value instanceof Timestamp) {
    writeName(0x11, name);
    ensure(8);
    length = target.writeUInt32LE(value.i, length);
    length = target.writeUInt32LE(value.t, length);
  } else if (value instanceof BSONRegExp) {
    writeName(0x0b, name);
    writeCString(value.pattern);
    writeCString(value.options);
  } else if (value instanceof Code) {
    writeCode(name, value, depth);
  } else if (value instanceof MinKey) {
    writeName(0xff, name);
  } else if (value instanceof MaxKey) {
    writeName(0x7f, name);
  } else {
    throw new TypeError(`a ${Object.prototype.toString.call(value)} cannot be stored`);
  }
}

function writeDouble(name: string, value: number): void {
  writeName(0x01, name);
  ensure(8);
  length = target.writeDoubleLE(value, length);
}

function writeBytes(bytes: Uint8Array): void {
  ensure(bytes.length);
  target.set(bytes, length);
  length += bytes.length;
}

function writeBinary(name: string, value: Binary): void {
  writeName(0x05, name);
  const bytes = value.buffer.subarray(0, value.position);
  const old = value.sub_type === Binary.SUBTYPE_BYTE_ARRAY;
  ensure(9);
  length = target.writeInt32LE(old ? bytes.length + 4 : bytes.length, length);
  target[length++] = value.sub_type;
  if (old) length = target.writeInt32LE(bytes.length, length);
  writeBytes(bytes);
}

function writeCString(text: string): void {
  if (text.includes('\0'))
    throw new CommandError('BadValue', 'a regular expression must not contain a null byte');
  ensure(text.length * 3 + 1);
  length += target.write(text, length, 'utf8');
  target[length++] = 0;
}

function writeCode(name: string, value: Code, depth: number): void {
  if (!value.scope) {
    writeName(0x0d, name);
    writeText(value.code);
    return;
  }
  writeName(0x0f, name);
  const start = length;
  ensure(4);
  length += 4;
  writeText(value.code);
  writeDocument(value.scope as BsonDocument, depth + 1);
  target.writeInt32LE(length - start, start);
}
