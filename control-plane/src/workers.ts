import { DisposableList } from '@parley/shared/async/disposable-list';
import { UnavailableError } from '@parley/shared/errors/app-error';
import type { AllFeatures } from './composition/all-features.ts';
import type { PeriodicWork } from './composition/feature.ts';
import type { Services } from './features.ts';
import { DEAD_LETTERS_REMINDER_MS, warnOfDeadLetters } from './jobs/dead-letters.ts';
import { PeriodicTask } from './jobs/periodic-task.ts';
import { isDatabaseUnreachable, isDiskUnusable } from './storage/unreachable.ts';

/** How long after the death of a process its events are taken up by another. */
const EVENTS_LEASE_MS = 6000;

/** The work that no request does: that of the features, and the events of gateways. */
export function openWorkers(services: Services, features: AllFeatures): AsyncDisposable {
  const { bus, clock, logger, callEvents } = services;
  const owned = new DisposableList();
  const start = ({ name, everyMs, work }: PeriodicWork) =>
    owned.add(
      new PeriodicTask({ name, everyMs, work: async (signal) => void (await work(signal)), clock, logger }),
    );

  for (const worker of features.workers) {
    // Behind the end of the task: it may be at work still.
    owned.defer(() => worker.release?.().catch(() => {}));
    const task = start(worker);
    worker.wakeWith?.(task);
  }
  const reminder = start({
    name: 'dead letters',
    everyMs: DEAD_LETTERS_REMINDER_MS,
    work: () => warnOfDeadLetters(bus.events.deadLetters, logger),
  });
  void reminder.runNow();
  owned.add(
    bus.events.consume({
      consumer: services.processName,
      handle: (event) => callEvents.handle(event),
      leaseMs: EVENTS_LEASE_MS,
      isOutage,
      onDead: (_event, reason) => {
        logger.error({ reason }, 'a call event could not be processed and is now a dead letter');
        void reminder.runNow();
      },
      onError: (error) => logger.warn({ err: error }, 'call events could not be read'),
    }),
  );
  return owned;
}

/** Database, recordings or bus are away: no fault of the event. */
function isOutage(error: unknown): boolean {
  return isDatabaseUnreachable(error) || isDiskUnusable(error) || error instanceof UnavailableError;
}
