import { CommandError } from './errors.ts';
import { average, extremes, isNullish, mergeObjects, standardDeviation } from './expression-operators.ts';
import { compile, type Evaluate, type Names, type Scope } from './expression.ts';
import { compareValues } from './compare.ts';
import { keyText, sortKey, type KeyField } from './index-keys.ts';
import { calculate, wholeNumber, type Numeric } from './numbers.ts';
import { parseSort } from './sort.ts';
import { isDocument, isNumeric, type Bson } from './values.ts';

/** What is gathered over the documents of a group. */
export interface Accumulation {
  add(scope: Scope): void;
  result(): Bson | undefined;
}

type Value = Bson | undefined;

/** One accumulator of a `$group` or window. @throws CommandError for unknown ones */
export function compileAccumulator(spec: Bson, names: Names): () => Accumulation {
  const [operator, ...others] = isDocument(spec) ? Object.keys(spec) : [];
  if (!isDocument(spec) || operator === undefined || others.length > 0) {
    throw new CommandError(40238, 'a field of a group must specify one accumulator');
  }
  const operand = spec[operator]!;
  const create = Object.hasOwn(accumulators, operator) ? accumulators[operator] : undefined;
  if (!create) throw new CommandError(15952, `unknown group operator '${operator}'`);
  return create(operand, names);
}

/** Over the values of one expression. */
function over(
  start: () => { add(value: Value): void; result(): Value },
): (operand: Bson, names: Names) => () => Accumulation {
  return (operand, names) => {
    const evaluate = compile(operand, names);
    return () => {
      const state = start();
      return { add: (scope) => state.add(evaluate(scope)), result: () => state.result() };
    };
  };
}

function collecting(finish: (values: Value[]) => Value): (operand: Bson, names: Names) => () => Accumulation {
  return over(() => {
    const values: Value[] = [];
    return { add: (value) => values.push(value), result: () => finish(values) };
  });
}

function extreme(direction: 1 | -1) {
  return over(() => {
    let found: Value;
    return {
      add(value) {
        if (!isNullish(value) && (found === undefined || compareValues(value, found) * direction < 0))
          found = value;
      },
      result: () => found ?? null,
    };
  });
}

function counted(
  pick: (values: Bson[], count: number) => Bson[],
): (operand: Bson, names: Names) => () => Accumulation {
  return (operand, names) => {
    const { n, input } = isDocument(operand) ? operand : {};
    if (n === undefined || input === undefined)
      throw new CommandError(5787907, "the accumulator needs 'n' and 'input'");
    const count = compile(n, names);
    const evaluate = compile(input, names);
    return () => {
      const values: Bson[] = [];
      let wanted: number | undefined;
      return {
        add(scope) {
          wanted ??= positive(count(scope));
          values.push(evaluate(scope) ?? null);
        },
        result: () => pick(values, wanted ?? 0),
      };
    };
  };
}

function positive(value: Value): number {
  const count = wholeNumber(value);
  if (count === undefined || count < 1) throw new CommandError(5787908, `'n' must be greater than 0`);
  return count;
}

/** By a sort order of their own: `$top`, `$bottom` and their counted forms. */
function ranked(fromEnd: boolean, many: boolean): (operand: Bson, names: Names) => () => Accumulation {
  return (operand, names) => {
    const { sortBy, output, n } = isDocument(operand) ? operand : {};
    if (sortBy === undefined || output === undefined || (n === undefined) === many)
      throw new CommandError(
        5788002,
        "the accumulator needs 'sortBy' and 'output', and 'n' where it takes many",
      );
    const fields: KeyField[] = parseSort(sortBy);
    const evaluate: Evaluate = compile(output, names);
    const count = n === undefined ? undefined : compile(n, names);
    return () => {
      const entries: { key: Buffer; value: Bson }[] = [];
      let wanted = 1;
      return {
        add(scope) {
          if (count) wanted = positive(count(scope));
          entries.push({
            key: sortKey(isDocument(scope.root) ? scope.root : {}, fields),
            value: evaluate(scope) ?? null,
          });
        },
        result() {
          entries.sort((a, b) => Buffer.compare(a.key, b.key));
          const values = (fromEnd ? entries.slice(-wanted) : entries.slice(0, wanted)).map(
            ({ value }) => value,
          );
          return many ? values : (values[0] ?? null);
        },
      };
    };
  };
}

const accumulators: Record<string, (operand: Bson, names: Names) => () => Accumulation> = {
  $sum: over(() => {
    let total: Numeric = 0;
    return {
      add(value) {
        if (isNumeric(value)) total = calculate('add', total, value, 'double');
      },
      result: () => total,
    };
  }),
  $avg: collecting(average),
  $min: extreme(1),
  $max: extreme(-1),
  $first: over(() => {
    let first: { value: Value } | undefined;
    return { add: (value) => void (first ??= { value }), result: () => first?.value ?? null };
  }),
  $last: over(() => {
    let last: Value;
    return { add: (value) => void (last = value), result: () => last ?? null };
  }),
  $push: collecting((values) => values.filter((value) => value !== undefined)),
  $addToSet: over(() => {
    const set = new Map<string, Bson>();
    return {
      add(value) {
        if (value !== undefined) set.set(keyText(value), value);
      },
      result: () => [...set.values()],
    };
  }),
  $count: (operand) => {
    if (!isDocument(operand) || Object.keys(operand).length > 0)
      throw new CommandError('TypeMismatch', '$count takes no arguments, i.e. $count:{}');
    return () => {
      let count = 0;
      return { add: () => void (count += 1), result: () => count };
    };
  },
  $mergeObjects: collecting(mergeObjects),
  $stdDevPop: collecting((values) => standardDeviation(values, false)),
  $stdDevSamp: collecting((values) => standardDeviation(values, true)),
  $firstN: counted((values, count) => values.slice(0, count)),
  $lastN: counted((values, count) => values.slice(-count)),
  $minN: counted((values, count) => extremes(values, count, 1)),
  $maxN: counted((values, count) => extremes(values, count, -1)),
  $top: ranked(false, false),
  $bottom: ranked(true, false),
  $topN: ranked(false, true),
  $bottomN: ranked(true, true),
};
