import { Binary } from 'bson';
import { createHash } from 'node:crypto';
import type { Collection, Index } from '../storage/catalog.ts';
import { equalValues } from '../bson/compare.ts';
import { sourceOf } from '../protocol/cursors.ts';
import { CommandError } from '../errors.ts';
import { parseFilter } from '../matching/filter-parser.ts';
import type { Filter } from '../matching/filter.ts';
import { matches } from '../matching/matcher.ts';
import { wholeNumber } from '../bson/numbers.ts';
import { shellText } from '../bson/shell-text.ts';
import { isDocument, toNumber, typeName, type Bson, type BsonDocument } from '../bson/values.ts';
import {
  checkCollectionName,
  collectionFor,
  collectionName,
  countField,
  documentField,
  documentsField,
  isSet,
  refuseCollation,
  type Command,
  type CommandContext,
} from './commands.ts';

function existing(context: CommandContext, name: string): Collection {
  const collection = context.store.catalog.collection(context.database, name);
  if (!collection)
    throw new CommandError('NamespaceNotFound', `ns does not exist: ${context.database}.${name}`);
  return collection;
}

/** MongoDB's name for an index that was given none. */
function defaultName(key: BsonDocument): string {
  return Object.entries(key)
    .map(([field, direction]) => `${field}_${toNumber(direction) ?? String(direction)}`)
    .join('_');
}

const indexOptions = new Set([
  'v',
  'key',
  'name',
  'unique',
  'sparse',
  'background',
  'expireAfterSeconds',
  'partialFilterExpression',
  'collation',
  'hidden',
  'ns',
]);

/** Checks an index specification and gives it the form in which it is kept. */
function normalizeIndex(spec: BsonDocument): BsonDocument {
  const { key } = spec;
  if (!isDocument(key) || Object.keys(key).length === 0)
    throw new CommandError('CannotCreateIndex', 'Index keys cannot be empty.');
  for (const [field, direction] of Object.entries(key)) {
    if (typeof direction === 'string')
      throw new CommandError(
        'CannotCreateIndex',
        `Unknown index plugin '${direction}': ${direction} indexes are not supported by this store`,
      );
    const order = toNumber(direction);
    if (order === undefined || order === 0 || Number.isNaN(order))
      throw new CommandError(
        'CannotCreateIndex',
        `Values in v:2 index key pattern must be numbers other than 0, or strings: ${field}`,
      );
    if (field === '' || field.split('.').includes(''))
      throw new CommandError('CannotCreateIndex', 'Index keys cannot contain an empty field.');
    if (field.split('.').some((part) => part.startsWith('$')))
      throw new CommandError(
        'CannotCreateIndex',
        "Index key contains an illegal field name: field name starts with '$'.",
      );
  }
  for (const option in spec) {
    if (!indexOptions.has(option))
      throw new CommandError(
        'InvalidIndexSpecificationOption',
        `The field '${option}' is not valid for an index specification.`,
      );
  }
  refuseCollation(spec.collation);
  if (isSet(spec.hidden))
    throw new CommandError('CannotCreateIndex', 'hidden indexes are not supported by this store');
  const normal: BsonDocument = {
    v: 2,
    key,
    name: typeof spec.name === 'string' ? spec.name : defaultName(key),
  };
  if (isSet(spec.unique)) normal.unique = true;
  if (isSet(spec.sparse)) normal.sparse = true;
  if (spec.expireAfterSeconds !== undefined) {
    const seconds = toNumber(spec.expireAfterSeconds);
    if (seconds === undefined || seconds < 0 || seconds > 0x7fffffff)
      throw new CommandError(
        'CannotCreateIndex',
        `TTL index 'expireAfterSeconds' option must be within the range of 0 to 2147483647`,
      );
    if (Object.keys(key).length > 1 || '_id' in key)
      throw new CommandError(
        'CannotCreateIndex',
        'TTL indexes are single-field indexes, compound indexes do not support TTL',
      );
    normal.expireAfterSeconds = spec.expireAfterSeconds;
  }
  if (spec.partialFilterExpression !== undefined) {
    if (!isDocument(spec.partialFilterExpression))
      throw new CommandError(
        'CannotCreateIndex',
        `'partialFilterExpression' for an index has to be a document`,
      );
    if (normal.sparse)
      throw new CommandError(
        'CannotCreateIndex',
        'cannot mix "partialFilterExpression" and "sparse" options',
      );
    checkPartialFilter(parseFilter(spec.partialFilterExpression));
    normal.partialFilterExpression = spec.partialFilterExpression;
  }
  return normal;
}

