import { number, text } from '../call/session-log.ts';
import type { LogEvent } from '../call/session-log.ts';

export interface LiveTurn {
  index: number;
  role: string;
  text: string;
  startMs: number;
  interrupted: boolean;
  /** As its event tells it; see `replyLatency`. */
  latency: unknown;
}

export interface LiveTool {
  id: string;
  name: string;
  /** `running` until it has finished. */
  outcome: string;
  durationMs: number | null;
}

/** A live call as it stands, from its events in whatever order they came. */
export interface LiveLog {
  turns: readonly LiveTurn[];
  /** What each side has said of its unfinished turn. */
  words: Readonly<Record<'caller' | 'agent', string>>;
  /** The last decision on whose turn it is. */
  decision: LogEvent | null;
  tools: readonly LiveTool[];
  /** What else happened, the newest last. */
  others: readonly LogEvent[];
  status: string | null;
}

export const EMPTY_LOG: LiveLog = {
  turns: [],
  words: { caller: '', agent: '' },
  decision: null,
  tools: [],
  others: [],
  status: null,
};

const MOST_TOOLS = 50;
const MOST_OTHERS = 100;

/** Takes an event in: one that comes again changes nothing. */
export function withEvent(log: LiveLog, event: LogEvent): LiveLog {
  const { type, data } = event;
  switch (type) {
    case 'words': {
      const role = data['role'];
      if (role !== 'caller' && role !== 'agent') return log;
      return { ...log, words: { ...log.words, [role]: text(data['text']) ?? '' } };
    }
    case 'turn':
      return withTurn(log, data);
    case 'turn_decision':
      return { ...log, decision: event };
    case 'tool_started':
      return withTool(log, data, { outcome: 'running', durationMs: null });
    case 'tool_finished':
      return withTool(log, data, {
        outcome: text(data['outcome']) ?? (data['ok'] === true ? 'succeeded' : 'failed'),
        durationMs: number(data['duration_ms']) ?? null,
      });
    case 'state':
      return { ...withOther(log, event), status: text(data['status']) ?? log.status };
    case 'command_result':
      return data['ok'] === false ? withOther(log, event) : log;
    case 'call_ended':
    case 'carrier_command':
    case 'tool_confirmation':
      return log;
    default:
      return withOther(log, event);
  }
}

/** Whose turn it is, in words. */
export function floorOf(log: LiveLog): { who: 'caller' | 'agent' | 'tool' | 'nobody'; text: string } {
  const tool = log.tools.find(({ outcome }) => outcome === 'running');
  if (log.status === 'transferring')
    return { who: 'nobody', text: 'The caller is being brought to somebody else' };
  if (log.words.caller !== '') return { who: 'caller', text: 'The caller is speaking' };
  if (log.words.agent !== '') return { who: 'agent', text: 'The agent is speaking' };
  if (tool) return { who: 'tool', text: `Waiting for ${tool.name}` };
  const last = log.turns.at(-1);
  if (last?.role === 'caller') return { who: 'agent', text: 'The agent is thinking' };
  if (last) return { who: 'caller', text: "It is the caller's turn" };
  return { who: 'nobody', text: 'Nobody has spoken yet' };
}

function withTurn(log: LiveLog, data: LogEvent['data']): LiveLog {
  const index = number(data['turn_index']);
  if (index === undefined) return log;
  const role = text(data['role']) ?? 'caller';
  const turn: LiveTurn = {
    index,
    role,
    text: text(data['text']) ?? '',
    startMs: number(data['start_ms']) ?? 0,
    interrupted: data['interrupted'] === true,
    latency: data['latency'] ?? null,
  };
  const turns = [...log.turns.filter((other) => other.index !== index), turn].sort(
    (a, b) => a.index - b.index,
  );
  const isSpoken = role === 'caller' || role === 'agent';
  return { ...log, turns, words: isSpoken ? { ...log.words, [role]: '' } : log.words };
}

function withTool(
  log: LiveLog,
  data: LogEvent['data'],
  state: Pick<LiveTool, 'outcome' | 'durationMs'>,
): LiveLog {
  const id = text(data['tool_call_id']) ?? '';
  const tool = { id, name: text(data['name']) ?? 'a tool', ...state };
  // Some models use an id twice: the last one is meant.
  const known = log.tools.findLastIndex((other) => other.id === id);
  const isNew = known === -1 || (state.outcome === 'running' && log.tools[known]!.outcome !== 'running');
  const tools = isNew ? [...log.tools, tool] : log.tools.map((other, at) => (at === known ? tool : other));
  return { ...log, tools: tools.slice(-MOST_TOOLS) };
}

function withOther(log: LiveLog, event: LogEvent): LiveLog {
  if (log.others.some(({ id }) => id === event.id)) return log;
  return { ...log, others: [...log.others, event].slice(-MOST_OTHERS) };
}
