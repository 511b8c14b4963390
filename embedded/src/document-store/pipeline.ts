import { compileAccumulator, type Accumulation } from './accumulators.ts';
import { compareValues } from './compare.ts';
import { CommandError } from './errors.ts';
import { compile, scopeFor, type Evaluate, type Names, type Variables } from './expression.ts';
import { keyText, sortKey, type KeyField } from './index-keys.ts';
import { equalsAny, matches, parseFilter, type Filter } from './matcher.ts';
import { wholeNumber } from './numbers.ts';
import { parseProjection } from './projection.ts';
import { QueryRun, type Query } from './query.ts';
import { parseSort } from './sort.ts';
import type { Store } from './store.ts';
import {
  getField,
  isDocument,
  isNumeric,
  setField,
  toNumber,
  typeName,
  type Bson,
  type BsonDocument,
} from './values.ts';

/** Where stages that read other collections find them. */
export interface PipelineSource {
  store: Store;
  database: string;
}

interface Environment {
  variables: Variables;
  source: PipelineSource | undefined;
}

type Documents = Iterable<BsonDocument>;
type Stage = (input: Documents) => Documents;

export interface Pipeline {
  /** Works on demand: documents are taken from `input` as the result is read. */
  run(input: Documents): Documents;
}

/** What of a pipeline the query planner can do, and the stages that are left. */
export interface SplitPipeline {
  query: Query;
  rest: Bson[];
}

const MAX_STAGES = 1000;
/** As a query's sort: more is refused. */
const MAX_SORTED_DOCUMENTS = 1_000_000;

/**
 * Compiles an aggregation pipeline.
 * @throws CommandError for stages that are unknown or not supported
 * @see https://www.mongodb.com/docs/manual/reference/operator/aggregation-pipeline/
 */
export function compilePipeline(
  stages: readonly Bson[],
  options: { forUpdate?: boolean; variables?: Variables; source?: PipelineSource },
): Pipeline {
  if (stages.length > MAX_STAGES)
    throw new CommandError(7749501, `Pipeline length must be no longer than ${MAX_STAGES} stages.`);
  const environment: Environment = { variables: options.variables ?? {}, source: options.source };
  const compiled = stages.map((stage) => {
    const [name, operand] = stageOf(stage);
    if (
      options.forUpdate &&
      !['$set', '$addFields', '$unset', '$project', '$replaceRoot', '$replaceWith'].includes(name)
    ) {
      throw new CommandError('InvalidOptions', `${name} is not allowed to be used within an update`);
    }
    const create = Object.hasOwn(stageTypes, name) ? stageTypes[name] : undefined;
    if (create) return create(operand, environment);
    if (name === '$changeStream')
      throw new CommandError(40573, 'The $changeStream stage is only supported on replica sets');
    throw new CommandError(40324, `Unrecognized pipeline stage name: '${name}'`);
  });
  return { run: (input) => compiled.reduce((documents, stage) => stage(documents), input) };
}

function stageOf(stage: Bson): [string, Bson] {
  const [entry, ...others] = isDocument(stage) ? Object.entries(stage) : [];
  if (!entry || others.length > 0)
    throw new CommandError(40323, 'A pipeline stage specification object must contain exactly one field.');
  return entry;
}

/** Takes `$match`, `$sort`, `$skip` and `$limit` from the front of a pipeline. */
export function splitPipeline(stages: readonly Bson[], variables: Variables): SplitPipeline {
  const rest = [...stages];
  const take = (name: string): Bson | undefined => {
    const stage = rest[0];
    if (!isDocument(stage) || !(name in stage) || Object.keys(stage).length !== 1) return undefined;
    rest.shift();
    return stage[name];
  };
  const filters: Filter[] = [];
  for (let match = take('$match'); match !== undefined; match = take('$match'))
    filters.push(matchFilter(match, variables));
  const sort = take('$sort');
  const query: Query = {
    filter: filters.length === 1 ? filters[0]! : { kind: 'and', filters },
    sort: parseSort(sort),
  };
  const skip = take('$skip');
  if (skip !== undefined) query.skip = countOf('$skip', skip, 0);
  const limit = take('$limit');
  if (limit !== undefined) query.limit = countOf('$limit', limit, 1);
  return { query, rest };
}

