import { z } from 'zod';
import { invalid } from './validation.ts';

const MAX_VARIABLES = 100;

/** Values that several features take (resources 1.4). */

export const timezoneName = z
  .string()
  .max(64)
  .refine(isTimezone, 'must be an IANA timezone')
  .meta({ example: 'Europe/Berlin' });

export const e164 = z.string().regex(/^\+[1-9]\d{6,14}$/, 'must be an E.164 number such as +14155550100');

export const languageTag = z
  .string()
  .max(35)
  .regex(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/, 'must be a BCP 47 tag')
  .meta({ example: 'en-US' });

export const emailAddress = z.email().max(254).meta({ example: 'asha@example.com' });

export const newPassword = z.string().min(12).max(128);

/** A secret as it may be shown. */
export const maskedSecret = z
  .object({ set: z.boolean(), last_four: z.string() })
  .meta({ id: 'MaskedSecret' });

/** Variables of a call. `system.*` is ours alone. */
export const variablesSchema = z
  .record(
    z
      .string()
      .min(1)
      .max(64)
      .refine((name) => !name.startsWith('system.'), 'system.* is read-only'),
    z.string().max(4096),
  )
  .refine(
    (variables) => Object.keys(variables).length <= MAX_VARIABLES,
    `must have at most ${MAX_VARIABLES} variables`,
  );

/** After a patch. @throws ValidationError `too_long` */
export function checkVariableCount(variables: Readonly<Record<string, string>>): void {
  if (Object.keys(variables).length > MAX_VARIABLES)
    throw invalid(['body', 'variables'], `must have at most ${MAX_VARIABLES} variables`, 'too_long');
}

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
