import * as nodeFs from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { backoffMs } from '@parley/shared/async/backoff';
import { wavHeader } from '@parley/shared/audio/wav';
import type { RecordingResult } from '@parley/shared/contracts/recordings';
import { recordingResultSchema, recordingStoreSchema } from '@parley/shared/contracts/recordings';
import { EVENT_INDEXES_PER_LEG } from '@parley/shared/contracts/session-plan';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import { newId } from '@parley/shared/ids/new-id';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock, Timer } from '@parley/shared/time/clock';
import { directDisk } from '../disk/disk.ts';
import type { Disk } from '../disk/disk.ts';
import type { CallReporter } from '../reporting/call-reporter.ts';
import type { EventOutbox } from '../reporting/event-outbox.ts';
import type { Participant } from '../participants/participant.ts';
import type { CallRecorder } from './call-recorder.ts';
import { noRecorder } from './call-recorder.ts';
import { Mp3Encoder } from './mp3-encoder.ts';
import { PartFile, WAV_HEADER_BYTES } from './part-file.ts';
import type { RecordingFs } from './part-file.ts';
import { StoreConflictError } from './recording-store.ts';
import type { RecordingStore, StoredFile } from './recording-store.ts';
import { mutedAfterCrash, mutedStretchSchema, muteFile, recordingRedaction } from './muted-stretches.ts';
import { WavMixer } from './wav-mixer.ts';

/** A call waits this long for its recording to be stored; longer ones are told by an event of their own. */
const FINISH_WAIT_MS = 2000;
const QUEUED_SECONDS = 2;
const GIVE_UP_AFTER_MS = 24 * 60 * 60 * 1000;
const FIRST_RETRY_MS = 1000;
const MAX_RETRY_MS = 5 * 60 * 1000;
const SENT_CHECK_MS = 250;
const SAFE_NAME = /^[A-Za-z0-9_-]{1,80}$/;
const JOB_SUFFIX = '.recording.json';
/** Events about a leg whose process died, below that of its end; see report-spool.ts. */
const RECOVERED_INDEX = { stored: EVENT_INDEXES_PER_LEG - 2, failed: EVENT_INDEXES_PER_LEG - 3 };

/** What stands beside a `.part`, so that another process can finish it. Holds no credential. */
const jobSchema = z.object({
  v: z.literal(1),
  recording_id: z.string().regex(SAFE_NAME),
  session_id: z.uuid(),
  claim_id: z.string(),
  first_event_index: z.number().int(),
  answered_at: z.string(),
  store: recordingStoreSchema,
  key: z.string(),
  /** As it is stored; the part is WAV, and an MP3 is made of it when it is whole. */
  format: z.enum(['wav', 'mp3']).default('wav'),
  channels: z.number().int().min(1).max(2),
  sample_rate: z.number().int(),
  /** The file is whole; since when it is to be stored. */
  finished_at: z.string().nullable(),
  gap_ms: z.number().int(),
  /** What is made silent, and until where that is known; see muted-stretches.ts. */
  muted: z.array(mutedStretchSchema).default([]),
  judged_ms: z.number().nullable().default(null),
  /** What is to be told once the part is gone: noted before. The job stays until it was told. */
  outcome: recordingResultSchema.nullable(),
});
type Job = z.infer<typeof jobSchema>;

/** How the outcome of a recording is told. */
type Notify = (result: RecordingResult) => void;

/** Recordings of this process, from the first sample until they are stored; those of an earlier one as well. */
export class RecordingSpool {
  readonly #deps: RecordingSpoolDeps;
  readonly #fs: RecordingFs;
  readonly #disk: Disk;
  readonly #abort = new AbortController();
  readonly #timers = new Set<Timer>();
  /** Outcomes that went out as events, with the place of theirs in the outbox. */
  readonly #told = new Map<Job, number>();
  readonly #working = new Set<Promise<unknown>>();
  readonly #mp3 = new Mp3Encoder();
  /** Files of calls that have not ended. */
  readonly #open = new Set<PartFile>();
  #pending = 0;

  private constructor(deps: RecordingSpoolDeps) {
    this.#deps = deps;
    this.#fs = deps.fs ?? nodeFs;
    this.#disk = deps.disk ?? directDisk(this.#fs);
  }

  /** Finishes what an earlier process left behind, in the background. Only one process may use `dir`. */
  static async open(deps: RecordingSpoolDeps): Promise<RecordingSpool> {
    const spool = new RecordingSpool(deps);
    for (const name of await spool.#fs.readdir(deps.dir)) {
      if (name.endsWith(JOB_SUFFIX)) spool.#work(spool.#recover(path.join(deps.dir, name)));
    }
    return spool;
  }

  /** Recordings that are finished and not stored yet. */
  get pending(): number {
    return this.#pending;
  }