function matchFilter(operand: Bson, variables: Variables): Filter {
  if (!isDocument(operand))
    throw new CommandError(15959, 'the match filter must be an expression in an object');
  return parseFilter(operand, variables);
}

function countOf(name: string, operand: Bson, least: number): number {
  const count = wholeNumber(operand);
  if (count === undefined || count < least) {
    throw new CommandError(
      name === '$limit' ? 15958 : 5107200,
      `invalid argument to ${name} stage: Expected a ${least === 1 ? 'positive' : 'non-negative'} number`,
    );
  }
  return count;
}

function namesOf({ variables }: Environment): Names {
  return { constants: variables, local: new Set() };
}

function* map(input: Documents, change: (document: BsonDocument) => BsonDocument): Documents {
  for (const document of input) yield change(document);
}

function* sortDocuments(input: Documents, fields: readonly KeyField[]): Documents {
  const entries: { key: Buffer; document: BsonDocument }[] = [];
  for (const document of input) {
    entries.push({ key: sortKey(document, fields), document });
    if (entries.length > MAX_SORTED_DOCUMENTS) {
      throw new CommandError(
        'QueryExceededMemoryLimitNoDiskUseAllowed',
        `Sort exceeded the limit of ${MAX_SORTED_DOCUMENTS} documents`,
      );
    }
  }
  entries.sort((a, b) => Buffer.compare(a.key, b.key));
  for (const { document } of entries) yield document;
}

function group(operand: Bson, environment: Environment): Stage {
  if (!isDocument(operand)) throw new CommandError(15947, "a group's fields must be specified in an object");
  if (operand._id === undefined) throw new CommandError(15955, 'a group specification must include an _id');
  const names = namesOf(environment);
  const id = compile(operand._id, names);
  const fields = Object.entries(operand)
    .filter(([field]) => field !== '_id')
    .map(([field, spec]) => {
      if (field.includes('.')) throw new CommandError(40235, `The field name '${field}' cannot contain '.'`);
      if (field.startsWith('$'))
        throw new CommandError(40236, `The field name '${field}' cannot be an operator name`);
      return [field, compileAccumulator(spec, names)] as const;
    });
  return function* (input) {
    const groups = new Map<string, { id: Bson; accumulations: Accumulation[] }>();
    for (const document of input) {
      const scope = scopeFor(document);
      const key = id(scope) ?? null;
      const text = keyText(key);
      let found = groups.get(text);
      if (!found) {
        found = { id: key, accumulations: fields.map(([, start]) => start()) };
        groups.set(text, found);
      }
      for (const accumulation of found.accumulations) accumulation.add(scope);
    }
    for (const { id: key, accumulations } of groups.values()) {
      const result: BsonDocument = { _id: key };
      for (const [i, [field]] of fields.entries())
        setField(result, field, accumulations[i]!.result() ?? null);
      yield result;
    }
  };
}

function addFields(operand: Bson, environment: Environment): Stage {
  if (!isDocument(operand))
    throw new CommandError(
      40272,
      `$addFields specification stage must be an object, got ${typeName(operand)}`,
    );
  const fields: { path: string[]; evaluate: Evaluate }[] = [];
  const collect = (document: BsonDocument, above: string[]) => {
    for (const [field, value] of Object.entries(document)) {
      if (field === '') throw new CommandError(40352, 'FieldPath cannot be constructed with empty string');
      if (field.startsWith('$'))
        throw new CommandError(16410, `FieldPath field names may not start with '$'.`);
      const path = [...above, ...field.split('.')];
      const nested =
        isDocument(value) && Object.keys(value).length > 0 && !Object.keys(value)[0]!.startsWith('$');
      if (nested) collect(value, path);
      else fields.push({ path, evaluate: compile(value, namesOf(environment)) });
    }
  };
  collect(operand, []);
  for (const [i, { path }] of fields.entries()) {
    for (const { path: other } of fields.slice(0, i)) {
      const shorter = Math.min(path.length, other.length);
      if (path.slice(0, shorter).every((part, at) => part === other[at])) {
        throw new CommandError(
          40176,
          `specification contains two conflicting paths. Cannot specify both '${other.join('.')}' and '${path.join('.')}'`,
        );
      }
    }
  }
  return (input) =>
    map(input, (document) => {
      const scope = scopeFor(document);
      const values = fields.map(({ evaluate }) => evaluate(scope));
      return fields.reduce(
        (result, { path }, i) => withValue(result, path, 0, values[i]) as BsonDocument,
        document,
      );
    });
}

