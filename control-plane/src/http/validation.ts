import { z } from 'zod';
import { ValidationError } from '@parley/shared/errors/app-error';
import type { ValidationDetail } from '@parley/shared/errors/app-error';

export type Where = 'path' | 'query' | 'header' | 'body';

/**
 * Parses with `schema`.
 * @throws ValidationError whose entries start with `where`
 */
export function parseInput<T>(schema: z.ZodType<T>, value: unknown, where: Where): T {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  throw new ValidationError(toValidationDetails(result.error, [where]));
}

/** One problem, made by hand: a rule that no schema can hold. */
export function invalid(
  loc: readonly (string | number)[],
  msg: string,
  type = 'value_error',
): ValidationError {
  return new ValidationError([{ loc: [...loc], msg, type }]);
}

/** Zod's issues in the form clients of FastAPI services know. */
export function toValidationDetails(
  error: z.ZodError,
  prefix: readonly (string | number)[],
): ValidationDetail[] {
  return error.issues.flatMap((issue) => {
    const loc = [...prefix, ...issue.path.map((part) => (typeof part === 'number' ? part : String(part)))];
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({
        loc: [...loc, key],
        msg: 'Extra inputs are not permitted',
        type: 'extra_forbidden',
      }));
    }
    if (issue.code === 'invalid_union' && issue.input !== undefined) {
      // One option that takes values of this type says what is wrong with this one.
      const fitting = issue.errors.filter((errors) => errors.every(({ code }) => code !== 'invalid_type'));
      if (fitting.length === 1) return toValidationDetails(new z.ZodError(fitting[0]!), loc);
    }
    return [{ loc, ...describeIssue(issue) }];
  });
}

function describeIssue(issue: z.core.$ZodIssue): { msg: string; type: string } {
  const msg = issue.message;
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return { msg: 'Field required', type: 'missing' };
      return { msg, type: `${TYPE_WORDS[issue.expected] ?? issue.expected}_type` };
    case 'too_small':
      return { msg, type: SIZE_WORDS[issue.origin]?.[0] ?? 'greater_than_equal' };
    case 'too_big':
      return { msg, type: SIZE_WORDS[issue.origin]?.[1] ?? 'less_than_equal' };
    case 'invalid_format':
      return { msg, type: issue.format === 'regex' ? 'string_pattern_mismatch' : `${issue.format}_parsing` };
    case 'invalid_value':
      if (issue.input === undefined) return { msg: 'Field required', type: 'missing' };
      return { msg, type: issue.values.length === 1 ? 'literal_error' : 'enum' };
    case 'invalid_union':
      if (issue.input === undefined) return { msg: 'Field required', type: 'missing' };
      return { msg, type: issue.discriminator === undefined ? 'union' : 'union_tag_invalid' };
    default:
      return { msg, type: 'value_error' };
  }
}

const TYPE_WORDS: Record<string, string> = {
  int: 'int',
  number: 'float',
  boolean: 'bool',
  array: 'list',
  object: 'dict',
  record: 'dict',
};

const SIZE_WORDS: Record<string, readonly [string, string]> = {
  string: ['string_too_short', 'string_too_long'],
  array: ['too_short', 'too_long'],
  file: ['too_short', 'too_long'],
};
