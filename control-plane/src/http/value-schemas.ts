import { z } from 'zod';

/** Values that several features take (resources 1.4). */

export const timezoneName = z
  .string()
  .max(64)
  .refine(isTimezone, 'must be an IANA timezone')
  .meta({ example: 'Europe/Berlin' });

export const languageTag = z
  .string()
  .max(35)
  .regex(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/, 'must be a BCP 47 tag')
  .meta({ example: 'en-US' });

export const emailAddress = z.email().max(254).meta({ example: 'asha@example.com' });

export const newPassword = z.string().min(12).max(128);

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
