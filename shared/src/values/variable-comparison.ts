/** How a rule of a flow or a check of a test may look at a variable. */
export const VARIABLE_OPS = [
  'eq',
  'ne',
  'gt',
  'gte',
  'lt',
  'lte',
  'contains',
  'not_contains',
  'in',
  'not_in',
  'exists',
  'not_exists',
] as const;
export type VariableOp = (typeof VARIABLE_OPS)[number];

/** What a variable is compared with. */
export type ComparedValue = string | number | boolean | readonly string[] | undefined;

/**
 * Whether a variable is as a rule wants it. Numbers are compared as numbers where both sides are such; a missing variable
 * is an empty text.
 */
export function variableHolds(value: string | undefined, op: VariableOp, wanted: ComparedValue): boolean {
  if (op === 'exists') return value !== undefined && value !== '';
  if (op === 'not_exists') return value === undefined || value === '';
  const actual = value ?? '';
  const text = typeof wanted === 'object' ? wanted.join(',') : String(wanted ?? '');
  const listed = typeof wanted === 'object' ? wanted : [text];
  const numbers = isNumber(actual) && isNumber(text);
  const order = numbers ? Number(actual) - Number(text) : actual < text ? -1 : actual > text ? 1 : 0;
  switch (op) {
    case 'eq':
      return order === 0;
    case 'ne':
      return order !== 0;
    case 'gt':
      return order > 0;
    case 'gte':
      return order >= 0;
    case 'lt':
      return order < 0;
    case 'lte':
      return order <= 0;
    case 'contains':
      return spoken(actual).includes(spoken(text));
    case 'not_contains':
      return !spoken(actual).includes(spoken(text));
    case 'in':
      return listed.includes(actual);
    case 'not_in':
      return !listed.includes(actual);
  }
}

/** Upper and lower case, and how words are set apart, mean nothing when they are spoken. */
export function spoken(text: string): string {
  return text.toLowerCase().replace(/\s+/g, ' ').trim();
}

function isNumber(text: string): boolean {
  return text.trim() !== '' && Number.isFinite(Number(text));
}