/** A copy in which the path has a value, in every element of arrays on the way; undefined takes the field away. */
function withValue(
  value: Bson | undefined,
  path: readonly string[],
  at: number,
  wanted: Bson | undefined,
): Bson | undefined {
  if (at === path.length) return wanted;
  if (Array.isArray(value)) return value.map((element) => withValue(element, path, at, wanted) ?? null);
  const copy: BsonDocument = isDocument(value) ? { ...value } : {};
  const part = path[at]!;
  const inner = withValue(getField(copy, part), path, at + 1, wanted);
  if (inner === undefined) delete copy[part];
  else setField(copy, part, inner);
  return copy;
}

function project(operand: Bson, environment: Environment): Stage {
  if (!isDocument(operand)) throw new CommandError(15969, '$project specification must be an object');
  if (Object.keys(operand).length === 0)
    throw new CommandError(51272, 'projection specification must have at least one field');
  const projection = parseProjection(operand, 'project', environment.variables);
  return (input) => map(input, (document) => projection.apply(document, undefined, scopeFor(document)));
}

function unset(operand: Bson): Stage {
  const fields = Array.isArray(operand) ? operand : [operand];
  if (fields.length === 0 || !fields.every((field) => typeof field === 'string'))
    throw new CommandError(31002, '$unset specification must be a string or an array of strings');
  const projection = parseProjection(Object.fromEntries(fields.map((field) => [field, 0])), 'project');
  return (input) => map(input, (document) => projection.apply(document, undefined, scopeFor(document)));
}

function unwind(operand: Bson): Stage {
  const options: BsonDocument = isDocument(operand) ? operand : { path: operand };
  if (typeof options.path !== 'string' || !options.path.startsWith('$') || options.path.length < 2) {
    throw new CommandError(
      28818,
      `path option to $unwind stage should be prefixed with a '$': ${String(options.path)}`,
    );
  }
  const path = options.path.slice(1).split('.');
  const index =
    typeof options.includeArrayIndex === 'string' ? options.includeArrayIndex.split('.') : undefined;
  const keep = options.preserveNullAndEmptyArrays === true;
  const read = compile(options.path, { constants: {}, local: new Set() });
  const place = (document: BsonDocument, value: Bson | undefined, i: number | null): BsonDocument => {
    let result = value === undefined ? document : (withValue(document, path, 0, value) as BsonDocument);
    if (index) result = withValue(result, index, 0, i === null ? null : BigInt(i)) as BsonDocument;
    return result;
  };
  return function* (input) {
    for (const document of input) {
      const value = read(scopeFor(document));
      if (!Array.isArray(value)) {
        if (value !== undefined && value !== null) yield place(document, undefined, null);
        else if (keep) yield place(document, undefined, null);
      } else if (value.length > 0) {
        for (const [i, element] of value.entries()) yield place(document, element, i);
      } else if (keep) {
        yield place(withValue(document, path, 0, undefined) as BsonDocument, undefined, null);
      }
    }
  };
}

function replaceRoot(operand: Bson, environment: Environment): Stage {
  const evaluate = compile(operand, namesOf(environment));
  return (input) =>
    map(input, (document) => {
      const root = evaluate(scopeFor(document));
      if (!isDocument(root))
        throw new CommandError(
          40228,
          `'newRoot' expression must evaluate to an object, but resulting value was of type ${typeName(root)}`,
        );
      return root;
    });
}

