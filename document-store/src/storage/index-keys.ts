import {
  Decimal128,
  Double,
  type Binary,
  type BSONRegExp,
  type Code,
  type ObjectId,
  type Timestamp,
} from 'bson';
import { CommandError } from '../errors.ts';
import { compareNumbers, toDecimal, type Numeric } from '../bson/numbers.ts';
import { getField, isDocument, rankOf, typeRank, type Bson, type BsonDocument } from '../bson/values.ts';

// Keys compare as bytes the way their values compare in MongoDB. Each value starts with the rank of its type and ends
// where its own bytes say it does, so values can be put one after another; inverted bytes make a descending field.

let target = Buffer.allocUnsafeSlow(4096);
let length = 0;

/** Bytes that sort as `compareValues` sorts; equal numbers of different types have equal bytes. */
export function encodeKey(value: Bson | undefined): Buffer {
  length = 0;
  writeValue(value);
  return Buffer.from(target.subarray(0, length));
}

/** The key as a string, for maps and sets. */
export function keyText(value: Bson | undefined): string {
  length = 0;
  writeValue(value);
  return target.toString('latin1', 0, length);
}

/** The key of one field of an index or sort, which inverts its bytes when it descends. */
export function encodeKeyPart(value: Bson | undefined, descending: boolean): Buffer {
  length = 0;
  writePart(value, descending);
  return Buffer.from(target.subarray(0, length));
}

function writePart(value: Bson | undefined, descending: boolean): void {
  const from = length;
  writeValue(value);
  if (descending) for (let at = from; at < length; at++) target[at] = ~target[at]!;
}

/** Turns the order of byte strings around; none of them may be the beginning of another. */
export function invert(key: Buffer): Buffer {
  const inverted = Buffer.allocUnsafe(key.length);
  for (let i = 0; i < key.length; i++) inverted[i] = ~key[i]!;
  return inverted;
}

/** The least byte string greater than every string that begins with `prefix`; undefined when there is none. */
export function afterPrefix(prefix: Buffer): Buffer | undefined {
  let end = prefix.length;
  while (end > 0 && prefix[end - 1] === 0xff) end--;
  if (end === 0) return undefined;
  const after = Buffer.from(prefix.subarray(0, end));
  after[end - 1]! += 1;
  return after;
}

function ensure(bytes: number): void {
  if (length + bytes <= target.length) return;
  const grown = Buffer.allocUnsafeSlow(Math.max(target.length * 2, length + bytes));
  target.copy(grown, 0, 0, length);
  target = grown;
}

function writeValue(value: Bson | undefined): void {
  const rank = rankOf(value);
  ensure(1);
  target[length++] = rank;
  writePayload(rank, value);
}

function writePayload(rank: number, value: Bson | undefined): void {
  switch (rank) {
    case typeRank.number:
      writeNumber(value as Numeric);
      return;
    case typeRank.string:
      writeText(value as string);
      return;
    case typeRank.object:
      writeDocument(value as BsonDocument);
      return;
    case typeRank.array:
      for (const element of value as Bson[]) writeValue(element);
      writeByte(0);
      return;
    case typeRank.binary: {
      const { sub_type, buffer, position } = value as Binary;
      ensure(5 + position);
      length = target.writeUInt32BE(position, length);
      target[length++] = sub_type;
      target.set(buffer.subarray(0, position), length);
      length += position;
      return;
    }
    case typeRank.objectId:
      ensure(12);
      target.set((value as ObjectId).id, length);
      length += 12;
      return;
    case typeRank.boolean:
      writeByte(value ? 1 : 0);
      return;
    case typeRank.date:
      // The sign bit turned over makes two's complement sort as unsigned.
      ensure(8);
      length = target.writeBigUInt64BE(BigInt((value as Date).getTime()) + 0x8000_0000_0000_0000n, length);
      return;
    case typeRank.timestamp:
      ensure(8);
      length = target.writeUInt32BE((value as Timestamp).t, length);
      length = target.writeUInt32BE((value as Timestamp).i, length);
      return;
    case typeRank.regex:
      writeText((value as BSONRegExp).pattern);
      writeText((value as BSONRegExp).options);
      return;
    case typeRank.code:
      writeText((value as Code).code);
      writeValue((value as Code).scope as BsonDocument | null);
      return;
  }
}

function writeByte(byte: number): void {
  ensure(1);
  target[length++] = byte;
}

