import { isDeepStrictEqual } from 'node:util';

/** A tool that was called for an answer. */
export interface ReplayedTool {
  name: string;
  /** As the model wrote them. */
  arguments: string | null;
  ok: boolean | null;
  code: string | null;
  duration_ms: number | null;
}

/** What the agent did about something that the caller said. */
export interface ReplayedReply {
  text: string;
  /** Whether the caller cut it off: the text is what was heard of it. */
  interrupted: boolean;
  /** From the caller's last word to the agent's first; null in writing, and where it was not taken. */
  latency_ms: number | null;
  /** Until the first word of the language model. */
  llm_first_token_ms: number | null;
  tools: ReplayedTool[];
}

/** What was said by one caller turn; the first has none: it is what the agent said by itself. */
export interface Exchange extends ReplayedReply {
  caller: string | null;
}

/** One turn of the caller, then and now. */
export interface ReplayedTurn {
  caller: string | null;
  before: ReplayedReply;
  /** null: it was not said again, or the conversation had ended. */
  after: ReplayedReply | null;
  reply_changed: boolean;
  tools_changed: boolean;
}

export interface StoredTurn {
  role: 'agent' | 'caller' | 'operator';
  text: string;
  start_ms: number;
  end_ms: number;
  interrupted: boolean;
  latency: { e2e: number | null; llm_first_token: number | null } | null;
}

export interface StoredToolCall {
  tool_name: string;
  arguments: string | null;
  ok: boolean | null;
  code: string | null;
  duration_ms: number | null;
  offset_ms: number;
}

/** Keys that were pressed, as a transcript has them: nobody can say them again in writing. */
const KEYS = '(keys)';

/** Whether a text can be said again. */
export function isSpoken(text: string): boolean {
  return text.trim() !== '' && !text.startsWith(KEYS);
}

/** A conversation as what the caller said and what the agent did about it: turns and tool calls in their order. */
export function exchangesOf(turns: readonly StoredTurn[], calls: readonly StoredToolCall[]): Exchange[] {
  const exchanges: Exchange[] = [newExchange(null)];
  const began = [-Infinity];
  for (const { role, text, start_ms, interrupted, latency } of turns) {
    if (role === 'caller') {
      exchanges.push(newExchange(text.trim()));
      began.push(start_ms);
      continue;
    }
    const current = exchanges.at(-1)!;
    current.text = [current.text, text.trim()].filter((part) => part !== '').join(' ');
    current.interrupted ||= interrupted;
    current.latency_ms ??= latency?.e2e ?? null;
    current.llm_first_token_ms ??= latency?.llm_first_token ?? null;
  }
  for (const call of calls) {
    const at = began.findLastIndex((ms) => ms <= call.offset_ms);
    const { arguments: given, ok, code, duration_ms } = call;
    exchanges[at]!.tools.push({ name: call.tool_name, arguments: given, ok, code, duration_ms });
  }
  return exchanges;
}

/** Sets two conversations beside each other, turn of the caller by turn of the caller. */
export function diffOf(before: readonly Exchange[], after: readonly Exchange[]): ReplayedTurn[] {
  let next = 0;
  return before.map(({ caller, ...was }) => {
    const again = caller === null || isSpoken(caller) ? after[next++] : undefined;
    const { caller: _, ...is } = again ?? { caller };
    const reply = again === undefined ? null : (is as ReplayedReply);
    return {
      caller,
      before: was,
      after: reply,
      reply_changed: reply !== null && !sameText(was, reply),
      tools_changed: reply !== null && !isDeepStrictEqual(was.tools.map(called), reply.tools.map(called)),
    };
  });
}

/** Of a reply that was cut off only its beginning can be compared. */
function sameText(before: ReplayedReply, after: ReplayedReply): boolean {
  const plain = (text: string) => text.replace(/\s+/g, ' ').trim();
  const [was, is] = [plain(before.text), plain(after.text)];
  return before.interrupted ? is.startsWith(was.replace(/\W+$/, '')) : was === is;
}

/** What counts of a tool call: which, with what; not how long it took. */
function called({ name, arguments: given }: ReplayedTool): unknown {
  try {
    return [name, JSON.parse(given ?? '{}') as unknown];
  } catch {
    return [name, given];
  }
}

function newExchange(caller: string | null): Exchange {
  return { caller, text: '', interrupted: false, latency_ms: null, llm_first_token_ms: null, tools: [] };
}
