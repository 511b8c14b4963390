import { toLocale } from '@parley/shared/languages/locale';
import { parsePhoneNumberFromString, validatePhoneNumberLength } from 'libphonenumber-js/max';
import type { CountryCode } from 'libphonenumber-js/max';
import type { DictationState } from './dictation.ts';

/** A number that could still grow is taken for whole from this many digits on, the trunk prefix apart. */
const LEAST_DIGITS = 9;
/** Digits with which it is tried whether a number can grow. */
const NEXT = ['0', '4', '9'];

/** The country of a telephone number in E.164; undefined when it has none. */
export function countryOfNumber(e164: string | null): string | undefined {
  return e164 === null ? undefined : parsePhoneNumberFromString(e164)?.country;
}

/** The country that a BCP 47 tag names or suggests: US for "en", BR for "pt". */
export function countryOfLanguage(language: string): string | undefined {
  return toLocale(language).maximize().region;
}

/**
 * Whether digits are a whole telephone number. Where numbers have one length, they are whole at the last digit; where
 * lengths differ (Germany, Italy) a whole number may still grow.
 * @param digits with "+" in front of a country code
 * @param country ISO 3166-1, for numbers without one
 */
export function telephoneNumber(
  digits: string,
  country: string | undefined,
): Exclude<DictationState, 'none'> {
  const region = country as CountryCode | undefined;
  const length = validatePhoneNumberLength(digits, region);
  if (length === 'INVALID_COUNTRY' || length === 'NOT_A_NUMBER')
    return digits.length < 10 ? 'incomplete' : 'may_grow';
  if (length !== undefined) return 'incomplete';
  const parsed = parsePhoneNumberFromString(digits, region);
  if (parsed?.isValid()) {
    if (!NEXT.some((digit) => parsePhoneNumberFromString(digits + digit, region)?.isValid()))
      return 'complete';
    return parsed.nationalNumber.length < LEAST_DIGITS ? 'incomplete' : 'may_grow';
  }
  // As long as a number can be, though none that is given to anybody: nothing more will come.
  const full = NEXT.every((digit) => validatePhoneNumberLength(digits + digit, region) === 'TOO_LONG');
  return full ? 'may_grow' : 'incomplete';
}

/** Whether digits are the whole number of a payment card (ISO/IEC 7812): as many as its kind has, and the check digit. */
export function cardNumber(digits: string): Exclude<DictationState, 'none'> {
  const whole = /^3[47]/.test(digits) ? 15 : /^3[068]/.test(digits) ? 14 : 16;
  if (digits.length < whole) return 'incomplete';
  return digits.length === whole && hasCheckDigit(digits) ? 'complete' : 'may_grow';
}

/** The Luhn check of ISO/IEC 7812-1, annex B. */
function hasCheckDigit(digits: string): boolean {
  let sum = 0;
  for (let at = 0; at < digits.length; at++) {
    const digit = Number(digits[digits.length - 1 - at]);
    sum += at % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2;
  }
  return sum % 10 === 0;
}
