import { compareValues } from '../bson/compare.ts';
import { CommandError } from '../errors.ts';
import { isNullish } from './expression-operators.ts';
import { compile, type Names } from './expression.ts';
import { calculate, divide, type Numeric } from '../bson/numbers.ts';
import { isDocument, isNumeric, type Bson, type BsonDocument } from '../bson/values.ts';

/** What is gathered of a group, value by value. */
interface Accumulation {
  add(value: Bson | undefined): void;
  result(): Bson;
}

export interface Accumulator {
  /** What it is needed for: a row of the README's table. */
  purpose: string;
  start(): Accumulation;
}

/** `$group`'s accumulators by name. */
export const accumulators: Record<string, Accumulator> = {
  $sum: { purpose: '`countDocuments` of every driver, and totals', start: sum },
  $avg: { purpose: 'figures by agent and day', start: average },
  $min: { purpose: 'figures by agent and day', start: () => extreme(1) },
  $max: { purpose: 'figures by agent and day', start: () => extreme(-1) },
};

/** One accumulator over the documents of a group. @throws CommandError for unknown ones */
export function compileAccumulator(
  field: string,
  spec: Bson,
  names: Names,
): () => { add(document: BsonDocument): void; result(): Bson } {
  if (!isDocument(spec)) throw new CommandError(40234, `The field '${field}' must be an accumulator object`);
  const [[operator, operand], ...others] = Object.entries(spec) as [[string, Bson], ...unknown[]];
  if (others.length > 0) throw new CommandError(40238, `The field '${field}' must specify one accumulator`);
  if (!operator.startsWith('$'))
    throw new CommandError(40234, `The field '${field}' must be an accumulator object`);
  const accumulator = Object.hasOwn(accumulators, operator) ? accumulators[operator] : undefined;
  if (!accumulator) throw new CommandError(15952, `unknown group operator '${operator}'`);
  if (Array.isArray(operand))
    throw new CommandError(40237, `The ${operator} accumulator is a unary operator`);
  const evaluate = compile(operand, names);
  return () => {
    const accumulation = accumulator.start();
    return {
      add: (document) => accumulation.add(evaluate(document)),
      result: () => accumulation.result(),
    };
  };
}

function sum(): Accumulation {
  let total: Numeric = 0;
  return {
    add(value) {
      if (isNumeric(value)) total = calculate('add', total, value, 'double');
    },
    result: () => total,
  };
}

function average(): Accumulation {
  let total: Numeric = 0;
  let count = 0;
  return {
    add(value) {
      if (!isNumeric(value)) return;
      total = calculate('add', total, value, 'double');
      count += 1;
    },
    result: () => (count === 0 ? null : divide(total, count)),
  };
}

/** The least or greatest; missing values and nulls do not count. */
function extreme(direction: 1 | -1): Accumulation {
  let found: Bson | undefined;
  return {
    add(value) {
      if (isNullish(value)) return;
      if (found === undefined || compareValues(value, found) * direction < 0) found = value;
    },
    result: () => found ?? null,
  };
}
