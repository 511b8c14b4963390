/** Luhn check of payment cards (ISO/IEC 7812-1, annex B). @param digits ASCII digits */
export function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let at = 0; at < digits.length; at++) {
    const digit = Number(digits[digits.length - 1 - at]);
    sum += at % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2;
  }
  return sum % 10 === 0;
}

/** Whether digits are a payment card's number: its length fits its first digits (ISO/IEC 7812), and the check digit. */
export function isCardNumber(digits: string): boolean {
  const length = digits.length;
  const fits =
    (/^4/.test(digits) && (length === 16 || length === 13 || length === 19)) ||
    (/^(5[1-5]|2[2-7])/.test(digits) && length === 16) ||
    (/^3[47]/.test(digits) && length === 15) ||
    (/^3[068]/.test(digits) && length === 14) ||
    (/^35/.test(digits) && length === 16) ||
    (/^6/.test(digits) && length >= 16 && length <= 19);
  return fits && passesLuhn(digits);
}

/** Length of an IBAN by country (ISO 13616, the registry's list). */
// prettier-ignore
export const IBAN_LENGTHS: Readonly<Record<string, number>> = {
  AD: 24, AE: 23, AL: 28, AT: 20, AZ: 28, BA: 20, BE: 16, BG: 22, BH: 22, BR: 29, BY: 28, CH: 21, CR: 22, CY: 28, CZ: 24, DE: 22,
  DK: 18, DO: 28, EE: 20, EG: 29, ES: 24, FI: 18, FO: 18, FR: 27, GB: 22, GE: 22, GI: 23, GL: 18, GR: 27, GT: 28, HR: 21, HU: 28,
  IE: 22, IL: 23, IS: 26, IT: 27, JO: 30, KW: 30, KZ: 20, LB: 28, LI: 21, LT: 20, LU: 20, LV: 21, MC: 27, MD: 24, ME: 22, MK: 19,
  MR: 27, MT: 31, MU: 30, NL: 18, NO: 15, PK: 24, PL: 28, PS: 29, PT: 25, QA: 29, RO: 24, RS: 22, SA: 24, SE: 24, SI: 19, SK: 24,
  SM: 27, TN: 24, TR: 26, UA: 29, VA: 22, XK: 20,
};

/** Check of an IBAN (ISO 7064, MOD 97-10). @param text upper case, without spaces */
export function isIban(text: string): boolean {
  if (IBAN_LENGTHS[text.slice(0, 2)] !== text.length) return false;
  let rest = 0;
  for (const one of text.slice(4) + text.slice(0, 4)) {
    const value = parseInt(one, 36);
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97;
  }
  return rest === 1;
}

/** National ids that are known by their form, letters and check digits, whatever stands around them. */
export const ID_PATTERNS: readonly { pattern: RegExp; holds?: (text: string) => boolean }[] = [
  // United Kingdom, national insurance number.
  { pattern: /^[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]\d{6}[A-D]/ },
  // Spain, DNI and NIE.
  {
    pattern: /^[XYZ\d]\d{7}[A-HJ-NP-TV-Z]/,
    holds: (text) =>
      'TRWAGMYFPDXBNJZSQVHLCKE'[
        Number(text.slice(0, 8).replace(/^[XYZ]/, (one) => String('XYZ'.indexOf(one)))) % 23
      ] === text[8],
  },
  // Italy, codice fiscale.
  { pattern: /^[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]/ },
  // India, permanent account number.
  { pattern: /^[A-Z]{3}[ABCFGHLJPT][A-Z]\d{4}[A-Z]/ },
  // Germany, pension insurance number.
  { pattern: /^[0-8]\d{7}[A-Z]\d{3}/ },
];

/** National ids by the way they are written. */
export const WRITTEN_IDS: readonly RegExp[] = [
  // United States, social security number.
  /^(?!000|666|9)\d{3}[- ](?!00)\d{2}[- ](?!0000)\d{4}$/,
  // Brazil, CPF.
  /^\d{3}\.\d{3}\.\d{3}-\d{2}$/,
  // Switzerland, AHV number.
  /^756\.\d{4}\.\d{4}\.\d{2}$/,
];