  /** A recorder for one call; one that does nothing when the call is not to be recorded. Never throws. */
  recorder(call: {
    plan: Pick<SessionPlan, 'session_id' | 'claim_id' | 'first_event_index' | 'record' | 'redaction'>;
    participant: Pick<Participant, 'inputFormat' | 'outputFormat'>;
    /** ms since the epoch */
    answeredAt: number;
    reporter: Pick<CallReporter, 'emit'>;
    logger: Logger;
  }): CallRecorder {
    const { record } = call.plan;
    if (!record.enabled) return noRecorder;
    const { reporter, logger, answeredAt } = call;
    const { clock } = this.#deps;
    const offset = () => clock.now() - answeredAt;
    const failed = (error: string): RecordingResult => ({
      recording_id: record.recording_id,
      status: 'failed',
      error,
    });
    if (!this.#deps.stores[record.store] || !SAFE_NAME.test(record.recording_id)) {
      logger.error(
        { store: record.store },
        'this gateway has no recording store of this kind: the call is not recorded',
      );
      return { ...noRecorder, finish: () => Promise.resolve(failed('store_unsupported')) };
    }
    const { inputFormat, outputFormat } = call.participant;
    const sampleRate = Math.max(8000, inputFormat.sampleRate, outputFormat.sampleRate);
    const job: Job = {
      v: 1,
      recording_id: record.recording_id,
      session_id: call.plan.session_id,
      claim_id: call.plan.claim_id,
      first_event_index: call.plan.first_event_index,
      answered_at: new Date(answeredAt).toISOString(),
      store: record.store,
      key: record.key,
      format: record.format,
      channels: record.channels === 'dual' ? 2 : 1,
      sample_rate: sampleRate,
      finished_at: null,
      gap_ms: 0,
      muted: [],
      judged_ms: call.plan.redaction.kinds.length > 0 ? 0 : null,
      outcome: null,
    };
    const warn = (code: string, error?: string) =>
      reporter.emit('warning', { code, ...(error === undefined ? {} : { error }) }, offset());
    const file = new PartFile({
      path: this.#partOf(job),
      fs: this.#fs,
      writer: this.#disk,
      format: { sampleRate, channels: job.channels },
      maxQueuedBytes: QUEUED_SECONDS * sampleRate * job.channels * 2,
      onFailure: (error) => {
        logger.error({ err: error }, 'the recording of a call cannot be written');
        warn('recording_failed', codeOf(error));
      },
    });
    let gapTold = false;
    const mixer = new WavMixer({
      file,
      sampleRate,
      channels: record.channels,
      caller: inputFormat,
      agent: outputFormat,
      onGap: () => {
        if (gapTold) return;
        gapTold = true;
        warn('recording_gap');
      },
    });
    let saved = Promise.resolve();
    const save = () => {
      saved = saved
        .then(() => this.#saveJob(job))
        .catch((error: unknown) => {
          logger.warn({ err: error }, 'a recording could not be made durable: a crash would lose it');
        });
    };
    save();
    const notify: Notify = (result) => {
      reporter.emit('recording', result, offset());
      this.#forgetWhenTold(job);
    };
    this.#open.add(file);
    const finish = async (endMs: number): Promise<RecordingResult> => {
      this.#open.delete(file);
      await saved;
      try {
        await mixer.finish(endMs);
        await muteFile(this.#partOf(job), this.#fs, job, job.muted);
      } catch (error) {
        await file.close();
        await this.#discard(job);
        return failed(codeOf(error as NodeJS.ErrnoException));
      }
      job.gap_ms = mixer.gapMs;
      return this.#finished(job, notify);
    };
    let finishing: Promise<RecordingResult> | undefined;
    return {
      caller: (bytes, atMs) => mixer.caller(bytes, atMs),
      agent: (bytes, atMs) => mixer.agent(bytes, atMs),
      finish: (endMs) => {
        if (!finishing) {
          finishing = finish(endMs);
          this.#work(finishing);
        }
        return finishing;
      },
      settled: () => {
        if (job.outcome) this.#forget(job);
      },
      redact: recordingRedaction(job, save),
    };
  }

  /** Recordings that are not stored, or not finished, stay on disk for the next process. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort(new Error('The gateway is stopping.'));
    for (const timer of this.#timers) timer.cancel();
    this.#forgetTold();
    await Promise.allSettled([...this.#working, ...[...this.#open].map((file) => file.close())]);
  }

  /** Stores a whole file. @returns the outcome, or `recording` when it takes longer and goes to `notify` */
  async #finished(job: Job, notify: Notify): Promise<RecordingResult> {
    job.finished_at = new Date(this.#deps.clock.now()).toISOString();
    await this.#saveJob(job).catch(() => undefined);
    this.#pending++;
    let late = false;
    const { promise, resolve } = Promise.withResolvers<RecordingResult>();
    const timer = this.#deps.clock.setTimeout(() => {
      late = true;
      resolve({ recording_id: job.recording_id, status: 'recording' });
    }, FINISH_WAIT_MS);
    this.#work(
      this.#store(job, 0, (result) => {
        this.#pending--;
        timer.cancel();
        if (late) notify(result);
        else resolve(result);
      }),
    );
    // Storing that is broken off by the end of the process tells nothing: the next one goes on.
    const stopped = () => resolve({ recording_id: job.recording_id, status: 'recording' });
    this.#abort.signal.addEventListener('abort', stopped, { once: true });
    try {
      return await promise;
    } finally {
      timer.cancel();
      this.#abort.signal.removeEventListener('abort', stopped);
    }
  }

  /** One try; sets the next one when it fails. */
  async #store(job: Job, attempt: number, done: Notify): Promise<void> {
    const { logger, clock, stores } = this.#deps;
    const part = this.#partOf(job);
    const whole = job.format === 'wav' ? part : this.#mp3Of(job);
    try {
      if (job.outcome && (await this.#isGone(whole))) {
        // It was taken, and the process died before it could tell.
        await this.#fs.rm(part, { force: true });
        done(job.outcome);
        return;
      }
      let audioBytes: number | undefined;
      if (whole !== part) {
        audioBytes = (await this.#fs.stat(part)).size;
        await this.#mp3.encode(
          { path: part, sampleRate: job.sample_rate, channels: job.channels },
          whole,
          this.#abort.signal,
        );
      }
      const digest = await this.#disk.digest(whole);
      const file: StoredFile = { recordingId: job.recording_id, key: job.key, ...digest };
      const frames = ((audioBytes ?? digest.sizeBytes) - WAV_HEADER_BYTES) / (job.channels * 2);
      const outcome: RecordingResult = {
        recording_id: job.recording_id,
        status: 'stored',
        key: job.key,
        size_bytes: file.sizeBytes,
        sha256: file.sha256,
        duration_ms: Math.round((frames * 1000) / job.sample_rate),
        channels: job.channels,
        format: job.format,
        ...(job.gap_ms > 0 ? { gap_ms: job.gap_ms } : {}),
      };
      await this.#note(job, outcome);
      await stores[job.store]!.store(whole, file, this.#abort.signal);
      if (whole !== part) await this.#fs.rm(part, { force: true });
      done(outcome);
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      const sinceMs = clock.now() - Date.parse(job.finished_at!);
      const unrecoverable = error instanceof StoreConflictError || codeOf(error as Error) === 'missing';
      if (unrecoverable || sinceMs >= GIVE_UP_AFTER_MS) {
        logger.error(
          { err: error, part: `${part}.failed` },
          'a recording could not be stored and was set aside',
        );
        const outcome: RecordingResult = {
          recording_id: job.recording_id,
          status: 'failed',
          error: codeOf(error as Error),
        };
        await this.#note(job, outcome);
        await this.#fs.rename(part, `${part}.failed`).catch(() => undefined);
        if (whole !== part) await this.#fs.rm(whole, { force: true }).catch(() => undefined);
        done(outcome);
        return;
      }
      const retryMs = backoffMs(attempt, { firstMs: FIRST_RETRY_MS, maxMs: MAX_RETRY_MS });
      logger.warn(
        { err: error, recordingId: job.recording_id, retryMs },
        'a recording could not be stored and will be retried',
      );
      const timer = clock.setTimeout(() => {
        this.#timers.delete(timer);
        this.#work(this.#store(job, attempt + 1, done));
      }, retryMs);
      this.#timers.add(timer);
    }
  }

  /** Before the part is taken away: a crash after that would leave the recording open for ever, or call it lost. */
  async #note(job: Job, outcome: RecordingResult): Promise<void> {
    job.outcome = outcome;
    await this.#saveJob(job).catch((error: unknown) => {
      this.#deps.logger.warn(
        { err: error },
        'the outcome of a recording could not be made durable: a crash would lose it',
      );
    });
  }

  #isGone(part: string): Promise<boolean> {
    return this.#fs.stat(part).then(
      () => false,
      (error: unknown) => codeOf(error as Error) === 'missing',
    );
  }

  #forget(job: Job): void {
    this.#work(this.#fs.rm(this.#jobOf(job), { force: true }).catch(() => undefined));
  }

  /** To be called right after the outcome went out as an event. */
  #forgetWhenTold(job: Job): void {
    this.#told.set(job, this.#deps.outbox.pushed);
    if (this.#told.size === 1) this.#watchTold();
  }

  #watchTold(): void {
    const timer = this.#deps.clock.setTimeout(() => {
      this.#timers.delete(timer);
      this.#forgetTold();
      if (this.#told.size > 0) this.#watchTold();
    }, SENT_CHECK_MS);
    this.#timers.add(timer);
  }

  #forgetTold(): void {
    for (const [job, mark] of this.#told) {
      if (this.#deps.outbox.settled < mark) continue;
      this.#told.delete(job);
      this.#forget(job);
    }
  }

  async #recover(jobPath: string): Promise<void> {
    const { logger } = this.#deps;
    let job: Job;
    try {
      job = jobSchema.parse(JSON.parse(await this.#fs.readFile(jobPath, 'utf8')));
      if (!this.#deps.stores[job.store]) throw new Error(`unknown recording store ${job.store}`);
    } catch (error) {
      logger.error({ err: error, file: jobPath }, 'a recording left by an earlier process cannot be read');
      return;
    }
    const notify: Notify = (result) => {
      this.#notifyRecovered(job, result);
      this.#forgetWhenTold(job);
    };
    try {
      if (job.finished_at === null) {
        await this.#rebuildHeader(job);
        await muteFile(this.#partOf(job), this.#fs, job, mutedAfterCrash(job));
        logger.warn(
          { recordingId: job.recording_id },
          'an interrupted recording is stored up to where it ends',
        );
      }
    } catch (error) {
      logger.error({ err: error, recordingId: job.recording_id }, 'an interrupted recording is lost');
      await this.#discard(job);
      notify({ recording_id: job.recording_id, status: 'failed', error: codeOf(error as Error) });
      return;
    }
    const result = await this.#finished(job, notify);
    if (result.status !== 'recording') notify(result);
  }

  /** The length of the audio is what there is of it. */
  async #rebuildHeader(job: Job): Promise<void> {
    const file = await this.#fs.open(this.#partOf(job), 'r+');
    try {
      const { size } = await file.stat();
      const frame = job.channels * 2;
      const dataBytes = Math.max(0, Math.floor((size - WAV_HEADER_BYTES) / frame) * frame);
      await file.truncate(WAV_HEADER_BYTES + dataBytes);
      const header = wavHeader({ sampleRate: job.sample_rate, channels: job.channels, dataBytes });
      await file.write(header, 0, header.length, 0);
      await file.sync();
    } finally {
      await file.close();
    }
  }

  #notifyRecovered(job: Job, result: RecordingResult): void {
    const { clock, gatewayId, outbox } = this.#deps;
    const now = clock.now();
    const index = RECOVERED_INDEX[result.status === 'stored' ? 'stored' : 'failed'];
    outbox.push({
      v: 1,
      id: newId('evt', now),
      session_id: job.session_id,
      gateway_id: gatewayId,
      claim_id: job.claim_id,
      index: job.first_event_index + index,
      at: new Date(now).toISOString(),
      offset_ms: now - Date.parse(job.answered_at),
      type: 'recording',
      data: { ...result },
    });
  }

  #saveJob(job: Job): Promise<void> {
    return this.#disk.replace(this.#jobOf(job), JSON.stringify(job));
  }

  async #discard(job: Job): Promise<void> {
    await this.#fs.rm(this.#partOf(job), { force: true }).catch(() => undefined);
    await this.#fs.rm(this.#jobOf(job), { force: true }).catch(() => undefined);
  }

  /** Background work whose end is waited for on dispose. */
  #work(task: Promise<unknown>): void {
    this.#working.add(task);
    const done = () => void this.#working.delete(task);
    task.then(done, done);
  }

  #partOf(job: Pick<Job, 'recording_id'>): string {
    return path.join(this.#deps.dir, `${job.recording_id}.part`);
  }

  #mp3Of(job: Pick<Job, 'recording_id'>): string {
    return path.join(this.#deps.dir, `${job.recording_id}.mp3`);
  }

  #jobOf(job: Pick<Job, 'recording_id'>): string {
    return path.join(this.#deps.dir, `${job.recording_id}${JOB_SUFFIX}`);
  }
}

export interface RecordingSpoolDeps {
  dir: string;
  gatewayId: string;
  /** By the plan's word for them; a plan that names another is refused. */
  stores: Partial<Record<Job['store'], RecordingStore>>;
  outbox: EventOutbox;
  clock: Clock;
  logger: Logger;
  fs?: RecordingFs;
  /** Each step by itself unless given. */
  disk?: Disk;
}

/** A disk's error as a code word. */
function codeOf(error: NodeJS.ErrnoException): string {
  if (error instanceof StoreConflictError) return 'conflict';
  if (error.code === 'ENOSPC' || error.code === 'EDQUOT') return 'disk_full';
  if (error.code === 'ENOENT') return 'missing';
  return 'store_failed';
}
