import { eventText } from './event-text.ts';
import { number, text } from './session-log.ts';
import type { LogEvent, LogTurn } from './session-log.ts';

/** Under the waveform, from above. */
export const LANES = [
  'caller',
  'agent',
  'decisions',
  'tools',
  'keys',
  'interruptions',
  'steps',
  'errors',
] as const;
export type Lane = (typeof LANES)[number];

export const LANE_LABELS: Readonly<Record<Lane, string>> = {
  caller: 'Caller',
  agent: 'Agent',
  decisions: 'Decisions',
  tools: 'Tools',
  keys: 'Keys',
  interruptions: 'Interruptions',
  steps: 'Steps',
  errors: 'Errors',
};

/** Something in a lane: a stretch, or a moment where both times are the same. */
export interface LaneMark {
  id: string;
  start_ms: number;
  end_ms: number;
  /** In a few words. */
  title: string;
  tone: 'normal' | 'good' | 'bad' | 'cut';
  /** Further words, such as a tool's arguments and answer: names and texts, to be shown as they are. */
  details: readonly { name: string; value: string }[];
  /** Of a turn. */
  turn?: number;
}

const LANE_OF: Readonly<Record<string, Lane>> = {
  turn_decision: 'decisions',
  dtmf: 'keys',
  interruption: 'interruptions',
  tool_confirmation: 'tools',
  knowledge: 'tools',
  error: 'errors',
  warning: 'errors',
  stalled: 'errors',
  transfer: 'steps',
  handover: 'steps',
  voicemail: 'steps',
  language: 'steps',
  recording_consent: 'steps',
  flow_node: 'steps',
  answer_class: 'steps',
  remember: 'steps',
  memory: 'steps',
  do_not_call: 'steps',
  inbound_action: 'steps',
};

/** Puts all that happened in a call into lanes, each in the order of time. */
export function lanesOf(
  turns: readonly LogTurn[],
  events: readonly LogEvent[],
): Readonly<Record<Lane, LaneMark[]>> {
  const lanes = Object.fromEntries(LANES.map((lane) => [lane, []])) as unknown as Record<Lane, LaneMark[]>;
  for (const turn of turns) lanes[turn.role === 'caller' ? 'caller' : 'agent'].push(ofTurn(turn));
  lanes.tools.push(...toolMarks(events));
  for (const event of events) {
    const lane = LANE_OF[event.type];
    if (!lane) continue;
    // How long a search took is known only when it was over.
    const lasted = event.type === 'knowledge' ? (number(event.data['duration_ms']) ?? 0) : 0;
    lanes[lane].push({
      id: event.id,
      start_ms: Math.max(0, event.offset_ms - lasted),
      end_ms: event.offset_ms,
      ...eventText(event),
    });
  }
  for (const marks of Object.values(lanes)) marks.sort((a, b) => a.start_ms - b.start_ms);
  return lanes;
}

function ofTurn(turn: LogTurn): LaneMark {
  return {
    id: `turn-${turn.index}`,
    turn: turn.index,
    start_ms: turn.start_ms,
    end_ms: Math.max(turn.start_ms, turn.end_ms),
    title: turn.text.slice(0, 200),
    tone: turn.interrupted ? 'cut' : 'normal',
    details: turn.interrupted ? [{ name: 'Cut off', value: 'The caller interrupted here.' }] : [],
  };
}

/** A tool call, put together from its two events. */
export interface ToolCall {
  /** Of its first event. */
  id: string;
  name: string;
  tool_id: string | null;
  kind: string | undefined;
  start_ms: number;
  /** Null while it runs. */
  end_ms: number | null;
  arguments: string | undefined;
  result: string | undefined;
  /** Null while it runs. */
  ok: boolean | null;
  outcome: string | undefined;
  code: string | undefined;
}

/**
 * The tool calls of a session in the order of their start. Some models use one id twice: an end belongs to the first call
 * of its id that has none yet. A start that was not told is reckoned from the end.
 */
export function toolCallsOf(events: readonly LogEvent[]): ToolCall[] {
  const calls: ToolCall[] = [];
  const open = new Map<string, ToolCall[]>();
  for (const { id, type, offset_ms, data } of events) {
    if (type !== 'tool_started' && type !== 'tool_finished') continue;
    const key = text(data['tool_call_id']) ?? '';
    const named = {
      name: text(data['name']) ?? 'tool',
      tool_id: text(data['tool_id']) ?? null,
      kind: text(data['kind']),
    };
    if (type === 'tool_started') {
      const none = { result: undefined, outcome: undefined, code: undefined };
      const call = {
        id,
        ...named,
        start_ms: offset_ms,
        end_ms: null,
        arguments: text(data['arguments']),
        ok: null,
        ...none,
      };
      calls.push(call);
      open.set(key, [...(open.get(key) ?? []), call]);
      continue;
    }
    const end = {
      end_ms: offset_ms,
      result: text(data['result']),
      ok: data['ok'] === true,
      outcome: text(data['outcome']),
      code: text(data['code']),
    };
    const started = open.get(key)?.shift();
    if (started) Object.assign(started, end);
    else {
      const start_ms = Math.max(0, offset_ms - (number(data['duration_ms']) ?? 0));
      calls.push({ id, ...named, start_ms, arguments: undefined, ...end });
    }
  }
  return calls;
}

function toolMarks(events: readonly LogEvent[]): LaneMark[] {
  return toolCallsOf(events).map((call) => ({
    id: call.id,
    start_ms: call.start_ms,
    end_ms: call.end_ms ?? call.start_ms,
    title: `${call.name}${call.ok === null ? ' (no answer)' : call.ok ? '' : ` (${words(call.outcome ?? 'failed')})`}`,
    tone: call.ok === false ? 'bad' : call.ok === null ? 'normal' : 'good',
    details: [
      ...(call.arguments === undefined ? [] : [{ name: 'Arguments', value: call.arguments }]),
      ...(call.result === undefined ? [] : [{ name: 'Answer', value: call.result }]),
      ...(call.code === undefined ? [] : [{ name: 'Code', value: call.code }]),
    ],
  }));
}

function words(code: string): string {
  return code.replaceAll('_', ' ');
}

/** Marks that are too near to each other to be told apart, as one. */
export interface MarkCluster {
  start_ms: number;
  end_ms: number;
  marks: readonly LaneMark[];
}

/**
 * Joins marks whose beginnings lie nearer than `gapMs` to the first of their cluster, so that a lane has no more elements
 * than there is room for. The worst tone of a cluster is found in its marks.
 * @param marks in the order of time
 */
export function clustered(marks: readonly LaneMark[], gapMs: number): MarkCluster[] {
  const clusters: { start_ms: number; end_ms: number; marks: LaneMark[] }[] = [];
  for (const mark of marks) {
    const last = clusters.at(-1);
    if (last && mark.start_ms - last.start_ms < gapMs) {
      last.marks.push(mark);
      last.end_ms = Math.max(last.end_ms, mark.end_ms);
    } else clusters.push({ start_ms: mark.start_ms, end_ms: mark.end_ms, marks: [mark] });
  }
  return clusters;
}
