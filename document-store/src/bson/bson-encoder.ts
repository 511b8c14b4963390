import { BSONRegExp, Binary, Code, Decimal128, Double, MaxKey, MinKey, ObjectId, Timestamp } from 'bson';
import { MAX_DEPTH } from './bson-decoder.ts';
import { CommandError } from '../errors.ts';
import { isInt32, type Bson, type BsonDocument } from './values.ts';

/** MongoDB's own limit for a stored document. */
export const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024;

/** Encoded bytes that take the place of a document when encoding, so that what is only passed on is not decoded. */
export class RawDocument {
  readonly bytes: Uint8Array;
  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

// What is being encoded; it grows to the largest document seen and is kept.
let target = Buffer.allocUnsafeSlow(64 * 1024);

export let length = 0;

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
