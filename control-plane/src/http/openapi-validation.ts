import type { ValidationDetail } from '@parley/shared/errors/app-error';
import { z } from 'zod';
import { parameterNames, pathParameter } from './operation.ts';
import type { BodySpec, Operation } from './operation.ts';
import { toValidationDetails } from './validation.ts';
import type { Where } from './validation.ts';

/**
 * A 422 that the operation does answer, for the description: what is missing in its body, what is no parameter of its
 * query, or an id in its path that is none.
 */
export function validationExample(operation: Operation): ValidationDetail[] {
  const body = [operation.body ?? []].flat()[0] as BodySpec<unknown> | undefined;
  const ofBody = body && bodyExample(body);
  if (ofBody) return [ofBody];
  const [name] = parameterNames(operation.path);
  if (name !== undefined) {
    const found = problem(pathParameter(operation, name), '%', 'path', name);
    if (found) return [found];
  }
  const query = operation.query?.strict() ?? z.strictObject({});
  const limited = 'limit' in query.shape ? { limit: '0' } : { unheard_of: '1' };
  return [problem(query, limited, 'query') ?? problem(z.strictObject({}), { unheard_of: '1' }, 'query')!];
}

function bodyExample(body: BodySpec<unknown>): ValidationDetail | undefined {
  if (!('schema' in body)) return undefined;
  const missing = problem(body.schema, {}, 'body');
  if (missing) return missing;
  if ('atLeastOne' in body && body.atLeastOne)
    return { loc: ['body'], msg: 'At least one field is required', type: 'missing' };
  if (body.kind === 'json') return { loc: ['body'], msg: 'The body is not valid JSON', type: 'json_invalid' };
  return problem(body.schema, { unheard_of: '1' }, 'body');
}

/** The first thing wrong with `value`. */
function problem(
  schema: z.ZodType,
  value: unknown,
  where: Where,
  ...at: string[]
): ValidationDetail | undefined {
  const { error } = schema.safeParse(value, { reportInput: true });
  return error && toValidationDetails(error, [where, ...at])[0];
}
