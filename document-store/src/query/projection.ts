import { CommandError } from '../errors.ts';
import { compile, type Evaluate, type Variables } from '../expressions/expression.ts';
import { parseFilter } from '../matching/filter-parser.ts';
import type { Filter } from '../matching/filter.ts';
import { matches } from '../matching/matcher.ts';
import { wholeNumber } from '../bson/numbers.ts';
import {
  getField,
  isDocument,
  isNumeric,
  setField,
  toNumber,
  type Bson,
  type BsonDocument,
} from '../bson/values.ts';

/** What becomes of one field, or of the fields below it. */
type Rule =
  | { kind: 'include' }
  | { kind: 'exclude' }
  | { kind: 'compute'; evaluate: Evaluate }
  | { kind: 'slice'; skip: number; limit: number }
  | { kind: 'elemMatch'; filter: Filter }
  | { kind: 'positional' }
  | { kind: 'fields'; fields: Map<string, Rule> };

export interface Projection {
  /** @param position the element that `field.$` stands for */
  apply(document: BsonDocument, position: number | undefined): BsonDocument;
  /** Where it keeps these fields as they are, or all others: what it shows can be cut out of what is stored. */
  readonly wholeFields: { names: ReadonlySet<string>; kept: boolean } | undefined;
}

/**
 * Parses the projection of `find` or of `$project`.
 * @param language the two differ in `$slice`, `$elemMatch` and `field.$`, which only `find` has as projections
 * @throws CommandError for mixtures of inclusion and exclusion, and for paths that collide
 */
export function parseProjection(
  spec: BsonDocument,
  language: 'find' | 'project',
  variables: Variables = {},
): Projection {
  const root = new Map<string, Rule>();
  const seen = { includes: '', excludes: '', computes: false };
  for (const [name, value] of Object.entries(spec)) addRule(root, name, '', value, language, variables, seen);
  const id = root.get('_id');
  if (seen.includes !== '' && seen.excludes !== '') {
    const [code, what] = firstIs(spec, seen.includes)
      ? [31254, 'exclusion on field ' + seen.excludes + ' in inclusion']
      : [31253, 'inclusion on field ' + seen.includes + ' in exclusion'];
    throw new CommandError(code as number, `Cannot do ${what} projection`);
  }
  if (seen.excludes !== '' && seen.computes && language === 'project') {
    throw new CommandError(31252, 'Cannot use expressions in an exclusion projection');
  }
  const onlyId = seen.includes === '' && seen.excludes === '' && !seen.computes;
  const includes =
    seen.includes !== '' ||
    (seen.excludes === '' && seen.computes) ||
    (onlyId && id !== undefined && id.kind !== 'exclude');
  if (includes && id === undefined) root.set('_id', { kind: 'include' });
  return {
    apply: (document, position) =>
      includes ? include(document, root, position, document) : exclude(document, root, position, document),
    wholeFields: wholeFields(root, includes),
  };
}

function wholeFields(rules: ReadonlyMap<string, Rule>, kept: boolean): Projection['wholeFields'] {
  const named = [...rules];
  if (!named.every(([, { kind }]) => kind === 'include' || kind === 'exclude')) return undefined;
  const wanted = kept ? 'include' : 'exclude';
  return { names: new Set(named.flatMap(([name, { kind }]) => (kind === wanted ? name : []))), kept };
}

function firstIs(spec: BsonDocument, name: string): boolean {
  const first = Object.keys(spec).find((key) => key !== '_id');
  return first !== undefined && (name === first || name.startsWith(`${first}.`));
}

function addRule(
  root: Map<string, Rule>,
  name: string,
  above: string,
  value: Bson,
  language: 'find' | 'project',
  variables: Variables,
  seen: { includes: string; excludes: string; computes: boolean },
): void {
  if (name === '') throw new CommandError(40352, 'FieldPath cannot be constructed with empty string');
  if (name.startsWith('$') && above === '')
    throw new CommandError(
      16410,
      `FieldPath field names may not start with '$'. Consider using $getField or $setField.`,
    );
  const whole = above === '' ? name : `${above}.${name}`;
  let rule: Rule;
  let path = name.split('.');
  if (path.at(-1) === '$' && language === 'find' && path.length > 1) {
    path = path.slice(0, -1);
    rule = { kind: 'positional' };
    seen.includes ||= whole;
  } else if (typeof value === 'boolean' || isNumeric(value)) {
    const included = value !== false && toNumber(value as number) !== 0;
    rule = { kind: included ? 'include' : 'exclude' };
    if (whole !== '_id') {
      if (included) seen.includes ||= whole;
      else seen.excludes ||= whole;
    }
  } else if (isDocument(value) && language === 'find' && '$slice' in value && sliceOf(value.$slice!)) {
    rule = { kind: 'slice', ...sliceOf(value.$slice!)! };
  } else if (isDocument(value) && language === 'find' && '$elemMatch' in value) {
    if (!isDocument(value.$elemMatch))
      throw new CommandError(31274, 'elemMatch: Invalid argument, object required');
    if (path.length > 1) throw new CommandError(31275, 'Cannot use $elemMatch projection on a nested field');
    rule = {
      kind: 'elemMatch',
      filter: parseFilter({ element: { $elemMatch: value.$elemMatch } }, variables),
    };
    seen.includes ||= whole;
  } else if (isDocument(value) && '$meta' in value) {
    throw new CommandError('BadValue', '$meta is not supported by this store');
  } else if (isDocument(value) && !Object.keys(value).some((key) => key.startsWith('$'))) {
    if (Object.keys(value).length === 0)
      throw new CommandError(
        51270,
        `An empty sub-projection is not a valid value. Found empty object at path`,
      );
    for (const [inner, below] of Object.entries(value)) {
      const nested = new Map<string, Rule>();
      addRule(nested, inner, whole, below, language, variables, seen);
      insertRule(root, [...path], { kind: 'fields', fields: nested }, whole);
    }
    return;
  } else {
    rule = { kind: 'compute', evaluate: compile(value, { variables }) };
    if (whole !== '_id') seen.computes = true;
  }
  insertRule(root, path, rule, whole);
}

