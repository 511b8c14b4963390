import { BSONRegExp, ObjectId } from 'bson';
import { MAX_DOCUMENT_BYTES, RawDocument, encodeDocument, type Encodable } from '../bson/bson-encoder.ts';
import type { Collection } from '../storage/catalog.ts';
import { CommandError } from '../errors.ts';
import { parseFilter } from '../matching/filter-parser.ts';
import type { Filter } from '../matching/filter.ts';
import { parseProjection } from '../query/projection.ts';
import { QueryRun, type Found } from '../query/query.ts';
import { naturalHint, parseSort } from '../query/sort.ts';
import type { Store } from '../storage/store.ts';
import { parseUpdate, type Update } from '../update/update.ts';
import { seedOfUpsert } from '../update/upsert-seed.ts';
import { getField, isDocument, toNumber, typeName, type Bson, type BsonDocument } from '../bson/values.ts';
import {
  collectionFor,
  collectionName,
  documentField,
  documentsField,
  isSet,
  refuseCollation,
  variablesOf,
  type Command,
  type CommandContext,
  type CommandReply,
} from './commands.ts';

const MAX_WRITE_BATCH = 100_000;

/** Runs each of a command's writes; ordered ones stop at the first error. */
function eachWrite(
  writes: readonly BsonDocument[],
  ordered: boolean,
  run: (write: BsonDocument, index: number) => void,
): { writeErrors?: Encodable[] } {
  if (writes.length === 0 || writes.length > MAX_WRITE_BATCH) {
    throw new CommandError(
      'InvalidLength',
      `Write batch sizes must be between 1 and ${MAX_WRITE_BATCH}. Got ${writes.length} operations.`,
    );
  }
  const writeErrors: Encodable[] = [];
  for (const [index, write] of writes.entries()) {
    try {
      run(write, index);
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      writeErrors.push({
        index,
        code: error.code,
        errmsg: error.message,
        ...(error.details as Record<string, Encodable>),
      });
      if (ordered) break;
    }
  }
  return writeErrors.length > 0 ? { writeErrors } : {};
}

/** Stores a document that is new. @returns it with its _id first */
function insertDocument(store: Store, collection: Collection, document: BsonDocument): BsonDocument {
  const id = getField(document, '_id') ?? new ObjectId();
  checkId(id);
  const whole = firstField(document) === '_id' ? document : { _id: id, ...document };
  store.insert(collection, whole, encodeChecked(whole));
  return whole;
}

function firstField(document: BsonDocument): string | undefined {
  for (const field in document) return field;
  return undefined;
}

function checkId(id: Bson): void {
  if (Array.isArray(id) || id instanceof BSONRegExp) {
    throw new CommandError('InvalidIdField', `The '_id' value cannot be of type ${typeName(id)}`);
  }
  if (isDocument(id) && Object.keys(id).some((field) => field.startsWith('$'))) {
    throw new CommandError(52, `_id fields may not contain '$'-prefixed fields`);
  }
}

function encodeChecked(document: BsonDocument): Buffer {
  const bytes = encodeDocument(document);
  if (bytes.length > MAX_DOCUMENT_BYTES) {
    throw new CommandError(
      'BSONObjectTooLarge',
      `object to insert too large. size in bytes: ${bytes.length}, max size: ${MAX_DOCUMENT_BYTES}`,
    );
  }
  return bytes;
}

function updateFrom(u: Bson | undefined, arrayFilters: Bson | undefined): Update {
  const filters = arrayFilters ?? [];
  if (!Array.isArray(filters) || !filters.every(isDocument))
    throw new CommandError('TypeMismatch', 'arrayFilters has to be an array of objects');
  if (isDocument(u)) return parseUpdate(u, filters);
  throw new CommandError(
    'FailedToParse',
    Array.isArray(u)
      ? 'updates by a pipeline are not supported by this store: update operators are'
      : 'Update argument must be either an object or an array',
  );
}

/** @returns undefined when the update changes nothing */
function updateFound(
  store: Store,
  collection: Collection,
  found: Found,
  update: Update,
): BsonDocument | undefined {
  const after = update.apply(found.document, found.position, false);
  const bytes = encodeChecked(after);
  if (bytes.equals(found.bytes)) return undefined;
  store.update(collection, found.rowId, found.document, after, bytes);
  return after;
}

function upsertDocument(
  store: Store,
  collection: Collection,
  query: BsonDocument,
  update: Update,
): BsonDocument {
  const seed = seedOfUpsert(query);
  const base =
    update.kind === 'replacement' ? (getField(seed, '_id') === undefined ? {} : { _id: seed._id! }) : seed;
  return insertDocument(store, collection, update.apply(base, undefined, true));
}

