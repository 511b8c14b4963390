import { isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js/min';
import type { CountryCode } from 'libphonenumber-js/min';
import { z } from 'zod';
import { timezoneName } from '../http/value-schemas.ts';
import { BadCsvError } from './csv-records.ts';

const PHONE_COLUMNS = ['phone_number', 'phone', 'mobile', 'number', 'contact_number'];
const OWN_COLUMNS = ['name', 'external_id', 'timezone'] as const;
const MAX_VARIABLES = 100;
const MAX_NAME = 64;
const MAX_VALUE = 4096;
/** Of a name or an id of the tenant's own. */
const MAX_TEXT = 200;
/** Of a number that is none. */
const MAX_NUMBER = 64;

/** ISO 3166 code of the country that national numbers are of. */
export const countryCode = z
  .string()
  .transform((text) => text.toUpperCase())
  .refine(isSupportedCountry, 'must be an ISO 3166-1 alpha-2 code such as IN')
  .meta({ example: 'IN', description: 'Country that numbers without a country code are of.' });

/** Somebody to be called, as a record of a CSV file tells it. */
export interface Person {
  /** E.164; of a number that cannot be one, the text as it stands. */
  phone_number: string;
  valid: boolean;
  name: string | null;
  external_id: string | null;
  timezone: string | null;
  variables: Record<string, string>;
}

/** What is wrong with a cell, or with the record as a whole. */
export interface PersonProblem {
  /** Name of the column as it stands in the header; empty: the record. */
  column: string;
  msg: string;
}

/** The columns of a CSV file of people. */
export interface PeopleColumns {
  /** The column of numbers, as it stands in the header. */
  readonly phone: string;
  /** Names of variables, in the order of the file. */
  readonly variables: readonly string[];
  /** @returns the person of a record, or all that is wrong with it */
  read(cells: readonly string[]): { person: Person } | { problems: PersonProblem[] };
}

/**
 * What the columns of a file are: the first with a name for numbers, `name`, `external_id` and `timezone`; each other
 * one is a variable, its header in lower case with `_` for what is no letter or digit.
 * @throws BadCsvError without a column of numbers, or for names that come twice
 */
export function peopleColumns(
  header: readonly string[],
  options: { defaultCountry?: string | undefined } = {},
): PeopleColumns {
  const keys = header.map(variableName);
  const phone = PHONE_COLUMNS.map((name) => keys.indexOf(name)).find((at) => at >= 0);
  if (phone === undefined)
    throw new BadCsvError(`The header names no column of numbers. Call one ${PHONE_COLUMNS.join(', ')}.`);
  const own = new Set([phone, ...OWN_COLUMNS.map((name) => keys.indexOf(name)).filter((at) => at >= 0)]);
  const variables = [...keys.keys()].filter((at) => !own.has(at) && keys[at] !== '');
  const names = variables.map((at) => keys[at]!);
  if (new Set([...own, ...variables].map((at) => keys[at])).size < own.size + names.length)
    throw new BadCsvError('The header names a column twice.');
  if (names.length > MAX_VARIABLES)
    throw new BadCsvError(`The header names more than ${MAX_VARIABLES} variables.`);
  if (names.some((name) => name.length > MAX_NAME))
    throw new BadCsvError(`A name in the header is longer than ${MAX_NAME} characters.`);
  const timezones = new Map<string, boolean>();
  const isTimezone = (text: string): boolean => {
    let known = timezones.get(text);
    if (known === undefined) timezones.set(text, (known = timezoneName.safeParse(text).success));
    return known;
  };
  return {
    phone: header[phone]!.trim(),
    variables: names,
    read(cells) {
      const problems: PersonProblem[] = [];
      const problem = (at: number, msg: string) => problems.push({ column: header[at]?.trim() ?? '', msg });
      if (cells.length !== header.length)
        return {
          problems: [{ column: '', msg: `has ${cells.length} cells, and the header has ${header.length}` }],
        };
      const text = (name: (typeof OWN_COLUMNS)[number]): string | null => {
        const at = keys.indexOf(name);
        const value = cells[at]?.trim() ?? '';
        if (value.length > MAX_TEXT) problem(at, `is longer than ${MAX_TEXT} characters`);
        return value === '' ? null : value;
      };
      const values: Record<string, string> = {};
      for (const at of variables) {
        if (cells[at]!.length > MAX_VALUE) problem(at, `is longer than ${MAX_VALUE} characters`);
        else if (cells[at] !== '') values[keys[at]!] = cells[at]!;
      }
      const timezone = text('timezone');
      if (timezone !== null && !isTimezone(timezone))
        problem(keys.indexOf('timezone'), 'is no IANA timezone such as Europe/Berlin');
      const written = cells[phone]!.trim();
      if (written === '') problem(phone, 'has no number');
      else if (written.length > MAX_NUMBER) problem(phone, `is longer than ${MAX_NUMBER} characters`);
      if (cells.some((cell) => cell.includes('\0'))) problem(-1, 'holds a NUL character');
      const number = toE164(written, options.defaultCountry);
      const person = {
        ...{ phone_number: number ?? written, valid: number !== undefined },
        ...{ name: text('name'), external_id: text('external_id'), timezone, variables: values },
      };
      return problems.length > 0 ? { problems } : { person };
    },
  };
}

/**
 * A number as people write it in E.164.
 * @param country what it is of when it has no country code
 * @returns undefined for one that cannot be dialled: too short, too long, of no country, or with an extension
 */
export function toE164(text: string, country?: string): string | undefined {
  const number = parsePhoneNumberFromString(text, {
    extract: false,
    ...(country === undefined ? {} : { defaultCountry: country as CountryCode }),
  });
  return number?.isPossible() && number.ext === undefined ? number.number : undefined;
}

function variableName(header: string): string {
  return header
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}_]/gu, '_');
}
