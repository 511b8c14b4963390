import type { CallReport as Report } from '@parley/shared/contracts/call-events';
import type { RecordingResult } from '@parley/shared/contracts/recordings';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { CallEndReason } from '@parley/shared/contracts/session-values';
import type { Logger } from '@parley/shared/logging/logger';
import type { CallRecorder } from '../recording/call-recorder.ts';
import type { CallReporter } from '../reporting/call-reporter.ts';
import type { CallClock } from './call-clock.ts';
import type { TurnLog } from './turn-log.ts';

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

  /** Writes the report so far, without an end: when the process dies, this is what is known of the call. */
  saveProgress(): void {
    const reason: CallEndReason = { ended_by: 'system', failure_reason: 'internal' };
    this.#reporter.saveProgress(this.#report(this.#clock.now(), reason, undefined));
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
      variables: this.#variables,
      language: this.#plan.agent.config.language.primary,
      recording,
    });
  }
}
