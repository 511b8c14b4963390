import { createHash, timingSafeEqual } from 'node:crypto';

/** Whether two texts are equal, in a time that says nothing of where they differ or how long they are. */
export function timingSafeTextEqual(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text, 'utf8').digest();
  return timingSafeEqual(digest(a), digest(b));
}
