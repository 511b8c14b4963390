import type { LiveEvent } from '@parley/shared/contracts/live-events';
import type { LiveItem, LiveSource } from '../live/live-stream.ts';
import type { CallLog } from './call-log.ts';
import { toEvent } from './session-event-model.ts';
import type { SessionEventRecord } from './session-event-model.ts';
import type { SessionWatches } from './session-watches.ts';

const PAGE = 200;
/** Two who write at once may store their events in another order than that of their places, but not much further apart. */
const MARGIN = 200;

/** Events at which a call may have come to a gateway. */
const BEGINNINGS: ReadonlySet<string> = new Set(['state', 'call_started']);

/** What the stream reads: a `CallLog`. */
type Stored = Pick<CallLog, 'event' | 'eventsAfter' | 'turnsNumbered'>;

/**
 * The events of a session for who follows it: those that are stored, then each as it comes. Turns have their text.
 * @param options.after the last event that the client has, by its id or its place
 */
export async function sessionStream(
  log: Stored,
  sessionId: string,
  options: {
    watches: Pick<SessionWatches, 'watch' | 'renew'>;
    after: { id?: string | undefined; index?: number | undefined };
    types?: readonly string[] | undefined;
  },
): Promise<LiveSource> {
  const { after, types, watches } = options;
  const hears = !types || types.includes('words');
  const last = after.id === undefined ? null : await log.event(sessionId, after.id);
  const isNew = ({ index, created_at: at }: SessionEventRecord) =>
    last ? index > last.index || at > last.created_at : index > (after.index ?? -1);
  /** Place of the last event that was read. */
  let reached = last?.index ?? after.index ?? -1;

  return {
    topic: { sessionId },
    async *stored() {
      for (let from = reached - MARGIN; ;) {
        const page = await log.eventsAfter(sessionId, { types, index: from, limit: PAGE });
        yield await toItems(log, sessionId, page.filter(isNew).map(toEvent));
        from = page.at(-1)?.index ?? from;
        reached = Math.max(reached, from);
        if (page.length < PAGE) return;
      }
    },
    opened: () => (hears ? watches.watch(sessionId) : () => undefined),
    async item(event) {
      // Another gateway may have the call now.
      if (BEGINNINGS.has(event.type)) watches.renew(sessionId);
      if (types && !types.includes(event.type)) return null;
      const [item] = await toItems(log, sessionId, [event]);
      return item ?? null;
    },
  };
}

async function toItems(log: Stored, sessionId: string, events: readonly LiveEvent[]): Promise<LiveItem[]> {
  const numbers = new Set(events.flatMap((event) => turnOf(event) ?? []));
  const turns = numbers.size === 0 ? [] : await log.turnsNumbered(sessionId, [...numbers]);
  const texts = new Map(turns.map(({ turn_index, text }) => [turn_index, text]));
  return events.map((event) => {
    const text = texts.get(turnOf(event) ?? -1);
    return {
      id: event.index === null ? null : event.id,
      data: text === undefined ? event : { ...event, data: { ...event.data, text } },
    };
  });
}

function turnOf({ type, data }: LiveEvent): number | undefined {
  const index = data['turn_index'];
  return type === 'turn' && typeof index === 'number' ? index : undefined;
}
