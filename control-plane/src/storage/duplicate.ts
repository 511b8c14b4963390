import { ConflictError } from '@parley/shared/errors/app-error';

/** Whether a unique index refused the write (E11000), and if `field` is given, one that covers it. */
export function isDuplicateKey(error: unknown, field?: string): boolean {
  if (typeof error !== 'object' || error === null || !('code' in error) || error.code !== 11000) return false;
  if (field === undefined) return true;
  const pattern =
    'keyPattern' in error ? (error.keyPattern as Record<string, unknown> | undefined) : undefined;
  if (pattern) return field in pattern;
  return 'message' in error && String(error.message).includes(field);
}

/**
 * Runs a write that a unique index may refuse.
 * @throws ConflictError `duplicate` with `message`
 */
export async function orDuplicate<T>(write: Promise<T>, message: string): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (isDuplicateKey(error)) throw new ConflictError('duplicate', message, { cause: error });
    throw error;
  }
}