const partialPredicates = new Set(['eq', 'in', 'gt', 'gte', 'lt', 'lte', 'exists', 'type']);

/** MongoDB allows conditions only that a query can be seen to imply. */
function checkPartialFilter(filter: Filter): void {
  if (filter.kind === 'and' || filter.kind === 'or') {
    for (const part of filter.filters) checkPartialFilter(part);
  } else if (filter.kind !== 'field' || !partialPredicates.has(filter.predicate.kind)) {
    throw new CommandError('CannotCreateIndex', 'unsupported expression in partial index');
  }
}

/**
 * @returns true when the collection has that very index already
 * @throws CommandError when it has one of that name that is different, or the same one under another name
 */
function alreadyThere(collection: Collection, spec: BsonDocument): boolean {
  const key = spec.key as BsonDocument;
  if ('_id' in key && Object.keys(key).length === 1) return true;
  const sameKind = ({ keyPattern, unique, sparse, spec: other }: Index) =>
    equalValues(keyPattern, key) &&
    unique === isSet(spec.unique) &&
    sparse === isSet(spec.sparse) &&
    equalValues(other.partialFilterExpression, spec.partialFilterExpression);
  const sameName = collection.indexes.find(({ name }) => name === spec.name);
  if (sameName) {
    if (!sameKind(sameName)) {
      throw new CommandError(
        'IndexKeySpecsConflict',
        `An existing index has the same name as the requested index. Requested index: ${shellText(spec)}, existing index: ${shellText(sameName.spec)}`,
      );
    }
    if (equalValues(sameName.spec.expireAfterSeconds, spec.expireAfterSeconds)) return true;
    throw new CommandError(
      'IndexOptionsConflict',
      `An equivalent index already exists with the same name but different options. Requested index: ${shellText(spec)}, existing index: ${shellText(sameName.spec)}`,
    );
  }
  const other = collection.indexes.find(sameKind);
  if (!other) return false;
  throw new CommandError('IndexOptionsConflict', `Index already exists with a different name: ${other.name}`);
}

function indexesToDrop(collection: Collection, wanted: Bson | undefined): Index[] {
  if (wanted === '*') return collection.indexes.filter(({ name }) => name !== '_id_');
  const list = Array.isArray(wanted) ? wanted : [wanted];
  return list.map((one) => {
    const index = collection.indexes.find(({ name, keyPattern }) =>
      isDocument(one) ? equalValues(keyPattern, one) : name === one,
    );
    if (!index) {
      const message = isDocument(one)
        ? `can't find index with key: ${shellText(one)}`
        : `index not found with name [${typeof one === 'string' ? one : typeName(one)}]`;
      throw new CommandError('IndexNotFound', message);
    }
    if (index.name === '_id_') throw new CommandError('InvalidOptions', 'cannot drop _id index');
    return index;
  });
}

/** A stable UUID for a collection, made of its number. */
function uuidOf(collection: Collection): Binary {
  return new Binary(
    createHash('sha256').update(`collection ${collection.id}`).digest().subarray(0, 16),
    Binary.SUBTYPE_UUID,
  );
}

