import { cutFields } from '../bson/bson-decoder.ts';
import { RawDocument, type Encodable } from '../bson/bson-encoder.ts';
import type { Collection } from '../storage/catalog.ts';
import { compareValues } from '../bson/compare.ts';
import { sourceOf, type ResultSource } from '../protocol/cursors.ts';
import { CommandError } from '../errors.ts';
import { explainMissing, explainRun } from '../query/explain.ts';
import { parseFilter } from '../matching/filter-parser.ts';
import { keyText } from '../storage/index-keys.ts';
import { wholeNumber } from '../bson/numbers.ts';
import { compilePipeline, countsOnly, splitPipeline, type SplitPipeline } from '../aggregation/pipeline.ts';
import { parseProjection } from '../query/projection.ts';
import { QueryRun, countMatches, decidingFields, type Found, type Query } from '../query/query.ts';
import { naturalHint, parseSort } from '../query/sort.ts';
import { getField, isDocument, toNumber, typeName, type Bson, type BsonDocument } from '../bson/values.ts';
import {
  collectionName,
  countField,
  documentField,
  documentsField,
  isSet,
  variablesOf,
  type Command,
  type CommandContext,
  type CommandReply,
} from './commands.ts';

function findQuery(command: BsonDocument): Query {
  const limit = countField(command, 'limit');
  return {
    filter: parseFilter(documentField(command, 'filter') ?? {}, variablesOf(command)),
    sort: parseSort(command.sort),
    hint: command.hint ?? naturalHint(command.sort),
    skip: countField(command, 'skip') ?? 0,
    // Zero means all.
    limit: limit === 0 ? undefined : limit,
  };
}

function runFind(command: BsonDocument, context: CommandContext): CommandReply {
  const name = collectionName(command);
  for (const option of ['tailable', 'awaitData', 'returnKey', 'showRecordId', 'min', 'max']) {
    if (isSet(command[option]))
      throw new CommandError('BadValue', `the option '${option}' of find is not supported by this store`);
  }
  const query = findQuery(command);
  const fields = documentField(command, 'projection');
  const projection =
    fields && Object.keys(fields).length > 0
      ? parseProjection(fields, 'find', variablesOf(command))
      : undefined;
  const collection = context.store.catalog.collection(context.database, name);
  const namespace = `${context.database}.${name}`;
  if (!collection) return { cursor: { id: 0n, ns: namespace, firstBatch: [] } };
  const fieldsShown = projection?.wholeFields;
  // What goes out as it is stored: no more of it is decoded than decides.
  const raw = !projection || fieldsShown !== undefined;
  const run = new QueryRun(context.store, collection, query, raw ? decidingFields(query) : undefined);
  const show = ({ document, bytes, position }: Found) => {
    if (fieldsShown) return new RawDocument(cutFields(bytes, fieldsShown));
    return projection ? projection.apply(document, position) : new RawDocument(bytes);
  };
  const source = sourceOf(mapped(run, show), () => run.pause());
  const { id, documents } = context.cursors.open(namespace, source, {
    batchSize: countField(command, 'batchSize'),
    single: isSet(command.singleBatch),
    session: context.session,
  });
  return { cursor: { id, ns: namespace, firstBatch: documents } };
}

function* mapped<A, B>(input: Iterable<A>, change: (item: A) => B): Generator<B> {
  for (const item of input) yield change(item);
}

/** The pipeline of an aggregate command, split, and the collection it reads. */
function splitAggregate(
  command: BsonDocument,
  context: CommandContext,
): { name: string; collection: Collection | undefined; split: SplitPipeline } {
  const stages = documentsField(command, 'pipeline');
  if (typeof command.aggregate !== 'string') {
    const [first] = stages;
    if (first && '$changeStream' in first)
      throw new CommandError(40573, 'The $changeStream stage is only supported on replica sets');
    throw new CommandError(
      'InvalidNamespace',
      'aggregation over a whole database is not supported by this store',
    );
  }
  const name = collectionName(command);
  const split = splitPipeline(stages, variablesOf(command));
  if (command.hint !== undefined) split.query.hint = command.hint;
  return { name, collection: context.store.catalog.collection(context.database, name), split };
}

