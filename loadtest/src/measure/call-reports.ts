import { once } from 'node:events';
import type { Backend, ReportedCall } from '../backend/backend.ts';
import { vocabulary, type ConversationName, type HangUp } from '../scenario/conversation.ts';
import type { RunMetrics } from './run-metrics.ts';
import { compareTranscript, heardWords } from './truth.ts';

/** A gateway sends a report again after half a minute, where it was not confirmed. */
const WAIT_FOR_REPORTS_MS = 45_000;

/** What a caller knows of a call of theirs. */
export interface FinishedCall {
  sessionId: string;
  conversation: ConversationName;
  expected: string[];
  completed: boolean;
  hungUp: HangUp | undefined;
  endedAt: number;
  heard: Uint8Array | undefined;
}

/** Reports that came, and how many of them more than once. */
export interface ReportCounts {
  expected: number;
  missing: number;
  repeated: number;
}

/** What callers heard, beside what the transcripts say. */
export interface Truth {
  calls: number;
  invented: number;
  forgotten: number;
  /** Turns that the transcript calls interrupted. */
  interruptedTurns: number;
  /** Replies heard, and how many there should have been. */
  replies: number;
  expectedReplies: number;
  examples: string[];
}

/** Waits for the reports of all calls, for a while, and no longer than `signal` lets it. @returns them by session */
export async function collectReports(
  backend: Backend,
  finished: readonly FinishedCall[],
  metrics: RunMetrics,
  signal: AbortSignal,
): Promise<Map<string, ReportedCall>> {
  const reported = backend.reported(
    finished.map((call) => call.sessionId),
    WAIT_FOR_REPORTS_MS,
  );
  if (!signal.aborted) await Promise.race([reported, once(signal, 'abort')]);
  const reports = new Map((await backend.takeReports()).map((report) => [report.sessionId, report]));
  for (const call of finished) {
    const report = reports.get(call.sessionId);
    if (report && call.hungUp) metrics.ended(call.hungUp, Math.max(0, report.endedAt - call.endedAt));
  }
  return reports;
}

export function countReports(
  finished: readonly FinishedCall[],
  reports: ReadonlyMap<string, ReportedCall>,
): ReportCounts {
  const found = finished.map((call) => reports.get(call.sessionId));
  return {
    expected: finished.length,
    missing: found.filter((report) => !report).length,
    repeated: found.filter((report) => report && report.terminalEvents > 1).length,
  };
}

const MAX_EXAMPLES = 5;
/** Each reply begins with one of these, and has it nowhere else. */
const FIRST_WORDS = new Set(['the', 'our', 'sorry']);

export function truthOf(
  finished: readonly FinishedCall[],
  reports: ReadonlyMap<string, ReportedCall> | undefined,
): Truth {
  const words = vocabulary();
  const truth: Truth = {
    calls: 0,
    invented: 0,
    forgotten: 0,
    interruptedTurns: 0,
    replies: 0,
    expectedReplies: 0,
    examples: [],
  };
  for (const call of finished) {
    if (!call.heard || call.heard.length === 0) continue;
    const heard = heardWords(call.heard, words);
    if (call.completed) {
      truth.replies += heard.filter(({ word }) => FIRST_WORDS.has(word)).length;
      truth.expectedReplies += call.expected.length;
    }
    const report = reports?.get(call.sessionId)?.report;
    // Where the line was cut, the far end may well have played on: nobody can say what was heard.
    if (!report || call.hungUp === 'half_open') continue;
    truth.calls++;
    const said = report.turns.filter((turn) => turn.role === 'agent');
    truth.interruptedTurns += said.filter((turn) => turn.interrupted).length;
    const errors = compareTranscript(
      heard,
      said.map((turn) => turn.text),
    );
    truth.invented += errors.invented.length;
    truth.forgotten += errors.forgotten.length;
    if (errors.invented.length + errors.forgotten.length > 0 && truth.examples.length < MAX_EXAMPLES)
      truth.examples.push(
        `${call.conversation}: heard "${heard.map((one) => one.word + (one.partial ? '~' : '')).join(' ')}", transcript "${said.map((turn) => turn.text).join(' | ')}"`,
      );
  }
  return truth;
}