/** UTF-8 with 00 written as 00 FF, ended by 00 00. */
function writeText(text: string): void {
  ensure(text.length * 3 + 2);
  if (text.includes('\0')) {
    for (const byte of Buffer.from(text)) {
      writeByte(byte);
      if (byte === 0) writeByte(0xff);
    }
    ensure(2);
  } else {
    length += target.write(text, length, 'utf8');
  }
  target[length++] = 0;
  target[length++] = 0;
}

/** Field by field: type, name, value, as MongoDB compares documents; ended by 00. */
function writeDocument(document: BsonDocument): void {
  for (const field in document) {
    const value = document[field];
    const rank = rankOf(value);
    writeByte(rank);
    writeText(field);
    writePayload(rank, value);
  }
  writeByte(0);
}

/**
 * Eight bytes for the greatest double not above the number, then 00 when that is the number itself, or 01 and the
 * decimal digits of the number: only 64-bit integers beyond 2^53 and decimals need those.
 */
function writeNumber(value: Numeric): void {
  ensure(16);
  if (value instanceof Double) value = value.value;
  if (typeof value === 'number') {
    writeDoubleBits(value);
    target[length++] = 0;
    return;
  }
  let floor = typeof value === 'bigint' ? Number(value) : Number(value.toString());
  if (compareNumbers(floor, value) > 0) floor = doubleBelow(floor);
  writeDoubleBits(floor);
  if (compareNumbers(floor, value) === 0) {
    target[length++] = 0;
    return;
  }
  target[length++] = 1;
  writeDecimalDigits(value);
}

function writeDoubleBits(value: number): void {
  if (value !== value) {
    target.fill(0, length, length + 8);
    length += 8;
    return;
  }
  target.writeDoubleBE(value === 0 ? 0 : value, length);
  if (target[length]! & 0x80) {
    for (let i = length; i < length + 8; i++) target[i] = ~target[i]!;
  } else {
    target[length]! |= 0x80;
  }
  length += 8;
}

const doubleBits = new DataView(new ArrayBuffer(8));

function doubleBelow(value: number): number {
  if (value === -Infinity) return value;
  if (value === 0) return -Number.MIN_VALUE;
  doubleBits.setFloat64(0, value);
  const bits = doubleBits.getBigInt64(0);
  doubleBits.setBigInt64(0, value > 0 ? bits - 1n : bits + 1n);
  return doubleBits.getFloat64(0);
}

/** Exponent and digits of a number other than zero, so that numbers of one sign sort as bytes. */
function writeDecimalDigits(value: bigint | Decimal128): void {
  const { coefficient, exponent } = toDecimal(value);
  const negative = coefficient < 0n;
  const digits = (negative ? -coefficient : coefficient).toString();
  const bytes = Buffer.allocUnsafe(digits.length + 3);
  bytes.writeUInt16BE(exponent + digits.length + 0x8000, 0);
  const significant = digits.replace(/0+$/, '');
  for (let i = 0; i < significant.length; i++) bytes[i + 2] = significant.charCodeAt(i) - 47;
  bytes[significant.length + 2] = 0;
  ensure(bytes.length);
  for (let i = 0; i < significant.length + 3; i++) target[length++] = negative ? ~bytes[i]! : bytes[i]!;
}

/** Where the part of a key ends that begins at `from`; undefined where only reading the whole value tells. */
export function keyPartEnd(key: Uint8Array, from: number, descending: boolean): number | undefined {
  const inverted = descending ? 0xff : 0;
  switch (key[from]! ^ inverted) {
    case typeRank.missing:
    case typeRank.null:
      return from + 1;
    case typeRank.boolean:
      return from + 2;
    case typeRank.date:
      return from + 9;
    case typeRank.objectId:
      return from + 13;
    case typeRank.number:
      return key[from + 9] === inverted ? from + 10 : undefined;
    case typeRank.string:
      for (let at = from + 1; at + 1 < key.length; at++)
        // Within a text 00 is followed by FF.
        if (key[at] === inverted && key[at + 1] === inverted) return at + 2;
        else if (key[at] === inverted) at++;
      return undefined;
    default:
      return undefined;
  }
}

/** One field of an index or of a sort. */
export interface KeyField {
  path: readonly string[];
  descending: boolean;
}

export interface DocumentKeys {
  /** Distinct keys of the document, in no order. */
  keys: Buffer[];
  /** For each field, whether an array was met on the way to its value. */
  multikey: boolean[];
  /** True when none of the fields exists in the document. */
  allMissing: boolean;
}

interface Walk {
  value: Bson | undefined;
  /** How many parts of the path are behind `value`; `DONE` when it is the value to index. */
  at: number;
}

