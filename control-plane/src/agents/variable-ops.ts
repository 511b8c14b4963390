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
