import type { Binary, BSONRegExp, Code, ObjectId, Timestamp } from 'bson';
import { compareNumbers, type Numeric } from './numbers.ts';
import { rankOf, typeRank, type Bson, type BsonDocument } from './values.ts';

/**
 * MongoDB's total order of values of all types; undefined (a missing field) comes before null.
 * @returns negative, zero or positive
 */
export function compareValues(a: Bson | undefined, b: Bson | undefined): number {
  if (a === b && a === a) return 0;
  const rank = rankOf(a);
  const difference = rank - rankOf(b);
  if (difference !== 0) return difference;
  switch (rank) {
    case typeRank.number:
      return compareNumbers(a as Numeric, b as Numeric);
    case typeRank.string:
      return compareText(a as string, b as string);
    case typeRank.object:
      return compareDocuments(a as BsonDocument, b as BsonDocument);
    case typeRank.array:
      return compareArrays(a as Bson[], b as Bson[]);
    case typeRank.binary:
      return compareBinary(a as Binary, b as Binary);
    case typeRank.objectId:
      return Buffer.compare((a as ObjectId).id, (b as ObjectId).id);
    case typeRank.boolean:
      return Number(a) - Number(b);
    case typeRank.date:
      return (a as Date).getTime() - (b as Date).getTime();
    case typeRank.timestamp:
      return (a as Timestamp).t - (b as Timestamp).t || (a as Timestamp).i - (b as Timestamp).i;
    case typeRank.regex:
      return (
        compareText((a as BSONRegExp).pattern, (b as BSONRegExp).pattern) ||
        compareText((a as BSONRegExp).options, (b as BSONRegExp).options)
      );
    case typeRank.code:
      return (
        compareText((a as Code).code, (b as Code).code) ||
        compareValues((a as Code).scope as BsonDocument | null, (b as Code).scope as BsonDocument | null)
      );
    default:
      return 0;
  }
}

export function equalValues(a: Bson | undefined, b: Bson | undefined): boolean {
  return compareValues(a, b) === 0;
}

/** By code point, which is the order of the UTF-8 bytes; JavaScript's own order is that of UTF-16 units. */
function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    // Surrogates stand for code points above all that one unit can hold.
    const highX = x >= 0xd800 && x <= 0xdfff;
    const highY = y >= 0xd800 && y <= 0xdfff;
    return highX === highY ? x - y : highX ? 1 : -1;
  }
  return a.length - b.length;
}

/** Field by field: type, then name, then value; the shorter first. */
function compareDocuments(a: BsonDocument, b: BsonDocument): number {
  const namesA = Object.keys(a);
  const namesB = Object.keys(b);
  const count = Math.min(namesA.length, namesB.length);
  for (let i = 0; i < count; i++) {
    const x = a[namesA[i]!];
    const y = b[namesB[i]!];
    const difference = rankOf(x) - rankOf(y) || compareText(namesA[i]!, namesB[i]!) || compareValues(x, y);
    if (difference !== 0) return difference;
  }
  return namesA.length - namesB.length;
}

function compareArrays(a: readonly Bson[], b: readonly Bson[]): number {
  const count = Math.min(a.length, b.length);
  for (let i = 0; i < count; i++) {
    const difference = compareValues(a[i], b[i]);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Length, then subtype, then bytes. */
function compareBinary(a: Binary, b: Binary): number {
  return (
    a.position - b.position ||
    a.sub_type - b.sub_type ||
    Buffer.compare(a.buffer.subarray(0, a.position), b.buffer.subarray(0, b.position))
  );
}