const DONE = -1;
const missing: Walk = { value: null, at: DONE };
/** An empty array is indexed as BSON's "undefined", just before null. */
const emptyArray: Walk = { value: undefined, at: DONE };

/**
 * The keys a document has in an index over `fields`: one, or one for each element of an array.
 * @throws CommandError CannotIndexParallelArrays when two fields hold different arrays
 */
export function keysOf(document: BsonDocument, fields: readonly KeyField[]): DocumentKeys {
  const multikey = fields.map(() => false);
  const seen = new Set<string>();
  const keys: Buffer[] = [];
  let found = false;

  function expand(walks: readonly Walk[]): void {
    let array: Bson[] | undefined;
    const advanced: Walk[] = [];
    for (let i = 0; i < walks.length; i++) {
      const walk = advance(walks[i]!, fields[i]!.path);
      advanced.push(walk);
      if (walk.at === DONE || !Array.isArray(walk.value)) continue;
      multikey[i] = true;
      if (array !== undefined && array !== walk.value) {
        const [a, b] = [fields[0]!, fields[i]!].map((field) => field.path.join('.'));
        throw new CommandError('CannotIndexParallelArrays', `cannot index parallel arrays [${b}] [${a}]`);
      }
      array = walk.value;
    }
    if (array === undefined) {
      add(advanced);
    } else if (array.length === 0) {
      found ||= advanced.some((walk, i) => walk.value === array && walk.at === fields[i]!.path.length);
      expand(
        advanced.map((walk, i) => {
          if (walk.value !== array || walk.at === DONE) return walk;
          return walk.at === fields[i]!.path.length ? emptyArray : missing;
        }),
      );
    } else {
      const places = advanced.map(({ value, at }, i) =>
        value === array ? positionIn(array, fields[i]!.path[at]) : undefined,
      );
      // A part of a path that is a number means the element there, and also a field of that name in every element.
      const readings = places.some((place) => place !== undefined) ? [false, true] : [false];
      for (const element of array) {
        for (const byPlace of readings) {
          expand(
            advanced.map((walk, i) => {
              if (walk.value !== array || walk.at === DONE) return walk;
              const place = byPlace ? places[i] : undefined;
              if (place !== undefined) return { value: array[place], at: walk.at + 1 };
              if (walk.at === fields[i]!.path.length) return { value: element, at: DONE };
              return isDocument(element) ? { value: element, at: walk.at } : missing;
            }),
          );
        }
      }
    }
  }

  function add(walks: readonly Walk[]): void {
    for (const walk of walks) if (walk !== missing) found = true;
    length = 0;
    for (let i = 0; i < walks.length; i++) writePart(walks[i]!.value, fields[i]!.descending);
    const key = Buffer.from(target.subarray(0, length));
    if (multikey.includes(true)) {
      const text = key.toString('latin1');
      if (seen.has(text)) return;
      seen.add(text);
    }
    keys.push(key);
  }

  expand(fields.map(() => ({ value: document, at: 0 })));
  return { keys, multikey, allMissing: !found };
}

function positionIn(array: readonly Bson[], part: string | undefined): number | undefined {
  return part !== undefined && /^(0|[1-9]\d*)$/.test(part) && Number(part) < array.length
    ? Number(part)
    : undefined;
}

/** Goes down the path as far as there are documents; ends at an array, at the value, or where nothing is. */
function advance(walk: Walk, path: readonly string[]): Walk {
  let { value, at } = walk;
  if (at === DONE) return walk;
  for (;;) {
    if (Array.isArray(value)) {
      const part = path[at];
      // `a.0` means the first element; if elements are documents, it may also mean their fields of that name.
      const place = positionIn(value, part);
      if (place === undefined || value.some(isDocument)) return { value, at };
      value = value[place];
      at += 1;
      continue;
    }
    if (at === path.length) return value === undefined ? missing : { value, at: DONE };
    if (!isDocument(value)) return missing;
    value = getField(value, path[at]!);
    at += 1;
  }
}

/**
 * The key that decides a document's place in a sort: of several, because of an array, the first.
 * @throws CommandError when two of the fields hold different arrays
 */
export function sortKey(document: BsonDocument, fields: readonly KeyField[]): Buffer {
  let keys: Buffer[];
  try {
    keys = keysOf(document, fields).keys;
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw new CommandError('BadValue', 'cannot sort with keys that are parallel arrays');
  }
  return keys.reduce((least, key) => (Buffer.compare(key, least) < 0 ? key : least));
}
