import type { Model } from 'mongoose';
import type { Turn } from '@parley/shared/contracts/turn';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock, Timer } from '@parley/shared/time/clock';
import type { PeriodicTask } from '../jobs/periodic-task.ts';
import type { AfterCall } from '../sessions/session-closer.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import { postCallJobCollection, repeatId, toTask } from './post-call-job-model.ts';
import type { PostCallJobRecord } from './post-call-job-model.ts';
import type { PostCallRun } from './post-call-run.ts';
import type { RepeatRun } from './repeat-run.ts';

const PARALLEL = 4;
/** How long after the death of a process its jobs are taken up by another; renewed while it is at work. */
const LEASE_MS = 20_000;
const RENEW_MS = 5000;
const ATTEMPTS = 5;
const RETRY_MS = 60_000;

/** Queue of what is to be done after calls: one job for each session, leased to one process, tried again when it fails. */
export class PostCallJobs implements AfterCall {
  readonly #jobs: Model<PostCallJobRecord>;
  readonly #run: Pick<PostCallRun, 'run' | 'finish'>;
  readonly #repeat: Pick<RepeatRun, 'run' | 'giveUp'>;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #task: PeriodicTask | undefined;

  constructor(deps: {
    database: Database;
    run: Pick<PostCallRun, 'run' | 'finish'>;
    repeat: Pick<RepeatRun, 'run' | 'giveUp'>;
    clock: Clock;
    logger: Logger;
  }) {
    this.#jobs = deps.database.model(postCallJobCollection);
    this.#run = deps.run;
    this.#repeat = deps.repeat;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** The task that runs `work`, to be woken when there is something new. */
  wakeWith(task: PeriodicTask): void {
    this.#task = task;
  }

  /** @inheritdoc */
  async enqueue(
    session: SessionRecord,
    { turns, delayMs = 0 }: { turns: Turn[] | null; delayMs?: number },
  ): Promise<void> {
    // A test tells nobody, and is judged by its own run; whom a caller is transferred to, the caller's own call tells of.
    if (session.test_run_id !== null || session.parent_session_id != null) {
      await this.#run.finish(session._id, 'skipped');
      return;
    }
    const runAt = new Date(this.#clock.now() + delayMs);
    try {
      const Job = this.#jobs;
      await new Job({
        _id: session._id,
        status: 'pending',
        run_at: runAt,
        lease_until: new Date(0),
        turns,
      }).save();
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      // A late report brings the reaper's job forward; one that has run is not run again.
      await this.#jobs.updateOne(
        { _id: session._id, status: 'pending', attempts: 0, run_at: { $gt: runAt } },
        { $set: { run_at: runAt, ...(turns ? { turns } : {}) } },
      );
    }
    if (delayMs === 0) this.wake();
  }

  /** There is something new to be done. */
  wake(): void {
    void this.#task?.runNow();
  }

  /** Runs every job that is due. */
  async work(signal: AbortSignal): Promise<void> {
    const lanes = Array.from({ length: PARALLEL }, async () => {
      while (!signal.aborted) {
        const job = await this.#claim();
        if (!job) return;
        await this.#attempt(job, signal);
      }
    });
    await Promise.all(lanes);
  }

  /** Whether its analyses are still to be made. */
  async isPending(sessionId: string): Promise<boolean> {
    const jobs = { $in: [sessionId, repeatId(sessionId)] };
    return (await this.#jobs.exists({ _id: jobs, status: 'pending' })) !== null;
  }

  /** Forgets what was said in a session. */
  async erase(sessionId: string): Promise<void> {
    await this.#jobs.updateOne({ _id: sessionId }, { $set: { turns: null } });
  }

  #claim(): Promise<PostCallJobRecord | null> {
    const now = new Date(this.#clock.now());
    return this.#jobs
      .findOneAndUpdate(
        { status: 'pending', run_at: { $lte: now }, lease_until: { $lte: now } },
        { $set: { lease_until: new Date(now.getTime() + LEASE_MS) }, $inc: { attempts: 1 } },
        { sort: { run_at: 1 }, returnDocument: 'after' },
      )
      .lean<PostCallJobRecord>();
  }

  async #attempt(job: PostCallJobRecord, stop: AbortSignal): Promise<void> {
    const lease = this.#keep(job, stop);
    const { signal } = lease;
    const { sessionId, repeats } = toTask(job);
    try {
      await (repeats ? this.#repeat : this.#run).run(job, signal);
      await this.#settle(job, { status: 'done', turns: null });
    } catch (error) {
      const attempts = job.attempts - (job.attempts_before ?? 0);
      // Stopping is no failure: the job is taken up again.
      const again = signal.aborted || attempts < ATTEMPTS;
      const wait = signal.aborted ? 0 : RETRY_MS * attempts;
      const details = { err: error, sessionId };
      if (signal.aborted) this.#logger.info(details, 'post-call job interrupted');
      else if (again) this.#logger.warn(details, 'post-call job failed and will be retried');
      else this.#logger.error(details, 'post-call job failed');
      const mine = await this.#settle(
        job,
        again
          ? { status: 'pending', run_at: new Date(this.#clock.now() + wait), lease_until: new Date(0) }
          : { status: 'failed', turns: null },
        { taken: signal.aborted ? -1 : 0 },
      );
      if (mine && !again)
        await (repeats ? this.#repeat.giveUp(sessionId) : this.#run.finish(sessionId, 'failed'));
    } finally {
      lease.stop();
    }
  }

  /**
   * Renews the lease of a job until it is stopped.
   * @returns a signal that aborts with `stop`, and when another process has taken the job over
   */
  #keep(job: PostCallJobRecord, stop: AbortSignal): { signal: AbortSignal; stop(): void } {
    const ours = new AbortController();
    const onStop = (): void => ours.abort(stop.reason);
    if (stop.aborted) onStop();
    else stop.addEventListener('abort', onStop);
    let timer: Timer | undefined;
    let over = false;
    const renew = async (): Promise<void> => {
      try {
        const lease_until = new Date(this.#clock.now() + LEASE_MS);
        if (!(await this.#settle(job, { lease_until })) && !over)
          ours.abort(new Error('Another process has taken the post-call job over.'));
      } catch (error) {
        this.#logger.warn({ err: error, sessionId: job._id }, 'the lease of a job could not be renewed');
      }
      if (!over && !ours.signal.aborted) later();
    };
    const later = () => (timer = this.#clock.setTimeout(() => void renew(), RENEW_MS));
    later();
    return {
      signal: ours.signal,
      stop() {
        over = true;
        timer?.cancel();
        stop.removeEventListener('abort', onStop);
      },
    };
  }

  /** Changes a job while it is ours: whoever takes it over counts an attempt. @returns whether it was */
  async #settle(
    job: PostCallJobRecord,
    set: Partial<PostCallJobRecord>,
    { taken = 0 }: { taken?: number } = {},
  ): Promise<boolean> {
    const { matchedCount } = await this.#jobs.updateOne(
      { _id: job._id, status: 'pending', attempts: job.attempts },
      { $set: set, ...(taken === 0 ? {} : { $inc: { attempts: taken } }) },
    );
    return matchedCount > 0;
  }
}