function needSource(name: string, { source }: Environment): PipelineSource {
  if (!source) throw new CommandError('InvalidOptions', `${name} is not allowed here`);
  return source;
}

/** Documents of a collection, which need not exist, through a pipeline. */
function* readCollection(
  { store, database }: PipelineSource,
  name: string,
  stages: readonly Bson[],
  variables: Variables,
  extra?: Filter,
): Documents {
  const collection = store.collection(database, name);
  const { query, rest } = splitPipeline(stages, variables);
  const filter: Filter = extra ? { kind: 'and', filters: [extra, query.filter] } : query.filter;
  const run = collection ? new QueryRun(store, collection, { ...query, filter }) : [];
  const input = (function* () {
    for (const found of run) yield found.document;
  })();
  yield* compilePipeline(rest, { variables, source: { store, database } }).run(input);
}

function lookup(operand: Bson, environment: Environment): Stage {
  const source = needSource('$lookup', environment);
  if (!isDocument(operand) || typeof operand.from !== 'string' || typeof operand.as !== 'string')
    throw new CommandError('FailedToParse', "$lookup needs 'from' and 'as' strings");
  for (const field in operand) {
    if (!['from', 'as', 'localField', 'foreignField', 'let', 'pipeline'].includes(field))
      throw new CommandError('FailedToParse', `unknown argument to $lookup: ${field}`);
  }
  const { from, localField, foreignField, pipeline = [] } = operand;
  if ((localField === undefined) !== (foreignField === undefined))
    throw new CommandError(
      'FailedToParse',
      '$lookup requires both or neither of localField and foreignField to be specified',
    );
  if (localField === undefined && operand.pipeline === undefined)
    throw new CommandError(
      'FailedToParse',
      "$lookup requires 'pipeline', or 'localField' and 'foreignField'",
    );
  if (!Array.isArray(pipeline)) throw new CommandError('FailedToParse', "'pipeline' option must be an array");
  const lets = Object.entries(isDocument(operand.let) ? operand.let : {}).map(
    ([name, value]) => [name, compile(value, namesOf(environment))] as const,
  );
  // Compiled once for its errors: they are due even if there is no document to look up for.
  compilePipeline(pipeline, {
    variables: { ...environment.variables, ...Object.fromEntries(lets.map(([name]) => [name, null])) },
    source,
  });
  const local = typeof localField === 'string' ? localField.split('.') : undefined;
  const as = operand.as.split('.');
  return (input) =>
    map(input, (document) => {
      const scope = scopeFor(document);
      const variables = {
        ...environment.variables,
        ...Object.fromEntries(lets.map(([name, evaluate]) => [name, evaluate(scope)])),
      };
      const match = local ? equalsAny(foreignField as string, valuesAt(document, local)) : undefined;
      return withValue(document, as, 0, [
        ...readCollection(source, from, pipeline, variables, match),
      ]) as BsonDocument;
    });
}

/** The values a path leads to: elements of arrays, null where there is nothing. */
function valuesAt(value: Bson | undefined, path: readonly string[]): Bson[] {
  if (Array.isArray(value))
    return value.length === 0 && path.length === 0
      ? []
      : value.flatMap((element) =>
          Array.isArray(element) && path.length === 0 ? [element] : valuesAt(element, path),
        );
  const [first, ...rest] = path;
  if (first === undefined) return [value ?? null];
  return valuesAt(isDocument(value) ? getField(value, first) : undefined, rest);
}

function facet(operand: Bson, environment: Environment): Stage {
  if (!isDocument(operand) || Object.keys(operand).length === 0)
    throw new CommandError(40169, 'the $facet specification must be a non-empty object');
  const facets = Object.entries(operand).map(([name, stages]) => {
    if (!Array.isArray(stages))
      throw new CommandError(40170, `arguments to $facet must be arrays, ${name} is not`);
    return [
      name,
      compilePipeline(stages, {
        variables: environment.variables,
        ...(environment.source ? { source: environment.source } : {}),
      }),
    ] as const;
  });
  return function* (input) {
    const documents = [...input];
    const result: BsonDocument = {};
    for (const [name, pipeline] of facets) setField(result, name, [...pipeline.run(documents)]);
    yield result;
  };
}

