/**
 * Whether JSON `value` holds everything that `part` asks for: objects may have more fields, lists have as many entries
 * in the same order, everything else is equal in value and type.
 */
export function isSubset(part: unknown, value: unknown): boolean {
  if (typeof part !== 'object' || part === null) return part === value;
  if (typeof value !== 'object' || value === null || Array.isArray(part) !== Array.isArray(value))
    return false;
  if (Array.isArray(part) && part.length !== (value as unknown[]).length) return false;
  return Object.entries(part).every(
    ([key, wanted]) => Object.hasOwn(value, key) && isSubset(wanted, (value as Record<string, unknown>)[key]),
  );
}
