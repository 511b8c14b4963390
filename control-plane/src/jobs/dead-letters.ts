import type { DeadLetter, DeadLetters } from '@parley/shared/bus/bus';
import { callEventSchema } from '@parley/shared/contracts/call-events';
import type { Logger } from '@parley/shared/logging/logger';

/** What an operator runs on the server when call events were given up. */
export const DEAD_LETTERS_COMMAND = 'npm run admin -- dead-letters list';
/** While there are any, a log line says so at least this often. */
export const DEAD_LETTERS_REMINDER_MS = 10 * 60_000;
const PAGE = 100;

/** One error line for a person to act on, while there are given-up events. */
export async function warnOfDeadLetters(deadLetters: DeadLetters, logger: Logger): Promise<void> {
  const count = await deadLetters.count();
  if (count > 0) {
    logger.error(
      { deadLetters: count, command: DEAD_LETTERS_COMMAND },
      'call events could not be processed: fix the cause, then replay them',
    );
  }
}

/** One line a letter: id, when, what, whose session, why. What was said in a call is not shown. */
export async function listDeadLetters(deadLetters: DeadLetters): Promise<string> {
  const lines: string[] = [];
  for await (const { id, at, event, reason } of all(deadLetters)) {
    const { data } = callEventSchema.safeParse(event);
    const what = data ? `${data.type}  session ${data.session_id}  event ${data.id}` : 'not a call event';
    lines.push(`${id}  ${at.toISOString()}  ${what}  ${reason}\n`);
  }
  return lines.length === 0 ? 'No dead letters.\n' : lines.join('');
}

/**
 * Puts letters back into the event log, oldest first and each event once.
 * @param ids which ones; all when empty
 */
export async function replayDeadLetters(deadLetters: DeadLetters, ids: readonly string[]): Promise<string> {
  // Events that are given up again meanwhile come behind these.
  let left = await deadLetters.count();
  const wanted = new Set(ids);
  const replayed = new Set<string>();
  let kept = 0;
  for await (const letter of all(deadLetters)) {
    if (left-- <= 0) break;
    if (wanted.size > 0 && !wanted.has(letter.id)) continue;
    const { data } = callEventSchema.safeParse(letter.event);
    if (data && replayed.has(data.id)) await deadLetters.remove(letter.id);
    else if (await deadLetters.replay(letter)) replayed.add(data!.id);
    else kept++;
  }
  const rest =
    kept === 0
      ? ''
      : `${kept} could not be replayed: each is malformed, or was replayed by another process\n`;
  return `${replayed.size} replayed\n${rest}`;
}

/** Forgets letters that nobody wants to see again. */
export async function removeDeadLetters(deadLetters: DeadLetters, ids: readonly string[]): Promise<string> {
  for (const id of ids) await deadLetters.remove(id);
  return 'done\n';
}

async function* all(deadLetters: DeadLetters): AsyncGenerator<DeadLetter, void, undefined> {
  for (let after: string | undefined; ;) {
    const page = await deadLetters.list({ limit: PAGE, ...(after !== undefined && { after }) });
    yield* page;
    if (page.length < PAGE) return;
    after = page.at(-1)!.id;
  }
}
