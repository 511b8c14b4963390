import type { Encodable } from '../bson/bson-encoder.ts';
import type { Collection } from '../storage/catalog.ts';
import type { IndexPlan, Plan } from './planner.ts';
import { QueryRun, countMatches, type Query } from './query.ts';
import type { Store } from '../storage/store.ts';

type Fields = { [field: string]: Encodable };

interface ExplainOptions {
  namespace: string;
  verbosity: string;
  /** The matches are only counted. */
  count: boolean;
}

/** What MongoDB's explain says of a query, by the plan that really runs; with its figures, when it is to be run. */
export function explainRun(
  store: Store,
  collection: Collection,
  query: Query,
  options: ExplainOptions,
): Fields {
  const run = new QueryRun(store, collection, query);
  const byKeys = options.count && run.plan.kind === 'index' && run.plan.exact;
  const winningPlan = stages(run.plan, query, byKeys);
  const explained: Fields = {
    queryPlanner: { namespace: options.namespace, indexFilterSet: false, winningPlan, rejectedPlans: [] },
  };
  if (options.verbosity === 'queryPlanner') return explained;
  const started = performance.now();
  let nReturned = 0;
  let keys = 0;
  let documents = 0;
  if (byKeys) {
    nReturned = countMatches(store, collection, query);
    keys = nReturned + (query.skip ?? 0);
  } else if (!(options.count && query.filter.kind === 'and' && query.filter.filters.length === 0)) {
    for (const _ of run) nReturned += 1;
    keys = run.stats.keysExamined;
    documents = run.stats.documentsExamined;
  } else {
    nReturned = store.count(collection);
  }
  explained.executionStats = {
    executionSuccess: true,
    nReturned,
    executionTimeMillis: Math.round(performance.now() - started),
    totalKeysExamined: keys,
    totalDocsExamined: documents,
    executionStages: winningPlan,
  };
  return explained;
}

export function explainMissing(namespace: string, verbosity: string): Fields {
  const winningPlan = { stage: 'EOF' };
  const explained: Fields = {
    queryPlanner: { namespace, indexFilterSet: false, winningPlan, rejectedPlans: [] },
  };
  if (verbosity !== 'queryPlanner') {
    explained.executionStats = {
      executionSuccess: true,
      nReturned: 0,
      executionTimeMillis: 0,
      totalKeysExamined: 0,
      totalDocsExamined: 0,
      executionStages: winningPlan,
    };
  }
  return explained;
}

function stages(plan: Plan, query: Query, byKeys: boolean): Fields {
  let stage = found(plan, byKeys);
  if (!plan.sorted) {
    const sortPattern = Object.fromEntries(
      query.sort.map(({ path, descending }) => [path.join('.'), descending ? -1 : 1]),
    );
    stage = { stage: 'SORT', sortPattern, memLimit: 104857600, type: 'simple', inputStage: stage };
  }
  if (query.skip) stage = { stage: 'SKIP', skipAmount: query.skip, inputStage: stage };
  if (query.limit !== undefined) stage = { stage: 'LIMIT', limitAmount: query.limit, inputStage: stage };
  return stage;
}

function found(plan: Plan, byKeys: boolean): Fields {
  switch (plan.kind) {
    case 'collection':
      return { stage: 'COLLSCAN', direction: plan.direction === 1 ? 'forward' : 'backward' };
    case 'union':
      return {
        stage: 'FETCH',
        inputStage: { stage: 'OR', inputStages: plan.plans.map((part) => indexScan(part, 'IXSCAN')) },
      };
    case 'index':
      if (byKeys) return { stage: 'COUNT', inputStage: indexScan(plan, 'COUNT_SCAN') };
      return {
        stage: 'FETCH',
        inputStage: plan.merged
          ? { stage: 'SORT_MERGE', inputStages: [indexScan(plan, 'IXSCAN')] }
          : indexScan(plan, 'IXSCAN'),
      };
  }
}

function indexScan({ index, direction, bounds }: IndexPlan, stage: string): Fields {
  const multiKey = index.multikey.includes(true);
  return {
    stage,
    keyPattern: index.keyPattern,
    indexName: index.name,
    isMultiKey: multiKey,
    isUnique: index.unique,
    isSparse: index.sparse,
    isPartial: index.partial !== undefined,
    indexVersion: 2,
    direction: direction === 1 ? 'forward' : 'backward',
    indexBounds: bounds,
  };
}
