import { eventText } from './event-text.ts';
import { toolCallsOf } from './lanes.ts';
import type { ToolCall } from './lanes.ts';
import type { LogEvent, LogTurn } from './session-log.ts';

/** What stands below one another in a transcript. */
export type TranscriptRow =
  | { kind: 'turn'; key: string; at_ms: number; turn: LogTurn }
  | { kind: 'tool'; key: string; at_ms: number; call: ToolCall }
  | {
      kind: 'event';
      key: string;
      at_ms: number;
      title: string;
      tone: 'normal' | 'good' | 'bad';
      details: readonly { name: string; value: string }[];
    };

/** Events that are told between the turns. Decisions only on request. */
const TOLD: ReadonlySet<string> = new Set([
  ...['transfer', 'handover', 'voicemail', 'language', 'recording_consent', 'flow_node', 'answer_class'],
  ...['do_not_call', 'inbound_action', 'stalled', 'error', 'warning', 'knowledge', 'tool_confirmation'],
]);

/** Turns, tools, keys and events in the order of time. */
export function transcriptRows(
  turns: readonly LogTurn[],
  events: readonly LogEvent[],
  { decisions = false }: { decisions?: boolean } = {},
): TranscriptRow[] {
  const rows: TranscriptRow[] = [
    ...turns.map((turn) => ({ kind: 'turn' as const, key: `t${turn.index}`, at_ms: turn.start_ms, turn })),
    ...toolCallsOf(events).map((call) => ({
      kind: 'tool' as const,
      key: call.id,
      at_ms: call.start_ms,
      call,
    })),
  ];
  for (const event of events) {
    const keys = event.type === 'dtmf' && event.data['direction'] !== 'received';
    const decision = decisions && event.type === 'turn_decision';
    if (!keys && !decision && !TOLD.has(event.type)) continue;
    rows.push({ kind: 'event', key: event.id, at_ms: event.offset_ms, ...eventText(event) });
  }
  // The sort is stable: what was at the same time stays as it came, turns first.
  return rows.sort((a, b) => a.at_ms - b.at_ms);
}

/** Rows that contain all the words of `query`, whatever their case; all of them for an empty one. */
export function findRows(rows: readonly TranscriptRow[], query: string): number[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  return rows.flatMap((row, at) => {
    const text = row.kind === 'turn' ? row.turn.text : row.kind === 'tool' ? row.call.name : row.title;
    const lower = text.toLowerCase();
    return words.every((word) => lower.includes(word)) ? [at] : [];
  });
}
