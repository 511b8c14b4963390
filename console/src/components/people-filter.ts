const MAX_LENGTH = 100;

/** What lists of people are asked for. */
export interface PeopleFilter {
  q?: string;
  phone_number?: string[];
}

/**
 * A text as a filter: of numbers, lists are asked for whole ones only; anything else is a name.
 * @returns `isPart`: it is a number, and not a whole one
 */
export function peopleFilter(typed: string): { filter: PeopleFilter; isPart: boolean } {
  const text = typed.trim().slice(0, MAX_LENGTH);
  if (/^[+\d\s().-]*\d[\d\s().-]*$/.test(text)) {
    const number = text.replace(/[\s().-]/g, '');
    const isWhole = /^\+[1-9]\d{6,14}$/.test(number);
    return { filter: isWhole ? { phone_number: [number] } : {}, isPart: !isWhole };
  }
  // Signs alone are no name.
  return { filter: /[\p{L}\p{N}]/u.test(text) ? { q: text } : {}, isPart: false };
}
