import { isOpen, nextOpening, type CallingWindows } from '../calling-hours/calling-windows.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { DialGate, GateVerdict } from './outbound-calls.ts';

/** So long a call waits for its hours at most, from when it might have been dialled. */
const MAX_WAIT_MS = 7 * 24 * 60 * 60 * 1000;

/** The hours in which people may be called. */
export class HoursGate implements DialGate {
  readonly name = 'calling_hours';

  check({ dial }: SessionRecord, nowMs: number): Promise<GateVerdict> {
    const { calling_hours: stored, contact_timezone: contactTimezone, queued_at: queuedAt } = dial!;
    if (stored === null) return Promise.resolve({ pass: true });
    const windows = JSON.parse(stored) as CallingWindows;
    if (isOpen(windows, nowMs, { contactTimezone })) return Promise.resolve({ pass: true });
    const until = nextOpening(windows, nowMs, { contactTimezone });
    return Promise.resolve(
      until === null || until > queuedAt.getTime() + MAX_WAIT_MS
        ? { pass: false, end: { status: 'failed', failure_reason: 'outside_hours' } }
        : { pass: false, until },
    );
  }
}
