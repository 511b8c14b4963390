import type { Field } from './field.ts';
import { getAt, pathKey } from './form-value.ts';
import type { Path } from './form-value.ts';

/** Puts what a server found wrong where a form can show it. */

export interface FoundError {
  loc: Path;
  msg: string;
}

/** Messages by the place of the control that shows them, see `pathKey`. */
export type PlacedErrors = ReadonlyMap<string, readonly string[]>;

export const NO_ERRORS: PlacedErrors = new Map();

/**
 * @param errors with `loc` as the API gives it, `["body", …]`
 * @param value of the form, for the kinds that were chosen
 * @param within of `loc` what stands before the form, such as `["body"]`
 * @returns each error at the deepest control that its place goes through; those beside the form under `elsewhere`
 */
export function placeErrors(
  errors: readonly FoundError[],
  field: Field,
  value: unknown,
  within: Path = ['body'],
): { placed: PlacedErrors; elsewhere: readonly FoundError[] } {
  const placed = new Map<string, string[]>();
  const elsewhere: FoundError[] = [];
  for (const error of errors) {
    const inside = within.every((step, index) => error.loc[index] === step);
    const place = inside ? placeOf(error.loc.slice(within.length), field, value) : undefined;
    if (place === undefined || place.length === 0) {
      elsewhere.push(error);
      continue;
    }
    const key = pathKey(place);
    placed.set(key, [...(placed.get(key) ?? []), error.msg]);
  }
  return { placed, elsewhere };
}

function placeOf(loc: Path, field: Field, value: unknown): Path {
  const [step, ...rest] = loc;
  if (step === undefined) return [];
  const next = partOf(field, step, value);
  if (next === undefined) return [];
  return [step, ...placeOf(rest, next, getAt(value, [step]))];
}

function partOf(field: Field, step: string | number, value: unknown): Field | undefined {
  switch (field.kind) {
    case 'group':
      return field.fields.find((one) => one.key === step);
    case 'variant': {
      const kind = getAt(value, [field.tag]);
      return field.variants.find((one) => one.value === kind)?.group.fields.find((one) => one.key === step);
    }
    case 'rows':
      return typeof step === 'number' ? field.row : undefined;
    case 'map':
      return field.entry;
    default:
      return undefined;
  }
}

/** How many messages stand at a place or inside it. */
export function errorsWithin(placed: PlacedErrors, path: Path): number {
  const start = pathKey(path);
  let count = 0;
  for (const [key, messages] of placed)
    if (key === start || key.startsWith(`${start}\u0000`)) count += messages.length;
  return count;
}
