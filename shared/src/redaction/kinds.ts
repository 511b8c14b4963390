import { z } from 'zod';

/** What can be masked in what is said. */
export const REDACTION_KINDS = [
  'person_name',
  'phone_number',
  'email',
  'address',
  'card_number',
  'bank_account',
  'national_id',
  'date_of_birth',
  'secret',
] as const;
export const redactionKindSchema = z.enum(REDACTION_KINDS);
export type RedactionKind = z.infer<typeof redactionKindSchema>;

/** Kinds whose values are numbers, and may be pressed on a telephone's keys. */
export const NUMBER_KINDS: ReadonlySet<RedactionKind> = new Set([
  'phone_number',
  'card_number',
  'bank_account',
  'national_id',
  'date_of_birth',
  'secret',
]);

/** What is found: a kind, or a long number of which nothing tells what it is. */
export type FoundKind = RedactionKind | 'number';

/** Kinds that a long number which nothing announces may be of: it is masked where one of them is. */
export const LONG_NUMBER_KINDS: ReadonlySet<RedactionKind> = new Set([
  'phone_number',
  'card_number',
  'bank_account',
  'national_id',
]);