function runAggregate(command: BsonDocument, context: CommandContext): CommandReply {
  if (isSet(command.explain)) return explain({ ...command, explain: false }, 'queryPlanner', context);
  const cursor = documentField(command, 'cursor');
  if (!cursor)
    throw new CommandError(
      'FailedToParse',
      "The 'cursor' option is required, except for aggregate with the explain argument",
    );
  const { name, collection, split } = splitAggregate(command, context);
  const { store, database, cursors, session } = context;
  const pipeline = compilePipeline(split.rest, variablesOf(command));
  const counted = countsOnly(split.rest);
  let source: ResultSource;
  if (counted && collection) {
    const n = countMatches(store, collection, split.query);
    source = sourceOf((n === 0 ? [] : [{ _id: counted.id, [counted.field]: n }]).values(), () => undefined);
  } else {
    const run = collection ? new QueryRun(store, collection, split.query) : undefined;
    const plain = split.rest.length === 0;
    const results: Iterator<RawDocument | BsonDocument> = plain
      ? mapped(run ?? [], ({ bytes }) => new RawDocument(bytes))
      : pipeline.run(mapped(run ?? [], ({ document }) => document))[Symbol.iterator]();
    source = sourceOf(results, () => run?.pause());
  }
  const namespace = `${database}.${name}`;
  const { id, documents } = cursors.open(namespace, source, {
    batchSize: countField(cursor, 'batchSize'),
    single: false,
    session,
  });
  return { cursor: { id, ns: namespace, firstBatch: documents } };
}

function countQuery(command: BsonDocument): Query {
  const limit = wholeNumber(command.limit);
  return {
    filter: parseFilter(documentField(command, 'query') ?? {}, variablesOf(command)),
    sort: [],
    hint: command.hint,
    skip: countField(command, 'skip') ?? 0,
    // A negative limit means the same as its absolute value.
    limit: limit ? Math.abs(limit) : undefined,
  };
}

function runDistinct(command: BsonDocument, { store, database }: CommandContext): CommandReply {
  const { key } = command;
  if (typeof key !== 'string' || key === '')
    throw new CommandError(
      'TypeMismatch',
      `BSON field 'distinct.key' is the wrong type '${typeName(key)}', expected type 'string'`,
    );
  const filter = parseFilter(documentField(command, 'query') ?? {}, variablesOf(command));
  const collection = store.catalog.collection(database, collectionName(command));
  if (!collection) return { values: [] };
  const values = new Map<string, Bson>();
  const path = key.split('.');
  for (const { document } of new QueryRun(store, collection, { filter, sort: [], hint: command.hint })) {
    for (const value of distinctValues(document, path, 0)) values.set(keyText(value), value);
  }
  return { values: [...values.values()].sort(compareValues) };
}

function* distinctValues(value: Bson | undefined, path: readonly string[], at: number): Generator<Bson> {
  if (at === path.length) {
    if (Array.isArray(value)) yield* value;
    else if (value !== undefined) yield value;
  } else if (Array.isArray(value)) {
    const position = Number(path[at]);
    if (Number.isInteger(position) && position < value.length)
      yield* distinctValues(value[position], path, at + 1);
    for (const element of value) if (isDocument(element)) yield* distinctValues(element, path, at);
  } else if (isDocument(value)) {
    yield* distinctValues(getField(value, path[at]!), path, at + 1);
  }
}

