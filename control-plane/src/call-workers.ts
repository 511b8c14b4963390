import { DisposableList } from '@parley/shared/async/disposable-list';
import { UnavailableError } from '@parley/shared/errors/app-error';
import type { Services } from './features.ts';
import { DEAD_LETTERS_REMINDER_MS, warnOfDeadLetters } from './jobs/dead-letters.ts';
import { REAPER_INTERVAL_MS } from './calls/reaper.ts';
import { PeriodicTask } from './jobs/periodic-task.ts';
import { RETENTION_INTERVAL_MS } from './sessions/retention.ts';
import { isDatabaseUnreachable, isDiskUnusable } from './storage/unreachable.ts';

/** The work of calls that no request does: events of gateways, lost calls, what follows a call. */
export function openCallWorkers(services: Services): AsyncDisposable {
  const { bus, clock, logger, callEvents, reaper, retention, postCall, deliveries } = services;
  const owned = new DisposableList();
  const task = (name: string, everyMs: number, work: (signal: AbortSignal) => Promise<void>) =>
    owned.add(new PeriodicTask({ name, everyMs, work, clock, logger }));

  owned.defer(() => reaper.release().catch(() => {}));
  task('reaper', REAPER_INTERVAL_MS, (signal) => reaper.sweep(signal));
  owned.defer(() => retention.release().catch(() => {}));
  task('retention', RETENTION_INTERVAL_MS, async (signal) => {
    await retention.sweep(signal);
  });
  deliveries.wakeWith(task('webhook deliveries', 5000, (signal) => deliveries.work(signal)));
  postCall.wakeWith(task('post-call jobs', 5000, (signal) => postCall.work(signal)));
  const reminder = task('dead letters', DEAD_LETTERS_REMINDER_MS, () =>
    warnOfDeadLetters(bus.events.deadLetters, logger),
  );
  void reminder.runNow();
  owned.add(
    bus.events.consume({
      consumer: services.processName,
      handle: (event) => callEvents.handle(event),
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
