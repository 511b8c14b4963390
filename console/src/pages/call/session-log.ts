/** A turn of the transcript, as the API answers it. Times are milliseconds from the answer of the call. */
export interface LogTurn {
  index: number;
  role: string;
  text: string;
  start_ms: number;
  end_ms: number;
  language: string | null;
  interrupted: boolean;
  node_id: string | null;
  redacted: boolean;
  words?: readonly TimedWord[] | null | undefined;
}

/** A word and when it was said. */
export interface TimedWord {
  text: string;
  start_ms: number;
  end_ms: number;
}

/** An event of a session, as the API answers it. Types may be added, so that `data` is anything. */
export interface LogEvent {
  id: string;
  index: number;
  at: string;
  offset_ms: number;
  type: string;
  data: Readonly<Record<string, unknown>>;
}

/** Statuses that nothing leaves. */
const OVER: ReadonlySet<string> = new Set(['ended', 'failed', 'expired', 'cancelled']);

/** Whether nothing more happens in a session of this status. */
export function isOver(status: string): boolean {
  return OVER.has(status);
}

export function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function number(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}
