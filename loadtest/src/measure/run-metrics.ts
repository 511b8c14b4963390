import { build as buildHistogram } from 'hdr-histogram-js';
import type { HangUp } from '../scenario/conversation.ts';
import { Distribution } from './distribution.ts';

/** Everything that is counted in a run. Figures only inside the window; counts always. */
export class RunMetrics {
  /** Reply heard minus last voiced frame sent minus the providers' delays, ms. */
  readonly overheadFirst = new Distribution();
  readonly overheadLater = new Distribution();
  readonly overheadAfterInterruption = new Distribution();
  /** As overhead, at the end of turns that had a pause in them: what patience costs. */
  readonly overheadAfterPause = new Distribution();
  /** Begin of the connection to the first voiced frame of the greeting, less the voice's delay. */
  readonly greeting = new Distribution();
  /** To make the session of a call. */
  readonly dial = new Distribution();
  /** First voiced caller frame sent to clear received. */
  readonly bargeInWire = new Distribution();
  /** The same to the last agent sample heard. */
  readonly bargeInEar = new Distribution();
  /** Agent audio that clear found unplayed. */
  readonly leadAtClear = new Distribution();
  readonly gap = new Distribution();
  /** |gap - length of the chunk before it|. */
  readonly pacing = new Distribution();
  readonly chunk = new Distribution();
  /** Hang-up to the end report. */
  readonly ending = new Map<HangUp, Distribution>();
  readonly turnsOverTime: { atMs: number; overheadMs: number }[] = [];

  readonly counts = {
    dialled: 0,
    answered: 0,
    /** The upgrade was refused, or failed. */
    refused: 0,
    /** The far end ended the call before the caller did. */
    lost: 0,
    /** All steps were done. */
    completed: 0,
    questions: 0,
    replies: 0,
    missingReplies: 0,
    interruptions: 0,
    /** The agent did not stop for an interruption. */
    notStopped: 0,
    murmurs: 0,
    /** Stopped for good by a murmur or a noise. */
    falseInterruptions: 0,
    pauses: 0,
    /** The agent began to speak in a pause of the caller. */
    falseCutOffs: 0,
    violations: 0,
  };
  readonly pausesByMs = new Map<number, { pauses: number; cutOffs: number }>();
  readonly failures = new Map<string, number>();
  /** In all calls. */
  underrunMs = 0;
  /** With agent audio. */
  messages = 0;

  /** How late the simulator sent its frames, in microseconds. */
  readonly #lateness = buildHistogram({
    lowestDiscernibleValue: 1,
    highestTrackableValue: 60_000_000,
    numberOfSignificantValueDigits: 3,
  });
  #calls = 0;
  #begun = 0;
  #callMs = 0;
  #allCallMs = 0;
  #countedAt = 0;
  #from = Infinity;
  #to = -Infinity;

  /** From now on figures count. */
  openWindow(now: number): void {
    this.#integrate(now);
    this.#callMs = 0;
    this.#from = now;
    this.#to = Infinity;
  }

  closeWindow(now: number): void {
    this.#integrate(now);
    this.#to = now;
  }

  inWindow(atMs: number): boolean {
    return atMs >= this.#from && atMs <= this.#to;
  }

  get windowMs(): number {
    return this.#to - this.#from;
  }

  get calls(): number {
    return this.#calls;
  }

  /** Calls that began in the window. */
  get begun(): number {
    return this.#begun;
  }

  /** Minutes that all calls together lasted in the window. */
  get callMinutes(): number {
    return this.#callMs / 60_000;
  }

  /** The same from the first call to the last, window or not. */
  get allCallMinutes(): number {
    return this.#allCallMs / 60_000;
  }

  callBegan(now: number): void {
    this.#integrate(now);
    if (this.inWindow(now)) this.#begun++;
    this.#calls++;
  }

  callEnded(now: number): void {
    this.#integrate(now);
    this.#calls--;
  }

  late(ms: number, now: number): void {
    if (this.inWindow(now)) this.#lateness.recordValue(Math.max(1, Math.round(ms * 1000)));
  }

  /** Milliseconds. */
  get lateness(): { p50: number; p99: number; max: number } {
    const at = (percentile: number) => this.#lateness.getValueAtPercentile(percentile) / 1000;
    return this.#lateness.totalCount === 0
      ? { p50: 0, p99: 0, max: 0 }
      : { p50: at(50), p99: at(99), max: this.#lateness.maxValue / 1000 };
  }

  failed(why: string): void {
    this.failures.set(why, (this.failures.get(why) ?? 0) + 1);
  }

  ended(how: HangUp, ms: number): void {
    const known = this.ending.get(how) ?? new Distribution();
    known.add(ms);
    this.ending.set(how, known);
  }

  pause(pauseMs: number, cutOff: boolean): void {
    this.counts.pauses++;
    if (cutOff) this.counts.falseCutOffs++;
    const known = this.pausesByMs.get(pauseMs) ?? { pauses: 0, cutOffs: 0 };
    known.pauses++;
    if (cutOff) known.cutOffs++;
    this.pausesByMs.set(pauseMs, known);
  }

  #integrate(now: number): void {
    this.#allCallMs += (now - this.#countedAt) * this.#calls;
    const end = Math.min(now, this.#to);
    const start = Math.max(this.#countedAt, this.#from);
    if (end > start) this.#callMs += (end - start) * this.#calls;
    this.#countedAt = now;
  }
}