function sliceOf(value: Bson): { skip: number; limit: number } | undefined {
  const count = wholeNumber(value);
  if (count !== undefined) return count >= 0 ? { skip: 0, limit: count } : { skip: count, limit: -count };
  if (!Array.isArray(value) || value.length !== 2) return undefined;
  const [skip, limit] = value.map((part) => wholeNumber(part));
  if (skip === undefined || limit === undefined) return undefined;
  if (limit <= 0) throw new CommandError(28724, `Second argument to $slice must be positive: ${limit}`);
  return { skip, limit };
}

function insertRule(fields: Map<string, Rule>, path: readonly string[], rule: Rule, whole: string): void {
  const [first, ...rest] = path as [string, ...string[]];
  const present = fields.get(first);
  if (rest.length === 0) {
    if (rule.kind === 'fields' && present?.kind === 'fields') {
      for (const [name, below] of rule.fields) insertRule(present.fields, [name], below, whole);
      return;
    }
    if (present)
      throw new CommandError(present.kind === 'fields' ? 31250 : 31249, `Path collision at ${whole}`);
    fields.set(first, rule);
    return;
  }
  if (present && present.kind !== 'fields')
    throw new CommandError(31249, `Path collision at ${whole} remaining portion ${rest.join('.')}`);
  const below = present ?? { kind: 'fields', fields: new Map<string, Rule>() };
  fields.set(first, below);
  insertRule(below.fields, rest, rule, whole);
}

function include(
  document: BsonDocument,
  rules: Map<string, Rule>,
  position: number | undefined,
  whole: BsonDocument,
): BsonDocument {
  const result: BsonDocument = {};
  for (const field in document) {
    const rule = rules.get(field);
    if (!rule || rule.kind === 'exclude' || rule.kind === 'compute') continue;
    const value = document[field]!;
    const projected =
      rule.kind === 'fields'
        ? includeBelow(value, rule.fields, position, whole)
        : special(rule, value, position);
    if (projected !== undefined) setField(result, field, projected);
  }
  compute(document, result, rules, whole);
  return result;
}

function includeBelow(
  value: Bson,
  rules: Map<string, Rule>,
  position: number | undefined,
  whole: BsonDocument,
): Bson | undefined {
  if (isDocument(value)) return include(value, rules, position, whole);
  if (!Array.isArray(value)) return undefined;
  return value
    .map((element) => includeBelow(element, rules, position, whole))
    .filter((element) => element !== undefined);
}

function exclude(
  document: BsonDocument,
  rules: Map<string, Rule>,
  position: number | undefined,
  whole: BsonDocument,
): BsonDocument {
  const result: BsonDocument = {};
  for (const field in document) {
    const value = document[field]!;
    const rule = rules.get(field);
    if (rule?.kind === 'exclude') continue;
    const projected =
      !rule || rule.kind === 'compute'
        ? value
        : rule.kind === 'fields'
          ? excludeBelow(value, rule.fields, position, whole)
          : special(rule, value, position);
    if (projected !== undefined) setField(result, field, projected);
  }
  compute(document, result, rules, whole);
  return result;
}

function excludeBelow(
  value: Bson,
  rules: Map<string, Rule>,
  position: number | undefined,
  whole: BsonDocument,
): Bson {
  if (isDocument(value)) return exclude(value, rules, position, whole);
  return Array.isArray(value) ? value.map((element) => excludeBelow(element, rules, position, whole)) : value;
}

function special(rule: Rule, value: Bson, position: number | undefined): Bson | undefined {
  if (rule.kind === 'include' || !Array.isArray(value)) return rule.kind === 'elemMatch' ? undefined : value;
  switch (rule.kind) {
    case 'slice': {
      const start = rule.skip >= 0 ? rule.skip : Math.max(0, value.length + rule.skip);
      return value.slice(start, start + rule.limit);
    }
    case 'elemMatch': {
      const element = value.find((candidate) => matches(rule.filter, { element: [candidate] }));
      return element === undefined ? undefined : [element];
    }
    case 'positional':
      if (position === undefined) {
        throw new CommandError(
          51246,
          "Executor error during find command :: caused by :: positional operator '.$' couldn't find a matching element in the array",
        );
      }
      return value.slice(position, position + 1);
    default:
      return value;
  }
}

/** Sets the computed fields, also those below fields that are not there yet. */
function compute(
  document: BsonDocument,
  result: BsonDocument,
  rules: Map<string, Rule>,
  whole: BsonDocument,
): void {
  for (const [field, rule] of rules) {
    if (rule.kind === 'compute') {
      const value = rule.evaluate(whole);
      if (value !== undefined) setField(result, field, value);
      else delete result[field];
    } else if (
      rule.kind === 'fields' &&
      hasComputed(rule.fields) &&
      !isDocument(getField(document, field)) &&
      !Array.isArray(getField(document, field))
    ) {
      const below: BsonDocument = {};
      compute({}, below, rule.fields, whole);
      setField(result, field, below);
    }
  }
}

function hasComputed(rules: Map<string, Rule>): boolean {
  return [...rules.values()].some(
    (rule) => rule.kind === 'compute' || (rule.kind === 'fields' && hasComputed(rule.fields)),
  );
}
