import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { sleep } from '@parley/shared/async/timeout';
import { CarrierLine } from '@parley/emulators/callers/carrier-line';
import { seededRandom } from '@parley/shared/values/seeded-random';
import { CallEar, runCall, type CallResult } from './callers/load-caller.ts';
import type { LoadOptions } from './load-options.ts';
import type { FinishedCall } from './measure/call-reports.ts';
import type { RunMetrics } from './measure/run-metrics.ts';
import { stepsLeft } from './scenario/call-under-way.ts';
import { conversation as makeConversation } from './scenario/conversation.ts';
import type { Destination, SystemUnderTest } from './sut/system.ts';

/** Half-open lines are let go after this, or their sockets would pile up here. */
const HALF_OPEN_MS = 15_000;
const REDIAL_AFTER_REFUSAL_MS = 1000;

/**
 * The callers of a run: each dials, talks, hangs up, and does so again while the run lasts. Where they call again, they are
 * found in the middle of their calls: the first one of each is as long as what is left of it, so that calls end and begin
 * evenly from the start on, as they do on any line.
 */
export class LoadCallers {
  /** Calls that are over. */
  readonly finished: FinishedCall[] = [];
  readonly #sut: SystemUnderTest;
  readonly #options: LoadOptions;
  readonly #metrics: RunMetrics;
  readonly #signal: AbortSignal;
  readonly #running: Promise<void>[] = [];
  /** Lines whose callers vanished without a word. */
  readonly #halfOpen = new Map<CarrierLine, NodeJS.Timeout>();

  /** @param deps `signal` ends the run: callers hang up, none dials again */
  constructor(deps: {
    sut: SystemUnderTest;
    options: LoadOptions;
    metrics: RunMetrics;
    signal: AbortSignal;
  }) {
    this.#sut = deps.sut;
    this.#options = deps.options;
    this.#metrics = deps.metrics;
    this.#signal = deps.signal;
  }

  /** Lets callers begin at the rate of the ramp. @param startedAt monotonic ms */
  async begin(startedAt: number): Promise<void> {
    const { calls, rampPerSecond } = this.#options;
    for (let number = 0; number < calls && !this.#signal.aborted; number++) {
      const due = startedAt + (number * 1000) / rampPerSecond;
      if (due > performance.now()) await sleep(due - performance.now());
      this.#running.push(this.#call(number));
    }
  }

  /** Resolves when every caller is through. @throws what a caller threw */
  async done(): Promise<void> {
    await Promise.all(this.#running);
  }

  /** Resolves when every caller is through, however it went. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  /** Lets go of the lines that were left half open. */
  close(): void {
    for (const line of [...this.#halfOpen.keys()]) this.#letGo(line);
  }

  async #call(number: number): Promise<void> {
    const { mix, turns, steadySeconds, carrier } = this.#options;
    const once = steadySeconds === 0;
    const random = seededRandom(number + 1);
    for (let call = 0; !this.#signal.aborted; call++) {
      const name = mix[(number + call) % mix.length]!;
      const talk = makeConversation(name, turns, number + call);
      const steps = call === 0 && !once ? stepsLeft(talk.steps, number) : talk.steps;
      const ear = new CallEar(this.#metrics);
      this.#metrics.counts.dialled++;
      const askedAt = performance.now();
      const destination = await this.#sut.dial({ conversation: name, carrier, variant: number + call });
      if (this.#signal.aborted) return;
      const dialledAt = performance.now();
      if (this.#metrics.inWindow(dialledAt)) this.#metrics.dial.add(dialledAt - askedAt);
      const line = await this.#open(destination, ear, number);
      if (!line) {
        if (once) return;
        await sleep(REDIAL_AFTER_REFUSAL_MS, this.#signal).catch(() => undefined);
        continue;
      }
      this.#metrics.counts.answered++;
      this.#metrics.callBegan(performance.now());
      const { delays, speech } = this.#options;
      const result = await runCall({
        line,
        ear,
        steps: steps.slice(0, this.#options.maxSteps),
        speech,
        delays,
        metrics: this.#metrics,
        random,
        signal: this.#signal,
      });
      this.#metrics.callEnded(performance.now());
      await this.#note(line, result, dialledAt);
      this.finished.push({
        sessionId: destination.sessionId,
        conversation: name,
        expected: result.expected,
        completed: result.completed,
        hungUp: result.hungUp,
        endedAt: result.endedAt,
        heard: this.#listens(number) ? line.heardAudio() : undefined,
      });
      if (once) return;
    }
  }

  /** @returns undefined when the line was refused, which is counted */
  async #open(destination: Destination, ear: CallEar, number: number): Promise<CarrierLine | undefined> {
    try {
      return await CarrierLine.open({
        url: destination.url,
        carrier: this.#options.carrier,
        ids: {
          callId: randomUUID(),
          streamId: randomUUID(),
          accountId: 'MALOADTEST',
          from: '+14155550100',
          to: '+14155550199',
          sequence: 0,
        },
        headers: destination.headers ?? {},
        ca: destination.ca,
        events: ear,
        keepHeard: this.#listens(number),
      });
    } catch (error) {
      this.#metrics.counts.refused++;
      this.#metrics.failed(error instanceof Error ? error.message : String(error));
      return undefined;
    }
  }

  async #note(line: CarrierLine, result: CallResult, dialledAt: number): Promise<void> {
    if (result.completed) this.#metrics.counts.completed++;
    if (!result.hungUp) {
      this.#metrics.counts.lost++;
      const { code, reason } = await line.closed;
      this.#metrics.failed(`closed by the far end: ${code} ${reason}`.trim());
    }
    if (line.playback.firstVoiceAt > 0 && this.#metrics.inWindow(line.playback.firstVoiceAt))
      this.#metrics.greeting.add(line.playback.firstVoiceAt - dialledAt - this.#options.delays.ttsMs);
    if (result.hungUp === 'half_open')
      this.#halfOpen.set(
        line,
        setTimeout(() => this.#letGo(line), HALF_OPEN_MS),
      );
  }

  #letGo(line: CarrierLine): void {
    clearTimeout(this.#halfOpen.get(line));
    this.#halfOpen.delete(line);
    line.vanish();
  }

  #listens(number: number): boolean {
    return number < this.#options.listeners;
  }
}
