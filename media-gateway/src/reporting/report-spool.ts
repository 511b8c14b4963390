import * as nodeFs from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { MAX_REPORT_BYTES, callEventSchema, callReportSchema } from '@parley/shared/contracts/call-events';
import type { CallEvent, CallReport } from '@parley/shared/contracts/call-events';
import { EVENT_INDEXES_PER_LEG } from '@parley/shared/contracts/session-plan';
import type { Turn } from '@parley/shared/contracts/turn';
import { newId } from '@parley/shared/ids/new-id';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock, Timer } from '@parley/shared/time/clock';
import { plainDisk } from '../disk/disk.ts';
import type { DiskWriter } from '../disk/disk.ts';
import type { EventOutbox } from './event-outbox.ts';
import { SpoolFile } from './spool-file.ts';
import type { SpoolFs } from './spool-file.ts';

/** A report that is not confirmed is sent again. */
const RESEND_MS = 30_000;
const CHECK_MS = 5000;
const FILE_NAME = /^[0-9a-f-]{36}\.\d{1,6}\.jsonl$/;
/** The report of a leg whose process died: above every index the leg may have used. */
const RECOVERED_END_INDEX = EVENT_INDEXES_PER_LEG - 1;

/** First line of what a call leaves on disk. Holds what was said: readable by the owner alone (0600). */
const spoolHeaderSchema = z.object({
  v: z.literal(1),
  session_id: z.uuid(),
  claim_id: z.string(),
  leg: z.number().int(),
  first_event_index: z.number().int(),
  answered_at: z.string(),
});
/** A line for each committed turn: what is known until then, with the turns that are new or changed since the last. */
const spoolProgressSchema = z.object({
  progress: callReportSchema,
  /** The call has ended, as the report says. */
  over: z.boolean().default(false),
});
/** The last line, once there is an end: `call_ended`. */
const spoolEndSchema = z.object({ event: callEventSchema });

export type SpoolHeader = z.infer<typeof spoolHeaderSchema>;

/** A spool file as a whole. */
interface SpooledReport extends SpoolHeader {
  progress: CallReport | undefined;
  /** `progress` says how the call ended. */
  over: boolean;
  event: CallEvent | undefined;
}

interface Unconfirmed {
  file: SpoolFile;
  dueAt: number;
  /** Only while it could not be written. */
  inMemory: CallEvent | undefined;
}

/**
 * Reports of calls on disk, until the control plane says that it has stored them: they outlive this process, Redis
 * down and Redis that lost its memory.
 */
export class ReportSpool {
  readonly #dir: string;
  readonly #gatewayId: string;
  readonly #outbox: EventOutbox;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #fs: SpoolFs;
  readonly #writer: DiskWriter;
  readonly #unconfirmed = new Map<string, Unconfirmed>();
  readonly #files = new Set<SpoolFile>();
  readonly #working = new Set<Promise<void>>();
  #timer: Timer | undefined;
  #closed = false;

  private constructor(deps: ReportSpoolDeps) {
    this.#dir = deps.dir;
    this.#gatewayId = deps.gatewayId;
    this.#outbox = deps.outbox;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
    this.#fs = deps.fs ?? nodeFs;
    this.#writer = deps.writer ?? plainDisk;
  }

  /** Delivers what an earlier process left behind. Only one process may use `dir`. */
  static async open(deps: ReportSpoolDeps): Promise<ReportSpool> {
    const spool = new ReportSpool(deps);
    await spool.#recover();
    spool.#check();
    return spool;
  }

  /** Reports that are not confirmed yet. */
  get unconfirmed(): number {
    return this.#unconfirmed.size;
  }

  file(sessionId: string, leg: number): SpoolFile {
    return this.#open(path.join(this.#dir, `${sessionId}.${leg}.jsonl`));
  }

  #open(file: string, options?: { exists: boolean }): SpoolFile {
    const spoolFile = new SpoolFile(file, this.#fs, { ...options, writer: this.#writer });
    this.#files.add(spoolFile);
    return spoolFile;
  }

