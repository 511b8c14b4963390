import type { Schema, SchemaType } from 'mongoose';
import type { Collection, StoredRecord } from './collection.ts';

/** The fields of a new record; the others get their defaults. */
export type NewFields<T extends StoredRecord> = { [K in keyof T]?: T[K] | undefined } & Pick<T, '_id'>;

interface Field {
  required: boolean;
  fits(value: unknown): boolean;
  makeDefault(): unknown;
}

const TESTS: Readonly<Record<string, (value: unknown) => boolean>> = {
  String: (value) => typeof value === 'string',
  Number: (value) => typeof value === 'number',
  BigInt: (value) => typeof value === 'bigint',
  Boolean: (value) => typeof value === 'boolean',
  Date: (value) => value instanceof Date,
  Mixed: (value) => typeof value === 'object',
  Array: (value) => Array.isArray(value),
};

const known = new WeakMap<Schema, Map<string, Field>>();

/**
 * A whole record of a collection without nested fields: defaults and times filled in, every field checked by its
 * schema, as Mongoose does with a document of its own at twenty times the cost.
 * @throws Error for a field that is unknown, absent or of another type: a mistake of the program
 */
export function newRecord<T extends StoredRecord>({ name, schema }: Collection<T>, given: NewFields<T>): T {
  let fields = known.get(schema);
  if (!fields) known.set(schema, (fields = fieldsOf(schema)));
  const created = given.created_at ?? new Date();
  const record: Record<string, unknown> = {
    ...given,
    created_at: created,
    updated_at: given.updated_at ?? created,
  };
  for (const field in record) if (!fields.has(field)) throw new Error(`${name} have no field ${field}`);
  for (const [field, { required, fits, makeDefault }] of fields) {
    record[field] ??= record[field] === undefined ? makeDefault() : null;
    const value = record[field];
    if (value === undefined) delete record[field];
    if (value == null ? required : !fits(value))
      throw new Error(`${name}: ${field} is missing or has no fitting value`);
  }
  return record as unknown as T;
}

function fieldsOf(schema: Schema): Map<string, Field> {
  const fields = new Map<string, Field>();
  schema.eachPath((path, type) => {
    fields.set(path, fieldOf(path, type));
  });
  return fields;
}

function fieldOf(path: string, type: SchemaType): Field {
  const test = TESTS[type.instance];
  if (!test || path.includes('.') || ('schema' in type && type.schema))
    throw new Error(`Records with ${path} are made by Mongoose alone.`);
  const options = type.options as { required?: boolean; enum?: readonly unknown[]; default?: unknown };
  const { enum: values, default: byDefault = type.instance === 'Array' ? [] : undefined } = options;
  return {
    required: options.required === true,
    fits: values ? (value) => values.includes(value) : test,
    makeDefault: makerOf(byDefault),
  };
}

/** @returns the default of one more record, which shares no object with others */
function makerOf(byDefault: unknown): () => unknown {
  if (typeof byDefault === 'function') return byDefault as () => unknown;
  // Most are null: to clone nothing costs as much as to clone something.
  if (typeof byDefault !== 'object' || byDefault === null) return () => byDefault;
  return () => structuredClone(byDefault);
}
