import type { styleText } from 'node:util';

interface Reply {
  text: string;
  interrupted: boolean;
  latency_ms: number | null;
  llm_first_token_ms: number | null;
  tools: { name: string; arguments: string | null; ok: boolean | null; code: string | null }[];
}

/** As `GET /v1/replays/{replay_id}` answers. */
export interface Replay {
  id: string;
  version: number;
  status: 'queued' | 'running' | 'completed' | 'failed';
  error: string | null;
  replies_changed: number | null;
  tools_changed: number | null;
  turns: {
    caller: string | null;
    before: Reply;
    after: Reply | null;
    reply_changed: boolean;
    tools_changed: boolean;
  }[];
}

/**
 * A replay for people: what the caller said, and below it what has changed, `-` then and `+` now.
 * @param all those turns too in which nothing has
 */
export function printReplay(replay: Replay, all: boolean, style: typeof styleText): string {
  if (replay.status !== 'completed') return `The replay ${replay.id} failed: ${replay.error ?? 'unknown'}\n`;
  const lines: string[] = [];
  for (const { caller, before, after, reply_changed, tools_changed } of replay.turns) {
    if (!all && !reply_changed && !tools_changed) continue;
    lines.push(caller === null ? '(at the beginning)' : `caller: ${caller}`);
    if (!after) lines.push(style('gray', '  (not said again)'));
    else if (reply_changed) lines.push(style('red', `- ${said(before)}`), style('green', `+ ${said(after)}`));
    else lines.push(`  ${said(before)}`);
    if (after && tools_changed)
      lines.push(
        ...before.tools.map((tool) => style('red', `- ${called(tool)}`)),
        ...after.tools.map((tool) => style('green', `+ ${called(tool)}`)),
      );
    else lines.push(...before.tools.map((tool) => `  ${called(tool)}`));
    if (after) lines.push(style('gray', `  first token ${ms(before)} before, ${ms(after)} now`));
  }
  lines.push(
    `${replay.turns.length} turns with version ${replay.version}: ${replay.replies_changed} other replies, other tools in ${replay.tools_changed}.`,
  );
  return `${lines.join('\n')}\n`;
}

function said({ text, interrupted }: Reply): string {
  return `agent: ${text === '' ? '(nothing)' : text}${interrupted ? ' (cut off)' : ''}`;
}

function called({ name, arguments: given, ok, code }: Reply['tools'][number]): string {
  return `tool: ${name} ${given ?? ''} ${ok ? 'ok' : (code ?? 'failed')}`;
}

function ms({ llm_first_token_ms: first }: Reply): string {
  return first === null ? 'none' : `${first} ms`;
}