function bucket(operand: Bson, environment: Environment): Stage {
  if (!isDocument(operand) || operand.groupBy === undefined || !Array.isArray(operand.boundaries))
    throw new CommandError(40198, "$bucket requires 'groupBy' and 'boundaries' to be specified.");
  const { groupBy, boundaries, default: otherwise, output = { count: { $sum: 1 } } } = operand;
  if (boundaries.length < 2)
    throw new CommandError(40192, "The $bucket 'boundaries' field must have at least 2 values");
  for (const [i, boundary] of boundaries.entries()) {
    if (i > 0 && compareValues(boundaries[i - 1], boundary) >= 0)
      throw new CommandError(40194, "The 'boundaries' option to $bucket must be sorted in ascending order");
  }
  if (!isDocument(output)) throw new CommandError(40196, "The $bucket 'output' field must be an object");
  const value = compile(groupBy, namesOf(environment));
  const groups = group(
    {
      _id: '$_id',
      ...Object.fromEntries(Object.entries(output).map(([field, spec]) => [field, rebase(spec)])),
    },
    environment,
  );
  return function* (input) {
    const labelled = map(input, (document) => {
      const found = value(scopeFor(document)) ?? null;
      const at = boundaries.findIndex(
        (boundary, i) =>
          i + 1 < boundaries.length &&
          compareValues(found, boundary) >= 0 &&
          compareValues(found, boundaries[i + 1]) < 0,
      );
      if (at < 0 && otherwise === undefined)
        throw new CommandError(
          40066,
          '$switch could not find a matching branch for an input, and no default was specified.',
        );
      return { _id: at < 0 ? otherwise! : boundaries[at]!, document };
    });
    yield* sortDocuments(groups(labelled), [{ path: ['_id'], descending: false }]);
  };
}

/** An accumulator for documents that have been put one level down, into `document`. */
function rebase(spec: Bson): Bson {
  const [operator, operand] = stageOf(spec);
  return {
    [operator]:
      operator === '$count'
        ? operand
        : { $let: { vars: { bucketed: '$document' }, in: rebasePaths(operand) } },
  };
}

function rebasePaths(value: Bson): Bson {
  if (typeof value === 'string') {
    if (value.startsWith('$$ROOT') || value.startsWith('$$CURRENT'))
      return value.replace(/^\$\$(ROOT|CURRENT)/, '$$$$bucketed');
    return value.startsWith('$') && !value.startsWith('$$') ? `$$bucketed.${value.slice(1)}` : value;
  }
  if (Array.isArray(value)) return value.map(rebasePaths);
  if (!isDocument(value)) return value;
  if ('$literal' in value) return value;
  return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, rebasePaths(inner)]));
}

function* take(input: Documents, count: number): Documents {
  let left = count;
  for (const document of input) {
    yield document;
    left -= 1;
    if (left === 0) return;
  }
}

function* drop(input: Documents, count: number): Documents {
  let seen = 0;
  for (const document of input) if (++seen > count) yield document;
}

function sample(operand: Bson): Stage {
  const size = isDocument(operand) ? wholeNumber(operand.size) : undefined;
  if (size === undefined || size < 0)
    throw new CommandError(28747, 'size argument to $sample must be a positive number');
  return function* (input) {
    const chosen: BsonDocument[] = [];
    let seen = 0;
    for (const document of input) {
      seen += 1;
      if (chosen.length < size) chosen.push(document);
      else {
        const at = Math.floor(Math.random() * seen);
        if (at < size) chosen[at] = document;
      }
    }
    yield* chosen;
  };
}

function unionWith(operand: Bson, environment: Environment): Stage {
  const source = needSource('$unionWith', environment);
  const { coll, pipeline = [] } =
    typeof operand === 'string' ? { coll: operand } : isDocument(operand) ? operand : {};
  if (typeof coll !== 'string' || !Array.isArray(pipeline))
    throw new CommandError('FailedToParse', "$unionWith needs a collection's name");
  compilePipeline(pipeline, { variables: environment.variables, source });
  return function* (input) {
    yield* input;
    yield* readCollection(source, coll, pipeline, environment.variables);
  };
}

