import type { Logger } from '../logging/logger.ts';
import { systemClock, type Clock } from '../time/clock.ts';
import { DEFAULT_PARTITIONS } from './bus-limits.ts';
import type { Bus, ConsumeOptions } from './bus.ts';
import { openDeadLetters } from './dead-letters.ts';
import { EventReader } from './event-reader.ts';
import { LocalEventStore } from './local-event-store.ts';
import {
  LocalCommands,
  LocalLeases,
  LocalLive,
  LocalPresence,
  LocalRates,
  LocalSlots,
  LocalWakeup,
} from './local-state.ts';

/**
 * The bus of one process. Events are in a SQLite file (`:memory:` for none) and survive it; all else is about the
 * running process and is kept in memory.
 * @throws when the file can't be used, or another process uses it
 */
export async function openLocalBus(options: {
  path: string;
  partitions?: number;
  logger: Logger;
  clock?: Clock;
}): Promise<Bus> {
  const { path, partitions = DEFAULT_PARTITIONS, logger, clock = systemClock } = options;
  const store = await LocalEventStore.open({ path, partitions, logger, clock });
  const leases = new LocalLeases(clock);
  const readers = new Set<EventReader>();
  let disposing: Promise<void> | undefined;

  return {
    events: {
      append: (events) => store.append(events),
      consume(options: ConsumeOptions) {
        const reader = new EventReader({ store, leases, logger, clock, options });
        readers.add(reader);
        return reader;
      },
      deadLetters: openDeadLetters(store.letters),
    },
    commands: new LocalCommands(clock),
    leases,
    slots: new LocalSlots(clock),
    rates: new LocalRates(clock),
    presence: new LocalPresence(clock),
    dispatch: new LocalWakeup(),
    live: new LocalLive(),
    healthy: () => store.healthy(),
    ping: () => store.ping(),
    [Symbol.asyncDispose]() {
      disposing ??= (async () => {
        await Promise.all([...readers].map((reader) => reader[Symbol.asyncDispose]()));
        await store[Symbol.asyncDispose]();
      })();
      return disposing;
    },
  };
}
