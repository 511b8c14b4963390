import { setPriority } from 'node:os';

/**
 * The simulator shares its core with the emulators and must keep its own time. Only now, as everything it started by then
 * would have inherited it; and only where it is allowed.
 */
export function preferSelf(): void {
  try {
    setPriority(-10);
  } catch {
    // Not without privileges: the lateness that is shown beside the figures tells whether it matters.
  }
}