interface WindowOutput {
  path: string[];
  compute(partition: readonly BsonDocument[], keys: readonly Buffer[]): (Bson | undefined)[];
}

function setWindowFields(operand: Bson, environment: Environment): Stage {
  if (!isDocument(operand) || !isDocument(operand.output))
    throw new CommandError('FailedToParse', "$setWindowFields needs an 'output' object");
  const names = namesOf(environment);
  const partitionBy = operand.partitionBy === undefined ? () => null : compile(operand.partitionBy, names);
  const sort = parseSort(operand.sortBy);
  const outputs = Object.entries(operand.output).map(([field, spec]) =>
    windowOutput(field, spec, sort, names),
  );
  return function* (input) {
    const partitions = new Map<string, BsonDocument[]>();
    for (const document of sortDocuments(input, sort)) {
      const text = keyText(partitionBy(scopeFor(document)) ?? null);
      const partition = partitions.get(text);
      if (partition) partition.push(document);
      else partitions.set(text, [document]);
    }
    for (const [, partition] of [...partitions].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const keys = partition.map((document) => sortKey(document, sort));
      const columns = outputs.map((output) => output.compute(partition, keys));
      for (const [i, document] of partition.entries()) {
        yield outputs.reduce(
          (result, { path }, j) => withValue(result, path, 0, columns[j]![i] ?? null) as BsonDocument,
          document,
        );
      }
    }
  };
}

function windowOutput(field: string, spec: Bson, sort: readonly KeyField[], names: Names): WindowOutput {
  const path = field.split('.');
  if (!isDocument(spec))
    throw new CommandError('FailedToParse', `The window field '${field}' must be an object`);
  const { window, ...rest } = spec;
  const operator = Object.keys(rest)[0] ?? '';
  const ranks: Record<string, (keys: readonly Buffer[]) => Bson[]> = {
    $documentNumber: (keys) => keys.map((_, i) => i + 1),
    $rank: (keys) => keys.map((key) => keys.findIndex((other) => other.equals(key)) + 1),
    $denseRank: (keys) => {
      let rank = 0;
      return keys.map((key, i) => (i > 0 && key.equals(keys[i - 1]!) ? rank : ++rank));
    },
  };
  if (Object.hasOwn(ranks, operator)) {
    if (sort.length === 0)
      throw new CommandError(5371602, `${operator} must be specified with a top level sortBy expression`);
    return { path, compute: (_, keys) => ranks[operator]!(keys) };
  }
  if (operator === '$shift') {
    const shift = rest.$shift;
    const by = isDocument(shift) ? wholeNumber(shift.by) : undefined;
    if (!isDocument(shift) || by === undefined || sort.length === 0)
      throw new CommandError('FailedToParse', "$shift needs 'output', a whole 'by', and a sortBy");
    const output = compile(shift.output ?? null, names);
    const otherwise = shift.default === undefined ? null : shift.default;
    return {
      path,
      compute: (partition) =>
        partition.map((_, i) => (partition[i + by] ? output(scopeFor(partition[i + by]!)) : otherwise)),
    };
  }
  const start = compileAccumulator(rest, names);
  const bounds = isDocument(window) ? window.documents : undefined;
  if (
    window !== undefined &&
    !(isDocument(window) && Object.keys(window).every((key) => key === 'documents'))
  ) {
    throw new CommandError('FailedToParse', 'only windows of documents are supported by this store');
  }
  if (bounds !== undefined && !(Array.isArray(bounds) && bounds.length === 2))
    throw new CommandError('FailedToParse', 'Window bounds must be a 2-element array');
  if (bounds !== undefined && sort.length === 0)
    throw new CommandError(5339901, 'Document-based bounds require a sortBy');
  const [low, high] = (bounds as Bson[] | undefined) ?? ['unbounded', 'unbounded'];
  const edge = (bound: Bson | undefined, i: number, end: number): number => {
    if (bound === 'unbounded') return end;
    if (bound === 'current') return i;
    const offset = wholeNumber(bound);
    if (offset === undefined)
      throw new CommandError('FailedToParse', "Window bounds are numbers, 'current' or 'unbounded'");
    return i + offset;
  };
  return {
    path,
    compute(partition) {
      const scopes = partition.map(scopeFor);
      const last = partition.length - 1;
      if (low === 'unbounded' && high !== 'unbounded') {
        // Grows from document to document.
        const accumulation = start();
        let next = 0;
        return partition.map((_, i) => {
          for (const to = Math.min(edge(high, i, last), last); next <= to; next++)
            accumulation.add(scopes[next]!);
          return accumulation.result();
        });
      }
      if (low === 'unbounded') {
        const accumulation = start();
        for (const scope of scopes) accumulation.add(scope);
        const result = accumulation.result();
        return partition.map(() => result);
      }
      return partition.map((_, i) => {
        const accumulation = start();
        for (let j = Math.max(0, edge(low, i, 0)); j <= Math.min(last, edge(high, i, last)); j++)
          accumulation.add(scopes[j]!);
        return accumulation.result();
      });
    },
  };
}

