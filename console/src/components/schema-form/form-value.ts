import { WORKING_WEEK } from '../week-windows.ts';
import type { Field } from './field.ts';

/** Values of a form: plain JSON, changed by making new ones. */

export type Path = readonly (string | number)[];
export type Json = Record<string, unknown>;

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function getAt(value: unknown, path: Path): unknown {
  let at = value;
  for (const step of path) {
    if (typeof at !== 'object' || at === null) return undefined;
    at = (at as Json)[step];
  }
  return at;
}

/** @param next undefined removes the key, or the entry of a list */
export function setAt(value: unknown, path: Path, next: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return next;
  if (typeof step === 'number') {
    const list = Array.isArray(value) ? [...(value as unknown[])] : [];
    const changed = setAt(list[step], rest, next);
    if (changed === undefined) list.splice(step, 1);
    else list[step] = changed;
    return list;
  }
  const object = isObject(value) ? value : {};
  const changed = setAt(object[step], rest, next);
  if (changed !== undefined) return { ...object, [step]: changed };
  const { [step]: _, ...others } = object;
  return others;
}

/** A copy of a list with one entry at another place. */
export function moved<T>(list: readonly T[], from: number, to: number): T[] {
  const next = [...list];
  const [one] = next.splice(from, 1);
  if (one !== undefined) next.splice(to, 0, one);
  return next;
}

export function isEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((one, index) => isEqual(one, b[index]));
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key], b[key]))
  );
}

/** What a new record, row or entry begins with: what must be there, as empty as can be. */
export function emptyOf(field: Field): unknown {
  if (field.fallback !== undefined && !(field.kind === 'group' && isEqual(field.fallback, {})))
    return field.fallback;
  if (field.nullable) return null;
  switch (field.kind) {
    case 'group':
      return Object.fromEntries(
        field.fields.filter((one) => one.required).map((one) => [one.key, emptyOf(one)]),
      );
    case 'text':
    case 'secret':
      return '';
    case 'number':
      return field.min !== undefined && field.min > 0 ? field.min : 0;
    case 'switch':
      return false;
    case 'choice':
      return field.options[0] ?? '';
    case 'choices':
    case 'texts':
    case 'rows':
      return [];
    case 'week':
      return WORKING_WEEK;
    case 'variant':
      return variantOf(field, field.variants[0]!.value);
    case 'map':
      return {};
    case 'json':
      return isObject(field.example) ? field.example : {};
  }
}

/** The least object of a kind. */
export function variantOf(field: Field & { kind: 'variant' }, value: string): Json {
  const group = field.variants.find((one) => one.value === value)?.group;
  return { [field.tag]: value, ...(group ? (emptyOf(group) as Json) : {}) };
}

/** What a form shows for a field about which nothing was said. */
export function shownOf(field: Field, value: unknown): unknown {
  if (value !== undefined) return value;
  return field.fallback !== undefined ? field.fallback : field.nullable ? null : undefined;
}

/**
 * JSON Merge Patch (RFC 7396) that makes `after` of `before`. Lists, kinds and what may be null are sent whole.
 * @returns undefined when nothing differs
 */
export function patchBetween(before: unknown, after: unknown, field: Field): unknown {
  if (isEqual(before, after)) return undefined;
  if (!isObject(before) || !isObject(after) || field.nullable) return after;
  if (field.kind !== 'group' && field.kind !== 'map') return after;
  const patch: Json = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (!Object.hasOwn(after, key)) {
      patch[key] = null;
      continue;
    }
    const part = field.kind === 'map' ? field.entry : field.fields.find((one) => one.key === key);
    const changed = part
      ? patchBetween(before[key], after[key], part)
      : isEqual(before[key], after[key])
        ? undefined
        : after[key];
    if (changed !== undefined) patch[key] = changed;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

/** `before` with the patch of `patchBetween` on top: the same rules, so that a draft outlives a newer version. */
export function patched(before: unknown, patch: unknown, field: Field): unknown {
  if (patch === undefined) return before;
  if (!isObject(before) || !isObject(patch) || field.nullable) return patch;
  if (field.kind !== 'group' && field.kind !== 'map') return patch;
  const after: Json = { ...before };
  for (const [key, value] of Object.entries(patch)) {
    const part = field.kind === 'map' ? field.entry : field.fields.find((one) => one.key === key);
    if (value === null && part && !part.nullable) delete after[key];
    else after[key] = part ? patched(before[key], value, part) : value;
  }
  return after;
}

/** Places whose values differ, as deep as the form goes. */
export function changedPaths(before: unknown, after: unknown, field: Field, path: Path = []): Path[] {
  if (isEqual(before, after)) return [];
  if (field.kind !== 'group' || !isObject(before) || !isObject(after)) return [path];
  return field.fields.flatMap((one) =>
    changedPaths(before[one.key], after[one.key], one, [...path, one.key]),
  );
}

export function pathKey(path: Path): string {
  return path.map(String).join('\u0000');
}
