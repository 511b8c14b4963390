import { isEqual, isObject } from '../../components/schema-form/form-value.ts';
import type { Json } from '../../components/schema-form/form-value.ts';

/** What is otherwise in another version of an agent. */

export interface Difference {
  path: string;
  before: unknown;
  after: unknown;
}

/** Lines of two texts beside each other; null where one has no such line. */
export interface LinePair {
  before: string | null;
  after: string | null;
}

/** Compared line by line up to this many; longer texts are shown as a whole. */
const MAX_LINES = 2000;

/** Fields that say where a record is, not what it does. */
const ABOUT = [
  'id',
  'org_id',
  'project_id',
  'version',
  'archived_at',
  'auto_database_id',
  'created_at',
  'updated_at',
];

/** @param before and `after` two versions of an agent, as the API gives them */
export function differencesOf(before: Json, after: Json): Difference[] {
  const without = (agent: Json) => {
    const { webhooks: _, ...config } = (agent['config'] ?? {}) as Json;
    return Object.fromEntries(Object.entries({ ...agent, config }).filter(([key]) => !ABOUT.includes(key)));
  };
  return leaves(without(before), without(after), '');
}

function leaves(before: unknown, after: unknown, path: string): Difference[] {
  if (isEqual(before, after)) return [];
  if (!isObject(before) || !isObject(after)) return [{ path, before, after }];
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return keys.flatMap((key) => leaves(before[key], after[key], path === '' ? key : `${path}.${key}`));
}

/** As people read a value: text as it is, everything else as JSON. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

/** Pairs the lines of two texts along their longest common subsequence. */
export function pairLines(before: string, after: string): LinePair[] {
  const [a, b] = [before === '' ? [] : before.split('\n'), after === '' ? [] : after.split('\n')];
  if (a.length > MAX_LINES || b.length > MAX_LINES) return [{ before, after }];
  const pairs: LinePair[] = [];
  let removed: string[] = [];
  let added: string[] = [];
  const flush = () => {
    for (let index = 0; index < Math.max(removed.length, added.length); index++)
      pairs.push({ before: removed[index] ?? null, after: added[index] ?? null });
    [removed, added] = [[], []];
  };
  const common = lengths(a, b);
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      flush();
      pairs.push({ before: a[i]!, after: b[j]! });
      i++;
      j++;
    } else if (j >= b.length || (i < a.length && common[i + 1]![j]! >= common[i]![j + 1]!))
      removed.push(a[i++]!);
    else added.push(b[j++]!);
  }
  flush();
  return pairs;
}

/** Lengths of the longest common subsequences of all ends of both lists. */
function lengths(a: readonly string[], b: readonly string[]): Uint16Array[] {
  const table = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      table[i]![j] =
        a[i] === b[j] ? table[i + 1]![j + 1]! + 1 : Math.max(table[i + 1]![j]!, table[i]![j + 1]!);
  return table;
}

/** Weights that still sum to 100 when one of them is set: the others share the rest as they did before. */
export function withWeight(weights: readonly number[], index: number, weight: number): number[] {
  const others = weights.length - 1;
  if (others <= 0) return [100];
  const set = Math.min(100 - others, Math.max(1, Math.round(weight)));
  const before = weights.reduce((sum, one, at) => (at === index ? sum : sum + one), 0);
  const rest = 100 - set - others;
  const shares = weights.map((one, at) =>
    at === index ? 0 : before === 0 ? rest / others : (rest * one) / before,
  );
  const whole = shares.map(Math.floor);
  let missing = rest - whole.reduce((sum, one) => sum + one, 0);
  const order = shares
    .map((share, at) => ({ at, part: share - whole[at]! }))
    .filter(({ at }) => at !== index)
    .toSorted((x, y) => y.part - x.part);
  for (const { at } of order) {
    if (missing <= 0) break;
    whole[at]!++;
    missing--;
  }
  return whole.map((one, at) => (at === index ? set : one + 1));
}
