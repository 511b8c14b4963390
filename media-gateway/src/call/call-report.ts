import type { CallReport as Report } from '@parley/shared/contracts/call-events';
import type { RecordingResult } from '@parley/shared/contracts/recordings';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { CallEndReason } from '@parley/shared/contracts/session-values';
import type { Logger } from '@parley/shared/logging/logger';
import type { CallRecorder } from '../recording/call-recorder.ts';
import type { CallReporter } from '../reporting/call-reporter.ts';
import type { CallClock } from './call-clock.ts';
import type { TurnLog } from './turn-log.ts';

/** How often what is being said is written down before it is over. */
const UNDER_WAY_MS = 2000;
const UNKNOWN_END: CallEndReason = { ended_by: 'system', failure_reason: 'internal' };

/** What is being said at one moment. */
export interface UnderWay {
  /** Number of the agent's turn, and what was heard of it so far. */
  agentTurn: number | undefined;
  heard: string;
  /** Words of the caller's open turn. */
  caller: string;
}

/** What remains of a call after its end: the recording and the report. */
export class CallReport {
  readonly #plan: SessionPlan;
  readonly #reporter: CallReporter;
  readonly #recorder: CallRecorder;
  readonly #log: TurnLog;
  readonly #clock: CallClock;
  readonly #variables: Record<string, string>;
  readonly #figures: () => { agentTalkMs: number; transferMs: number };
  readonly #logger: Logger;
  /** Those that an agent had which did not pass them on. */
  #kept: Readonly<Record<string, string>> = {};
  #underWayDueAt = 0;
  /** What was written last of it. */
  #underWay = '\n';

  constructor(deps: {
    plan: SessionPlan;
    reporter: CallReporter;
    recorder: CallRecorder;
    log: TurnLog;
    clock: CallClock;
    variables: Record<string, string>;
    figures: () => { agentTalkMs: number; transferMs: number };
    logger: Logger;
  }) {
    this.#plan = deps.plan;
    this.#reporter = deps.reporter;
    this.#recorder = deps.recorder;
    this.#log = deps.log;
    this.#clock = deps.clock;
    this.#variables = deps.variables;
    this.#figures = deps.figures;
    this.#logger = deps.logger;
  }

  /** The variables so far are taken from the call, and stay those of the session. */
  keepVariables(): void {
    this.#kept = { ...this.#kept, ...this.#variables };
    for (const name of Object.keys(this.#variables)) delete this.#variables[name];
  }

  /** Writes the report so far, without an end: when the process dies, this is what is known of the call. */
  saveProgress(): void {
    this.#reporter.saveProgress(this.#report(this.#clock.now(), UNKNOWN_END, undefined));
  }

  /**
   * Writes the report so far with what is being said at this moment, when that has changed and some time has passed.
   * @param underWay what each side has said of its unfinished turn
   */
  saveUnderWay(now: number, underWay: () => UnderWay): void {
    if (now < this.#underWayDueAt) return;
    this.#underWayDueAt = now + UNDER_WAY_MS;
    const { agentTurn, heard, caller } = underWay();
    const said = `${heard}\n${caller}`;
    if (said === this.#underWay) return;
    this.#underWay = said;
    const report = this.#report(this.#clock.now(), UNKNOWN_END, undefined);
    const at = this.#clock.offset();
    const turn = { start_ms: at, end_ms: at, interrupted: true, redacted: false };
    if (agentTurn !== undefined && heard !== '')
      report.turns.push({ ...turn, turn_index: agentTurn, role: 'agent', text: heard });
    // Overwritten by whatever gets this number: then the words have become something else.
    if (caller !== '')
      report.turns.push({ ...turn, turn_index: this.#log.nextTurnIndex, role: 'caller', text: caller });
    this.#reporter.saveProgress(report);
  }

  /** Writes how the call ended, before anything that follows takes its time. */
  saveEnd(reason: CallEndReason, endedAt: number): void {
    this.#reporter.saveProgress(this.#report(endedAt, reason, undefined), { over: true });
  }

  /** Closes the recording and writes the report. Resolves when it is on disk, or could not be written. */
  async finish(reason: CallEndReason, endedAt: number): Promise<Report> {
    const recording = this.#plan.record.enabled ? await this.#finishRecording(endedAt) : undefined;
    const report = this.#report(endedAt, reason, recording);
    try {
      await this.#reporter.end(report);
      if (recording && recording.status !== 'recording') this.#recorder.settled();
    } catch (error) {
      this.#logger.error({ err: error }, 'the report of a call could not be written');
    }
    return report;
  }

  async #finishRecording(endedAt: number): Promise<RecordingResult> {
    const failed: RecordingResult = {
      recording_id: this.#plan.record.recording_id,
      status: 'failed',
      error: 'internal',
    };
    const recording = await this.#recorder.finish(endedAt - this.#clock.answeredAt).catch(() => failed);
    this.#reporter.emit('recording', recording, this.#clock.offset());
    return recording;
  }

  #report(endedAt: number, reason: CallEndReason, recording: RecordingResult | undefined): Report {
    return this.#log.report({
      answeredAt: this.#clock.answeredAt,
      endedAt,
      reason,
      ...this.#figures(),
      variables: { ...this.#kept, ...this.#variables },
      language: this.#plan.agent.config.language.primary,
      recording,
    });
  }
}