function runUpdate(command: BsonDocument, context: CommandContext): CommandReply {
  const { store } = context;
  const name = collectionName(command);
  const variables = variablesOf(command);
  const upserted: Encodable[] = [];
  let n = 0;
  let nModified = 0;
  const result = eachWrite(documentsField(command, 'updates'), command.ordered !== false, (write, index) => {
    checkFields(
      write,
      ['q', 'u', 'c', 'multi', 'upsert', 'collation', 'arrayFilters', 'hint', 'sort'],
      'update.updates',
    );
    refuseCollation(write.collation);
    const query = documentField(write, 'q') ?? {};
    const multi = isSet(write.multi);
    if (write.c !== undefined)
      throw new CommandError(51198, 'Constant values may only be specified for pipeline updates');
    const update = updateFrom(write.u, write.arrayFilters);
    if (multi && update.kind === 'replacement')
      throw new CommandError('FailedToParse', 'multi update is not supported for replacement-style update');
    const filter = parseFilter(query, variables);
    const collection = isSet(write.upsert)
      ? collectionFor(context, name)
      : store.catalog.collection(context.database, name);
    if (!collection) return;
    const sort = parseSort(write.sort);
    const run = new QueryRun(store, collection, {
      filter,
      sort,
      hint: write.hint,
      limit: multi ? undefined : 1,
    });
    // An update may move a document ahead in the index that is being read.
    const done = new Set<number>();
    for (const found of run) {
      if (done.has(found.rowId)) continue;
      done.add(found.rowId);
      if (updateFound(store, collection, found, update)) nModified += 1;
      n += 1;
    }
    if (done.size > 0 || !isSet(write.upsert)) return;
    const document = upsertDocument(store, collection, query, update);
    upserted.push({ index, _id: document._id! });
    n += 1;
  });
  return { n, nModified, ...(upserted.length > 0 ? { upserted } : {}), ...result };
}

function checkFields(document: BsonDocument, known: readonly string[], where: string): void {
  const unknown = Object.keys(document).find((field) => !known.includes(field));
  if (unknown !== undefined)
    throw new CommandError(40415, `BSON field '${where}.${unknown}' is an unknown field.`);
}

function runDelete(command: BsonDocument, context: CommandContext): CommandReply {
  const { store } = context;
  const collection = store.catalog.collection(context.database, collectionName(command));
  const variables = variablesOf(command);
  let n = 0;
  const result = eachWrite(documentsField(command, 'deletes'), command.ordered !== false, (write) => {
    checkFields(write, ['q', 'limit', 'collation', 'hint'], 'delete.deletes');
    refuseCollation(write.collation);
    const filter = parseFilter(documentField(write, 'q') ?? {}, variables);
    const limit = toNumber(write.limit);
    if (limit !== 0 && limit !== 1)
      throw new CommandError(
        'FailedToParse',
        `The limit field in delete objects must be 0 or 1. Got ${limit}`,
      );
    if (!collection) return;
    const run = new QueryRun(store, collection, {
      filter,
      sort: [],
      hint: write.hint,
      limit: limit === 1 ? 1 : undefined,
    });
    for (const found of run) {
      store.remove(collection, found.rowId, found.document);
      n += 1;
    }
  });
  return { n, ...result };
}

function runFindAndModify(command: BsonDocument, context: CommandContext): CommandReply {
  const { store } = context;
  const name = collectionName(command);
  const remove = isSet(command.remove);
  const upsert = isSet(command.upsert);
  const wantsNew = isSet(command.new);
  if (remove === (command.update !== undefined))
    throw new CommandError('FailedToParse', 'Either an update or remove=true must be specified');
  if (remove && (upsert || wantsNew))
    throw new CommandError(
      'FailedToParse',
      `Cannot specify both ${upsert ? 'upsert=true' : 'new=true'} and remove=true`,
    );
  const query = documentField(command, 'query') ?? {};
  const variables = variablesOf(command);
  const filter: Filter = parseFilter(query, variables);
  const fields = documentField(command, 'fields');
  const projection =
    fields && Object.keys(fields).length > 0 ? parseProjection(fields, 'find', variables) : undefined;
  const update = remove ? undefined : updateFrom(command.update, command.arrayFilters);
  const show = (document: BsonDocument, position?: number): Encodable =>
    projection ? projection.apply(document, position) : document;
  const collection = upsert ? collectionFor(context, name) : store.catalog.collection(context.database, name);
  const hint = command.hint ?? naturalHint(command.sort);
  const found =
    collection &&
    new QueryRun(store, collection, { filter, sort: parseSort(command.sort), hint, limit: 1 }).next();
  if (collection && found) {
    if (!update) {
      const value = show(found.document, found.position);
      store.remove(collection, found.rowId, found.document);
      return { lastErrorObject: { n: 1 }, value };
    }
    const after = updateFound(store, collection, found, update);
    const value = !wantsNew
      ? show(found.document, found.position)
      : after
        ? show(after, found.position)
        : projection
          ? show(found.document, found.position)
          : new RawDocument(found.bytes);
    return { lastErrorObject: { n: 1, updatedExisting: true }, value };
  }
  if (!collection || !upsert || !update)
    return { lastErrorObject: update ? { n: 0, updatedExisting: false } : { n: 0 }, value: null };
  const made = upsertDocument(store, collection, query, update);
  return {
    lastErrorObject: { n: 1, updatedExisting: false, upserted: made._id! },
    value: wantsNew ? show(made) : null,
  };
}

const findAndModify: Command = {
  fields: [
    'query',
    'sort',
    'remove',
    'update',
    'new',
    'fields',
    'upsert',
    'bypassDocumentValidation',
    'arrayFilters',
    'hint',
  ],
  run: runFindAndModify,
};

/** Commands that change documents. */
export const writeCommands: Record<string, Command> = {
  insert: {
    fields: ['documents', 'ordered', 'bypassDocumentValidation'],
    run(command, context) {
      const name = collectionName(command);
      let n = 0;
      const documents = documentsField(command, 'documents');
      const collection = collectionFor(context, name);
      const result = eachWrite(documents, command.ordered !== false, (document) => {
        insertDocument(context.store, collection, document);
        n += 1;
      });
      return { n, ...result };
    },
  },
  update: { fields: ['updates', 'ordered', 'bypassDocumentValidation'], run: runUpdate },
  delete: { fields: ['deletes', 'ordered'], run: runDelete },
  findAndModify,
  findandmodify: findAndModify,
};
