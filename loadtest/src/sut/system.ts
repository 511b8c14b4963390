import type { CarrierName } from '@parley/shared/contracts/session-values';

/** Where one call goes. */
export interface Destination {
  url: string;
  headers?: Record<string, string>;
  /** Certificates that are trusted instead of the usual ones, PEM. */
  ca?: string;
  /** By which the backend knows the call. */
  sessionId: string;
}

/** What is measured: anything that takes a carrier's stream at an address. */
export interface SystemUnderTest {
  readonly name: string;
  /** Whose CPU and memory count, with their descendants. Empty when it runs elsewhere. */
  readonly pids: readonly number[];
  /** Start of the process to its readiness, ms; undefined when it was running already. */
  readonly startMs: number | undefined;
  /** It reports calls to the backend. */
  readonly reports: boolean;
  /** Prepares one call. */
  dial(call: { conversation: string; carrier: CarrierName; variant: number }): Promise<Destination>;
  /** Bytes in use after a full collection, where it can tell. */
  heapBytes?(): Promise<number>;
  [Symbol.asyncDispose](): Promise<void>;
}