const stageTypes: Record<string, (operand: Bson, environment: Environment) => Stage> = {
  $match: (operand, { variables }) => {
    const filter = matchFilter(operand, variables);
    return function* (input) {
      for (const document of input) if (matches(filter, document)) yield document;
    };
  },
  $sort: (operand) => {
    const fields = parseSort(operand);
    if (fields.length === 0) throw new CommandError(15976, '$sort stage must have at least one sort key');
    return (input) => sortDocuments(input, fields);
  },
  $limit: (operand) => {
    const count = countOf('$limit', operand, 1);
    return (input) => take(input, count);
  },
  $skip: (operand) => {
    const count = countOf('$skip', operand, 0);
    return (input) => drop(input, count);
  },
  $project: project,
  $addFields: addFields,
  $set: addFields,
  $unset: (operand) => unset(operand),
  $unwind: (operand) => unwind(operand),
  $group: group,
  $count: (operand, environment) => {
    if (typeof operand !== 'string' || operand === '' || operand.startsWith('$') || operand.includes('.'))
      throw new CommandError(40156, 'the count field must be a non-empty string without $ and .');
    const counting = group({ _id: null, [operand]: { $sum: 1 } }, environment);
    return (input) => map(counting(input), (document) => ({ [operand]: document[operand]! }));
  },
  $sortByCount: (operand, environment) => {
    const counting = group({ _id: operand, count: { $sum: 1 } }, environment);
    return (input) => sortDocuments(counting(input), [{ path: ['count'], descending: true }]);
  },
  $replaceRoot: (operand, environment) => {
    if (!isDocument(operand) || operand.newRoot === undefined)
      throw new CommandError(40231, 'no newRoot specified for the $replaceRoot stage');
    return replaceRoot(operand.newRoot, environment);
  },
  $replaceWith: replaceRoot,
  $lookup: lookup,
  $facet: facet,
  $bucket: bucket,
  $sample: (operand) => sample(operand),
  $unionWith: unionWith,
  $setWindowFields: setWindowFields,
};

/** Whether the pipeline only counts, as drivers' countDocuments does. @returns the field the count is for */
export function countsOnly(rest: readonly Bson[]): { id: Bson; field: string } | undefined {
  const [stage, ...others] = rest;
  if (!isDocument(stage) || others.length > 0 || !isDocument(stage.$group)) return undefined;
  const { _id: id, ...fields } = stage.$group;
  const [entry, ...more] = Object.entries(fields);
  if (!entry || more.length > 0 || id === undefined || !(id === null || isNumeric(id))) return undefined;
  const [field, spec] = entry;
  return isDocument(spec) && Object.keys(spec).length === 1 && toNumber(spec.$sum) === 1
    ? { id, field }
    : undefined;
}