  /**
   * Takes over the end of a call: resolves when it is on disk, or can't be written; delivery goes on by itself.
   */
  async deliver(file: SpoolFile, event: CallEvent): Promise<void> {
    const entry = this.#send(file, event);
    try {
      await file.append({ event }, { last: true });
      entry.inMemory = undefined;
    } catch (error) {
      this.#logger.error(
        { err: error, sessionId: event.session_id },
        'a call report could not be written to disk and is kept in memory',
      );
    }
  }

  /** Until it is confirmed. */
  #send(file: SpoolFile, event: CallEvent): Unconfirmed {
    const now = this.#clock.now();
    const entry: Unconfirmed = { file, dueAt: now + RESEND_MS, inMemory: event };
    this.#unconfirmed.set(event.id, entry);
    if (!this.#outbox.pushReport(event)) {
      entry.dueAt = now;
      this.#resendWhenRoom();
    }
    return entry;
  }

  /** The control plane has it. Unknown ids are ignored. */
  stored(eventId: string): void {
    const entry = this.#unconfirmed.get(eventId);
    if (!entry) return;
    this.#unconfirmed.delete(eventId);
    this.#files.delete(entry.file);
    this.#work(
      entry.file.remove().catch((error: unknown) => {
        this.#logger.warn({ err: error }, 'a call report could not be deleted from disk');
      }),
    );
  }

  /** Background work whose end is waited for on dispose. Must not reject. */
  #work(task: Promise<void>): void {
    this.#working.add(task);
    void task.finally(() => this.#working.delete(task));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    await Promise.all(this.#working);
    await Promise.all([...this.#files].map((file) => file[Symbol.asyncDispose]()));
  }

  #check(): void {
    if (this.#closed) return;
    this.#timer = this.#clock.setTimeout(() => {
      this.#work(this.#resendDue().finally(() => this.#check()));
    }, CHECK_MS);
  }

  /** When many calls end at once, the rest follows as soon as the first are sent. */
  #resendWhenRoom(): void {
    this.#outbox.onceReportRoom(this.#onRoom);
  }

  readonly #onRoom = (): void => {
    if (!this.#closed) this.#work(this.#resendDue());
  };

  async #resendDue(): Promise<void> {
    const now = this.#clock.now();
    for (const [id, entry] of this.#unconfirmed) {
      if (this.#closed) return;
      if (entry.dueAt > now) continue;
      const waits = this.#outbox.holdsReport(id);
      if (!waits && !this.#outbox.hasRoomForReport) {
        this.#resendWhenRoom();
        return;
      }
      entry.dueAt = now + RESEND_MS;
      if (waits) continue;
      const event = entry.inMemory ?? (await this.#read(entry.file.path))?.event;
      // It may have been confirmed meanwhile.
      if (!event || !this.#unconfirmed.has(id)) continue;
      if (!this.#outbox.pushReport({ ...event, gateway_id: this.#gatewayId })) entry.dueAt = now;
    }
  }

  async #recover(): Promise<void> {
    for (const name of await nodeFs.readdir(this.#dir)) {
      const file = path.join(this.#dir, name);
      if (name.endsWith('.jsonl.tmp')) await nodeFs.rm(file, { force: true });
      if (!FILE_NAME.test(name)) continue;
      const report = await this.#read(file);
      if (!report) {
        await nodeFs.rename(file, `${file}.bad`).catch(() => undefined);
        continue;
      }
      const spoolFile = this.#open(file, { exists: true });
      if (report.event) {
        // Confirmations go to the gateway that the event names.
        this.#send(spoolFile, { ...report.event, gateway_id: this.#gatewayId }).inMemory = undefined;
        continue;
      }
      this.#logger.warn({ sessionId: report.session_id }, 'a call was interrupted by the end of its process');
      await this.deliver(spoolFile, this.#endOf(report));
    }
  }

  /** The end of a call that had none: its process died. */
  #endOf(report: SpooledReport): CallEvent {
    const index = report.first_event_index + RECOVERED_END_INDEX;
    const answeredAt = Date.parse(report.answered_at);
    const data: CallReport = report.progress ?? emptyReport({ answeredAt, endedAt: answeredAt });
    const { hangup_reason: _, ...rest } = data;
    const end: CallReport = report.over
      ? { ...data, last_index: index }
      : { ...rest, ended_by: 'system', failure_reason: 'internal', last_index: index };
    return {
      v: 1,
      id: newId('evt', this.#clock.now()),
      session_id: report.session_id,
      gateway_id: this.#gatewayId,
      claim_id: report.claim_id,
      index,
      at: new Date(this.#clock.now()).toISOString(),
      offset_ms: Math.max(0, Date.parse(end.ended_at) - answeredAt),
      type: 'call_ended',
      data: end,
    };
  }

  async #read(file: string): Promise<SpooledReport | undefined> {
    let lines: unknown[];
    try {
      lines = (await nodeFs.readFile(file, 'utf8')).split('\n').flatMap(parseLine);
    } catch (error) {
      this.#logger.error({ file, err: error }, 'a call report on disk cannot be read');
      return undefined;
    }
    const header = spoolHeaderSchema.safeParse(lines[0]);
    if (!header.success) {
      // Nothing of the line is told: it may hold what was said.
      this.#logger.error({ file }, 'a call report on disk names no session');
      return undefined;
    }
    const report: SpooledReport = { ...header.data, progress: undefined, over: false, event: undefined };
    const turns = new Map<number, Turn>();
    for (const line of lines) {
      const { data: step } = spoolProgressSchema.safeParse(line);
      if (step) {
        for (const turn of step.progress.turns) turns.set(turn.turn_index, turn);
        report.progress = step.progress;
        report.over = step.over;
      }
      report.event = spoolEndSchema.safeParse(line).data?.event ?? report.event;
    }
    if (report.progress) {
      const inOrder = [...turns.values()].toSorted((a, b) => a.turn_index - b.turn_index);
      report.progress = fitReport({ ...report.progress, turns: inOrder });
    }
    return report;
  }
}

/** None for a line that was torn. */
function parseLine(line: string): unknown[] {
  try {
    return line === '' ? [] : [JSON.parse(line)];
  } catch {
    return [];
  }
}

export interface ReportSpoolDeps {
  dir: string;
  gatewayId: string;
  outbox: EventOutbox;
  clock: Clock;
  logger: Logger;
  fs?: SpoolFs;
  /** Each write by itself unless given. */
  writer?: DiskWriter;
}

/** The report of a call of which nothing is known but its times. */
export function emptyReport(times: { answeredAt: number; endedAt: number }): CallReport {
  return {
    answered_at: new Date(times.answeredAt).toISOString(),
    ended_at: new Date(times.endedAt).toISOString(),
    ended_by: 'system',
    failure_reason: 'internal',
    duration_ms: Math.max(0, times.endedAt - times.answeredAt),
    agent_talk_ms: 0,
    transfer_ms: 0,
    turns: [],
    turns_truncated: false,
    metrics: {
      turns: 0,
      turn_e2e_ms: null,
      stt_final_ms: null,
      llm_first_token_ms: null,
      tts_first_audio_ms: null,
      knowledge_ms: null,
      tool_ms: null,
      caller_reply_ms: null,
      thought_ahead_ms: null,
    },
    usage: {
      stt_seconds: 0,
      llm_input_tokens: 0,
      llm_output_tokens: 0,
      tts_characters: 0,
      carrier_seconds: 0,
    },
    variables: {},
    language: null,
    last_index: 0,
  };
}

/** Leaves out the oldest turns until the report keeps its bound; they are in their own events. */
export function fitReport(report: CallReport, maxBytes = MAX_REPORT_BYTES): CallReport {
  let excess = Buffer.byteLength(JSON.stringify(report)) - maxBytes;
  if (excess <= 0) return report;
  let left = 0;
  while (excess > 0 && left < report.turns.length) {
    excess -= Buffer.byteLength(JSON.stringify(report.turns[left])) + 1;
    left++;
  }
  return { ...report, turns: report.turns.slice(left), turns_truncated: true };
}