/** Commands about collections and indexes. */
export const catalogCommands: Record<string, Command> = {
  create: {
    fields: [
      'capped',
      'size',
      'max',
      'autoIndexId',
      'validator',
      'validationLevel',
      'validationAction',
      'timeseries',
      'viewOn',
      'pipeline',
      'clusteredIndex',
      'expireAfterSeconds',
      'storageEngine',
      'indexOptionDefaults',
      'changeStreamPreAndPostImages',
    ],
    run(command, context) {
      const name = collectionName(command);
      for (const option of [
        'capped',
        'validator',
        'timeseries',
        'viewOn',
        'clusteredIndex',
        'expireAfterSeconds',
        'changeStreamPreAndPostImages',
      ]) {
        const value = command[option];
        if (isSet(value) && !(isDocument(value) && Object.keys(value).length === 0)) {
          throw new CommandError(
            'InvalidOptions',
            `the option '${option}' of create is not supported by this store`,
          );
        }
      }
      if (context.store.catalog.collection(context.database, name)) {
        throw new CommandError('NamespaceExists', `Collection ${context.database}.${name} already exists.`);
      }
      context.store.catalog.createCollection(context.database, name);
      return {};
    },
  },
  drop: {
    fields: [],
    run(command, context) {
      const collection = context.store.catalog.collection(context.database, collectionName(command));
      // As MongoDB since 7.0: dropping what is not there is no error.
      if (!collection) return {};
      const nIndexesWas = collection.indexes.length;
      context.store.catalog.dropCollection(collection);
      return { ns: `${context.database}.${collection.name}`, nIndexesWas };
    },
  },
  dropDatabase: {
    fields: [],
    run(_, { store, database }) {
      for (const collection of store.catalog.collections(database)) store.catalog.dropCollection(collection);
      return { dropped: database };
    },
  },
  renameCollection: {
    fields: ['to', 'dropTarget'],
    run(command, { store }) {
      const [from, to] = [command.renameCollection, command.to].map((namespace) => {
        if (typeof namespace !== 'string' || !namespace.includes('.'))
          throw new CommandError('InvalidNamespace', 'renameCollection takes full namespaces');
        return [
          namespace.slice(0, namespace.indexOf('.')),
          checkCollectionName(namespace.slice(namespace.indexOf('.') + 1)),
        ] as const;
      }) as [readonly [string, string], readonly [string, string]];
      const source = store.catalog.collection(...from);
      if (!source)
        throw new CommandError('NamespaceNotFound', `Source collection ${from.join('.')} does not exist`);
      const target = store.catalog.collection(...to);
      if (target && !isSet(command.dropTarget))
        throw new CommandError('NamespaceExists', 'target namespace exists');
      if (target) store.catalog.dropCollection(target);
      store.catalog.renameCollection(source, ...to);
      return {};
    },
  },
  listCollections: {
    fields: ['filter', 'nameOnly', 'cursor', 'authorizedCollections'],
    run(command, { store, database, cursors, session }) {
      const filter = parseFilter(documentField(command, 'filter') ?? {});
      const found = store.catalog.collections(database).map((collection): BsonDocument => {
        const short: BsonDocument = { name: collection.name, type: 'collection' };
        if (isSet(command.nameOnly)) return short;
        return {
          ...short,
          options: collection.options,
          info: { readOnly: false, uuid: uuidOf(collection) },
          idIndex: { v: 2, key: { _id: 1 }, name: '_id_' },
        };
      });
      const namespace = `${database}.$cmd.listCollections`;
      const source = sourceOf(
        found.filter((document) => matches(filter, document)).values(),
        () => undefined,
      );
      const batchSize = countField(documentField(command, 'cursor') ?? {}, 'batchSize');
      const { id, documents } = cursors.open(namespace, source, { batchSize, single: false, session });
      return { cursor: { id, ns: namespace, firstBatch: documents } };
    },
  },
  createIndexes: {
    fields: ['indexes', 'commitQuorum', 'ignoreUnknownIndexOptions'],
    run(command, context) {
      const name = collectionName(command);
      const specs = documentsField(command, 'indexes').map(normalizeIndex);
      if (specs.length === 0) throw new CommandError('BadValue', 'Must specify at least one index to create');
      const createdCollectionAutomatically =
        context.store.catalog.collection(context.database, name) === undefined;
      const collection = collectionFor(context, name);
      const numIndexesBefore = collection.indexes.length;
      for (const spec of specs)
        if (!alreadyThere(collection, spec)) context.store.createIndex(collection, spec);
      const numIndexesAfter = collection.indexes.length;
      return {
        numIndexesBefore,
        numIndexesAfter,
        createdCollectionAutomatically,
        ...(numIndexesBefore === numIndexesAfter ? { note: 'all indexes already exist' } : {}),
      };
    },
  },
  listIndexes: {
    fields: ['cursor', 'includeBuildUUIDs', 'includeIndexBuildInfo'],
    run(command, context) {
      const collection = existing(context, collectionName(command));
      const namespace = `${context.database}.${collection.name}`;
      const source = sourceOf(collection.indexes.map(({ spec }) => spec).values(), () => undefined);
      const batchSize = countField(documentField(command, 'cursor') ?? {}, 'batchSize');
      const { id, documents } = context.cursors.open(namespace, source, {
        batchSize,
        single: false,
        session: context.session,
      });
      return { cursor: { id, ns: namespace, firstBatch: documents } };
    },
  },
  dropIndexes: {
    fields: ['index'],
    run(command, context) {
      const collection = existing(context, collectionName(command));
      const nIndexesWas = collection.indexes.length;
      for (const index of indexesToDrop(collection, command.index))
        context.store.catalog.dropIndex(collection, index);
      return { nIndexesWas };
    },
  },
  collMod: {
    fields: ['index', 'validator', 'validationLevel', 'validationAction'],
    run(command, context) {
      const collection = existing(context, collectionName(command));
      const change = documentField(command, 'index');
      if (!change || 'validator' in command)
        throw new CommandError(
          'InvalidOptions',
          'collMod changes the expiry of an index only, in this store',
        );
      const index = collection.indexes.find(
        ({ name, keyPattern }) =>
          name === change.name ||
          (isDocument(change.keyPattern) && equalValues(keyPattern, change.keyPattern)),
      );
      if (!index)
        throw new CommandError(
          'IndexNotFound',
          `cannot find index for ns ${context.database}.${collection.name}`,
        );
      const seconds = toNumber(change.expireAfterSeconds);
      if (seconds === undefined || seconds < 0)
        throw new CommandError('InvalidOptions', 'expireAfterSeconds field must be a number');
      const before = index.expireAfterSeconds;
      context.store.catalog.setExpiry(index, seconds);
      return {
        ...(before === undefined ? {} : { expireAfterSeconds_old: before }),
        expireAfterSeconds_new: seconds,
      };
    },
  },
  collStats: {
    fields: ['scale'],
    run(command, context) {
      const collection = context.store.catalog.collection(context.database, collectionName(command));
      const scale = wholeNumber(command.scale) ?? 1;
      const namespace = `${context.database}.${collectionName(command)}`;
      if (!collection)
        return {
          ns: namespace,
          count: 0,
          size: 0,
          storageSize: 0,
          nindexes: 0,
          totalIndexSize: 0,
          indexSizes: {},
          scaleFactor: scale,
        };
      const count = context.store.count(collection);
      const documents = context.store.documentBytes(collection);
      return {
        ns: namespace,
        count,
        size: Math.floor(documents / scale),
        avgObjSize: count === 0 ? 0 : Math.floor(documents / count),
        storageSize: Math.floor(documents / scale),
        capped: false,
        nindexes: collection.indexes.length,
        scaleFactor: scale,
      };
    },
  },
  dbStats: {
    fields: ['scale', 'freeStorage'],
    run(command, { store, database }) {
      const collections = store.catalog.collections(database);
      const scale = wholeNumber(command.scale) ?? 1;
      const dataSize = collections.reduce((sum, collection) => sum + store.documentBytes(collection), 0);
      return {
        db: database,
        collections: collections.length,
        views: 0,
        objects: collections.reduce((sum, collection) => sum + store.count(collection), 0),
        dataSize: Math.floor(dataSize / scale),
        storageSize: Math.floor(store.fileBytes() / scale),
        indexes: collections.reduce((sum, collection) => sum + collection.indexes.length, 0),
        scaleFactor: scale,
      };
    },
  },
};