/** Plans the explained command as running it would, and runs its search when statistics are wanted. */
function explain(command: BsonDocument, verbosity: string, context: CommandContext): CommandReply {
  const name = Object.keys(command)[0] ?? '';
  const collection = context.store.catalog.collection(context.database, collectionName(command));
  let query: Query;
  let rest: Bson[] = [];
  let count = false;
  switch (name) {
    case 'find':
      query = findQuery(command);
      break;
    case 'count':
      query = countQuery(command);
      count = true;
      break;
    case 'aggregate': {
      const { split } = splitAggregate(command, context);
      query = split.query;
      rest = split.rest;
      count = countsOnly(rest) !== undefined;
      compilePipeline(rest, variablesOf(command));
      break;
    }
    case 'distinct':
      query = {
        filter: parseFilter(documentField(command, 'query') ?? {}, variablesOf(command)),
        sort: [],
        hint: command.hint,
      };
      break;
    case 'findAndModify':
    case 'findandmodify':
      query = {
        filter: parseFilter(documentField(command, 'query') ?? {}, variablesOf(command)),
        sort: parseSort(command.sort),
        hint: command.hint,
        limit: 1,
      };
      break;
    case 'update':
    case 'delete': {
      const [write] = documentsField(command, name === 'update' ? 'updates' : 'deletes');
      if (!write) throw new CommandError('InvalidLength', 'there is no write to explain');
      const one = name === 'update' ? !isSet(write.multi) : toNumber(write.limit) === 1;
      query = {
        filter: parseFilter(documentField(write, 'q') ?? {}, variablesOf(command)),
        sort: [],
        hint: write.hint,
        limit: one ? 1 : undefined,
      };
      break;
    }
    default:
      throw new CommandError('CommandNotFound', `Explain failed due to unknown command: ${name}`);
  }
  const namespace = `${context.database}.${collectionName(command)}`;
  const explained = collection
    ? explainRun(context.store, collection, query, { namespace, verbosity, count: count && rest.length <= 1 })
    : explainMissing(namespace, verbosity);
  const general: CommandReply = {
    command: shown(command),
    serverInfo: { host: 'localhost', version: '7.0.0' },
  };
  if (rest.length === 0 || count) return { explainVersion: '1', ...explained, ...general };
  return { explainVersion: '1', stages: [{ $cursor: explained }, ...rest], ...general };
}

function shown(command: BsonDocument): Encodable {
  const { $db: _, lsid: __, ...rest } = command;
  return rest;
}

const findFields = [
  'filter',
  'sort',
  'projection',
  'hint',
  'skip',
  'limit',
  'batchSize',
  'singleBatch',
  'max',
  'min',
  'returnKey',
  'showRecordId',
  'tailable',
  'awaitData',
  'oplogReplay',
  'noCursorTimeout',
  'allowPartialResults',
  'allowDiskUse',
];

/** Commands that read documents. */
export const readCommands: Record<string, Command> = {
  find: { fields: findFields, run: runFind },
  getMore: {
    fields: ['collection', 'batchSize'],
    run(command, { cursors, database }) {
      const id = command.getMore;
      if (typeof id !== 'bigint')
        throw new CommandError(
          'TypeMismatch',
          "BSON field 'getMore.getMore' is the wrong type, expected type 'long'",
        );
      if ('maxTimeMS' in command)
        throw new CommandError(
          'BadValue',
          'cannot set maxTimeMS on getMore command for a non-awaitData cursor',
        );
      const namespace = `${database}.${String(command.collection)}`;
      const batchSize = countField(command, 'batchSize');
      const batch = cursors.more(id, namespace, batchSize === 0 ? undefined : batchSize);
      return { cursor: { id: batch.id, ns: namespace, nextBatch: batch.documents } };
    },
  },
  aggregate: {
    fields: ['pipeline', 'cursor', 'explain', 'allowDiskUse', 'bypassDocumentValidation', 'hint'],
    run: runAggregate,
  },
  count: {
    fields: ['query', 'limit', 'skip', 'hint', 'fields'],
    run(command, { store, database }) {
      const query = countQuery(command);
      const collection = store.catalog.collection(database, collectionName(command));
      return { n: collection ? countMatches(store, collection, query) : 0 };
    },
  },
  distinct: { fields: ['key', 'query', 'hint'], run: runDistinct },
  explain: {
    fields: ['verbosity'],
    run(command, context) {
      const explained = documentField(command, 'explain')!;
      const verbosity = typeof command.verbosity === 'string' ? command.verbosity : 'allPlansExecution';
      if (!['queryPlanner', 'executionStats', 'allPlansExecution'].includes(verbosity))
        throw new CommandError(
          'FailedToParse',
          "verbosity string must be one of {'queryPlanner', 'executionStats', 'allPlansExecution'}",
        );
      return explain(explained, verbosity, context);
    },
  },
};
