import { Binary, BSONRegExp, Code, Decimal128, Double, MaxKey, MinKey, ObjectId, Timestamp } from 'bson';

/**
 * A BSON value as this store holds it. The numeric types stay apart, or a document would change by being read and
 * written: a `number` that fits 32 bits and is whole is an int32, any other `number` a double, a whole double that
 * would be taken for an int32 is wrapped in `Double`, and a 64-bit integer is a `bigint`. A missing field is `undefined`.
 */
export type Bson =
  | null
  | boolean
  | number
  | bigint
  | string
  | Double
  | Decimal128
  | Date
  | ObjectId
  | Binary
  | Timestamp
  | BSONRegExp
  | Code
  | MinKey
  | MaxKey
  | Bson[]
  | BsonDocument;

export interface BsonDocument {
  [field: string]: Bson;
}

/** The place of a type in MongoDB's order of types; all numbers share one. */
export const typeRank = {
  minKey: 1,
  missing: 2,
  null: 3,
  number: 4,
  string: 5,
  object: 6,
  array: 7,
  binary: 8,
  objectId: 9,
  boolean: 10,
  date: 11,
  timestamp: 12,
  regex: 13,
  code: 14,
  maxKey: 15,
} as const;

export function rankOf(value: Bson | undefined): number {
  switch (typeof value) {
    case 'number':
    case 'bigint':
      return typeRank.number;
    case 'string':
      return typeRank.string;
    case 'boolean':
      return typeRank.boolean;
    case 'undefined':
      return typeRank.missing;
  }
  if (value === null) return typeRank.null;
  if (Array.isArray(value)) return typeRank.array;
  if (value instanceof ObjectId) return typeRank.objectId;
  if (value instanceof Date) return typeRank.date;
  if (isDocument(value)) return typeRank.object;
  if (value instanceof Double || value instanceof Decimal128) return typeRank.number;
  if (value instanceof Binary) return typeRank.binary;
  if (value instanceof Timestamp) return typeRank.timestamp;
  if (value instanceof BSONRegExp) return typeRank.regex;
  if (value instanceof Code) return typeRank.code;
  if (value instanceof MinKey) return typeRank.minKey;
  return typeRank.maxKey;
}

/** True for embedded documents only, not for arrays or the classes of BSON. */
export function isDocument(value: unknown): value is BsonDocument {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

export function isInt32(value: number): boolean {
  return (value | 0) === value && !Object.is(value, -0);
}

/** The `number` or `Double` that is stored as a double whatever its value. */
export function asDouble(value: number): number | Double {
  return isInt32(value) ? new Double(value) : value;
}

const typeNames: Record<number, string> = {
  [typeRank.minKey]: 'minKey',
  [typeRank.missing]: 'missing',
  [typeRank.null]: 'null',
  [typeRank.string]: 'string',
  [typeRank.object]: 'object',
  [typeRank.array]: 'array',
  [typeRank.binary]: 'binData',
  [typeRank.objectId]: 'objectId',
  [typeRank.boolean]: 'bool',
  [typeRank.date]: 'date',
  [typeRank.timestamp]: 'timestamp',
  [typeRank.regex]: 'regex',
  [typeRank.code]: 'javascript',
  [typeRank.maxKey]: 'maxKey',
};

/** The alias MongoDB's `$type` gives a value. */
export function typeName(value: Bson | undefined): string {
  if (typeof value === 'number') return isInt32(value) ? 'int' : 'double';
  if (typeof value === 'bigint') return 'long';
  if (value instanceof Double) return 'double';
  if (value instanceof Decimal128) return 'decimal';
  if (value instanceof Code && value.scope) return 'javascriptWithScope';
  return typeNames[rankOf(value)]!;
}

/** Type numbers of the BSON specification, by `$type`'s alias. */
export const typeNumbers: Readonly<Record<string, number>> = {
  double: 1,
  string: 2,
  object: 3,
  array: 4,
  binData: 5,
  undefined: 6,
  objectId: 7,
  bool: 8,
  date: 9,
  null: 10,
  regex: 11,
  dbPointer: 12,
  javascript: 13,
  symbol: 14,
  javascriptWithScope: 15,
  int: 16,
  timestamp: 17,
  long: 18,
  decimal: 19,
  minKey: -1,
  maxKey: 127,
};

/** A copy that shares only immutable leaves. */
function cloneValue(value: Bson): Bson {
  if (Array.isArray(value)) return value.map(cloneValue);
  return isDocument(value) ? cloneDocument(value) : value;
}

export function cloneDocument(document: BsonDocument): BsonDocument {
  const copy: BsonDocument = {};
  for (const field in document) setField(copy, field, cloneValue(document[field]!));
  return copy;
}

/** `document[field] = value`, also for `__proto__`. */
export function setField(document: BsonDocument, field: string, value: Bson): void {
  if (field === '__proto__') {
    Object.defineProperty(document, field, { value, writable: true, enumerable: true, configurable: true });
  } else {
    document[field] = value;
  }
}

/** `document[field]`, never an inherited property. */
export function getField(document: BsonDocument, field: string): Bson | undefined {
  const value = document[field];
  return value === undefined || Object.hasOwn(document, field) ? value : undefined;
}

/** The value as a JavaScript number (rounded where it must be), or undefined if it is no number. */
export function toNumber(value: Bson | undefined): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Double) return value.value;
  if (value instanceof Decimal128) return Number(value.toString());
  return undefined;
}

export function isNumeric(value: Bson | undefined): value is number | bigint | Double | Decimal128 {
  return (
    typeof value === 'number' ||
    typeof value === 'bigint' ||
    value instanceof Double ||
    value instanceof Decimal128
  );
}
