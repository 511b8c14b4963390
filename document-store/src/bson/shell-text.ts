import { Binary, BSONRegExp, Decimal128, Double, ObjectId, Timestamp } from 'bson';
import { isDocument, type Bson } from './values.ts';

/** A value as MongoDB prints it in its messages. */
export function shellText(value: Bson): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return JSON.stringify(value);
  if (Array.isArray(value)) return value.length === 0 ? '[]' : `[ ${value.map(shellText).join(', ')} ]`;
  if (isDocument(value)) {
    const fields = Object.entries(value).map(([field, inner]) => `${field}: ${shellText(inner)}`);
    return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`;
  }
  if (value instanceof ObjectId) return `ObjectId('${value.toHexString()}')`;
  if (value instanceof Date) return `new Date(${value.getTime()})`;
  if (value instanceof Double)
    return Number.isInteger(value.value) ? `${value.value}.0` : String(value.value);
  if (value instanceof Decimal128) return value.toString();
  if (value instanceof BSONRegExp) return `/${value.pattern}/${value.options}`;
  if (value instanceof Timestamp) return `Timestamp(${value.t}, ${value.i})`;
  if (value instanceof Binary) return `BinData(${value.sub_type}, ${value.toString('hex').toUpperCase()})`;
  return typeof value === 'object' ? value.constructor.name : String(value);
}
