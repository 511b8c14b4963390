import { compileAccumulator } from '../expressions/accumulators.ts';
import { CommandError } from '../errors.ts';
import { compile, type Names, type Variables } from '../expressions/expression.ts';
import { parseFilter } from '../matching/filter-parser.ts';
import type { Filter } from '../matching/filter.ts';
import { keyText, sortKey, type KeyField } from '../storage/index-keys.ts';
import { matches } from '../matching/matcher.ts';
import { wholeNumber } from '../bson/numbers.ts';
import { parseProjection } from '../query/projection.ts';
import type { Query } from '../query/query.ts';
import { parseSort } from '../query/sort.ts';
import { unwind } from './unwind.ts';
import { isDocument, isNumeric, setField, toNumber, type Bson, type BsonDocument } from '../bson/values.ts';

export type Documents = Iterable<BsonDocument>;
export type Stage = (input: Documents) => Documents;

export interface StageType {
  /** What it is needed for: a row of the README's table. */
  purpose: string;
  /** @throws CommandError for operands it cannot take */
  compile(operand: Bson, names: Names): Stage;
}

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
/** Documents that are sorted, and groups that are made, in memory: more are refused. */
const MAX_HELD = 1_000_000;

/** The pipeline's stages by name. Any other is refused as MongoDB refuses what it does not know. */
export const stageTypes: Record<string, StageType> = {
  $match: {
    purpose: '`countDocuments` of every driver',
    compile(operand, { variables }) {
      const filter = matchFilter(operand, variables);
      return function* (input) {
        for (const document of input) if (matches(filter, document)) yield document;
      };
    },
  },
  $skip: {
    purpose: "`countDocuments` with `skip`, and a shell's pages",
    compile(operand) {
      const count = countOf('$skip', operand, 0);
      return (input) => drop(input, count);
    },
  },
  $limit: {
    purpose: '`countDocuments` with `limit`, by which a list tells how many there are at most',
    compile(operand) {
      const count = countOf('$limit', operand, 1);
      return (input) => take(input, count);
    },
  },
  $group: { purpose: '`countDocuments` of every driver, and figures by agent and day', compile: group },
  $sort: {
    purpose: 'groups in order',
    compile(operand) {
      const fields = parseSort(operand);
      if (fields.length === 0) throw new CommandError(15976, '$sort stage must have at least one sort key');
      return (input) => sortDocuments(input, fields);
    },
  },
  $project: {
    purpose: 'the fields that are looked at, and figures made of the fields of a group',
    compile(operand, { variables }) {
      if (!isDocument(operand)) throw new CommandError(15969, '$project specification must be an object');
      if (Object.keys(operand).length === 0)
        throw new CommandError(51272, 'projection specification must have at least one field');
      const projection = parseProjection(operand, 'project', variables);
      return (input) => map(input, (document) => projection.apply(document, undefined));
    },
  },
  $unwind: { purpose: 'groups by the elements of arrays, such as tags', compile: unwind },
  $count: {
    purpose: "a shell's count of what a pipeline gives",
    compile(operand, names) {
      if (typeof operand !== 'string' || operand === '' || operand.startsWith('$') || operand.includes('.'))
        throw new CommandError(40156, 'the count field must be a non-empty string without $ and .');
      const counting = group({ _id: null, count: { $sum: 1 } }, names);
      return (input) => map(counting(input), ({ count }) => ({ [operand]: count! }));
    },
  },
};

/**
 * Compiles an aggregation pipeline.
 * @param variables the values of the command's `let`
 * @throws CommandError for stages that are unknown or not supported
 * @see https://www.mongodb.com/docs/manual/reference/operator/aggregation-pipeline/
 */
export function compilePipeline(stages: readonly Bson[], variables: Variables): Pipeline {
  if (stages.length > MAX_STAGES)
    throw new CommandError(7749501, `Pipeline length must be no longer than ${MAX_STAGES} stages.`);
  const compiled = stages.map((stage) => {
    const [name, operand] = stageOf(stage);
    const type = Object.hasOwn(stageTypes, name) ? stageTypes[name] : undefined;
    if (type) return type.compile(operand, { variables });
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

function* map(input: Documents, change: (document: BsonDocument) => BsonDocument): Documents {
  for (const document of input) yield change(document);
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

function* sortDocuments(input: Documents, fields: readonly KeyField[]): Documents {
  const entries: { key: Buffer; document: BsonDocument }[] = [];
  for (const document of input) {
    entries.push({ key: sortKey(document, fields), document });
    checkHeld('Sort', entries.length);
  }
  entries.sort((a, b) => Buffer.compare(a.key, b.key));
  for (const { document } of entries) yield document;
}

function group(operand: Bson, names: Names): Stage {
  if (!isDocument(operand)) throw new CommandError(15947, "a group's fields must be specified in an object");
  const { _id, ...specs } = operand;
  if (_id === undefined) throw new CommandError(15955, 'a group specification must include an _id');
  const keyOf = compile(_id, names);
  const fields = Object.entries(specs).map(([field, spec]) => {
    if (field.includes('.')) throw new CommandError(40235, `The field name '${field}' cannot contain '.'`);
    if (field.startsWith('$'))
      throw new CommandError(40236, `The field name '${field}' cannot be an operator name`);
    return [field, compileAccumulator(field, spec, names)] as const;
  });
  const start = (key: Bson) => ({ key, accumulations: fields.map(([, begin]) => begin()) });
  return function* (input) {
    const groups = new Map<string, ReturnType<typeof start>>();
    for (const document of input) {
      const key = keyOf(document) ?? null;
      const text = keyText(key);
      let found = groups.get(text);
      if (!found) {
        found = start(key);
        groups.set(text, found);
        checkHeld('$group', groups.size);
      }
      for (const accumulation of found.accumulations) accumulation.add(document);
    }
    for (const { key, accumulations } of groups.values()) {
      const result: BsonDocument = { _id: key };
      for (const [i, [field]] of fields.entries()) setField(result, field, accumulations[i]!.result());
      yield result;
    }
  };
}

function checkHeld(what: string, count: number): void {
  if (count <= MAX_HELD) return;
  throw new CommandError(
    'QueryExceededMemoryLimitNoDiskUseAllowed',
    `${what} exceeded the limit of ${MAX_HELD} documents`,
  );
}
