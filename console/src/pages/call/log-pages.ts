import type { LogEvent } from './session-log.ts';

/** Events that one request brings. */
export const EVENTS_PER_PAGE = 200;
/** A bound on what a page holds: more than a call of four hours has. */
const MAX_EVENTS = 50_000;

/**
 * Reads the events of a session behind the last one that is known, page by page.
 * @param known in order; what is read is joined to it
 * @param load the events behind an index, in order; less than a page when there are no more
 */
export async function readEvents(
  known: readonly LogEvent[],
  load: (afterIndex: number | undefined) => Promise<readonly LogEvent[]>,
): Promise<readonly LogEvent[]> {
  let events = known;
  while (events.length < MAX_EVENTS) {
    const page = await load(events.at(-1)?.index);
    if (page.length > 0) events = [...events, ...page];
    if (page.length < EVENTS_PER_PAGE) break;
  }
  return events;
}
