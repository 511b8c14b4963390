import type { CallEventData, CallEventType, CallReport } from '@parley/shared/contracts/call-events';

/** Everything but the end, which is reported by `end`. */
export type ReportedType = Exclude<CallEventType, 'call_ended'>;

/** Tells of something that happens now in one call. */
export type Emit = <T extends ReportedType>(type: T, data: CallEventData<T>) => void;

/** Tells the control plane what happens in one call. Never blocks and never throws. */
export interface CallReporter {
  /** Gives the event its id, index and times, and queues it for the event log. `offsetMs` from `answered_at`. */
  emit<T extends ReportedType>(type: T, data: CallEventData<T>, offsetMs: number): void;
  /**
   * Puts what is new on disk, for a process that dies before the end is reported.
   * @param over the call has ended, as the report says: only what follows its end is still under way
   */
  saveProgress(report: CallReport, over?: { over: boolean }): void;
  /** The last event. Resolves when the report is on disk; delivery goes on by itself until it is confirmed. */
  end(report: CallReport): Promise<void>;
  /** Index of the last event given out. */
  readonly lastIndex: number;
}
