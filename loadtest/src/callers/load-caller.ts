import { performance } from 'node:perf_hooks';
import { answerMs, type ProviderDelays } from '../backend/backend.ts';
import type { RunMetrics } from '../measure/run-metrics.ts';
import type { HangUp, Step } from '../scenario/conversation.ts';
import type { CallerSpeech } from '@parley/emulators/speech/caller-speech';
import type { CarrierLine, LineEvents, SaidTimes } from '@parley/emulators/callers/carrier-line';

/** The agent has finished when nothing was heard of it for this long. */
const AGENT_PAUSE_MS = 500;
const AGENT_TIMEOUT_MS = 30_000;
/** A question without an answer by then has none. */
const REPLY_TIMEOUT_MS = 8000;
/** People take a breath. */
const MAX_BREATH_MS = 300;
/** A gateway that has not cleared by then does not. */
const CLEAR_TIMEOUT_MS = 3000;
/** Agent audio after a silence this long begins an utterance. */
const UTTERANCE_GAP_MS = 600;
/** What comes closer together than this is one chunk in several messages: to a listener they are the same. */
const SAME_CHUNK_MS = 5;
/** At the beginning of an utterance audio comes as fast as it can, until the gateway is ahead enough. */
const PACED_AFTER_MS = 500;

export interface CallResult {
  /** The caller did everything it wanted to. */
  completed: boolean;
  /** How it ended the call; undefined when the far end did. */
  hungUp: HangUp | undefined;
  /** Milliseconds since the epoch, with fractions. */
  endedAt: number;
  /** Questions that were asked, in order, with the answers that should have been heard. */
  expected: string[];
}

/** Listens to one line: what the figures of a call are made from. */
export class CallEar implements LineEvents {
  readonly #metrics: RunMetrics;
  #utteranceAt = -Infinity;
  /** When its first message came. */
  #chunkAt = -Infinity;
  #chunkMs = 0;
  /** When a voiced piece of agent audio came last. */
  voiceAt = -Infinity;
  /** The first voiced piece after `listenFrom`. */
  firstVoiceAt: number | undefined;
  #listenFrom = Infinity;
  clearAt: number | undefined;
  leadAtClearMs = 0;

  constructor(metrics: RunMetrics) {
    this.#metrics = metrics;
  }

  /** Waits for the next voice after `atMs`. */
  listenFrom(atMs: number): void {
    this.#listenFrom = atMs;
    this.firstVoiceAt = undefined;
  }

  expectClear(): void {
    this.clearAt = undefined;
  }

  onAgentAudio(_line: CarrierLine, atMs: number, bytes: Uint8Array, voiced: boolean): void {
    const metrics = this.#metrics;
    const gap = atMs - this.#chunkAt;
    metrics.messages++;
    if (gap < SAME_CHUNK_MS) this.#chunkMs += bytes.length / 8;
    else {
      if (gap > UTTERANCE_GAP_MS) this.#utteranceAt = atMs;
      else if (atMs - this.#utteranceAt >= PACED_AFTER_MS && metrics.inWindow(atMs)) {
        metrics.gap.add(gap);
        metrics.pacing.add(Math.abs(gap - this.#chunkMs));
        metrics.chunk.add(this.#chunkMs);
      }
      this.#chunkAt = atMs;
      this.#chunkMs = bytes.length / 8;
    }
    if (!voiced) return;
    this.voiceAt = atMs;
    if (atMs >= this.#listenFrom) this.firstVoiceAt ??= atMs;
  }

  onClear(_line: CarrierLine, atMs: number, bufferedMs: number): void {
    // What comes next is no continuation: its pace says nothing.
    this.#chunkAt = -Infinity;
    if (this.clearAt !== undefined) return;
    this.clearAt = atMs;
    this.leadAtClearMs = bufferedMs;
  }

  onViolation(what: string): void {
    this.#metrics.counts.violations++;
    this.#metrics.failed(`violation: ${what}`);
  }
}

/** Plays the steps of a conversation over a line that stands. Resolves when the caller has hung up, or the line is gone. */
export async function runCall(options: {
  line: CarrierLine;
  ear: CallEar;
  steps: readonly Step[];
  speech: CallerSpeech;
  delays: ProviderDelays;
  metrics: RunMetrics;
  random: () => number;
  /** The run is over: hang up. */
  signal: AbortSignal;
}): Promise<CallResult> {
  const { line, ear, steps, speech, metrics, delays, random, signal } = options;
  const { counts } = metrics;
  const expected: string[] = [];
  let heardSince = 0;
  let firstTurn = true;

  const quiet = () => line.bufferedMs === 0 && !line.agentHeardWithin(AGENT_PAUSE_MS);
  const over = () => signal.aborted || !line.isOpen;
  async function agentFinished(): Promise<void> {
    const since = heardSince;
    await line.waitFor(() => over() || (line.playback.lastVoiceAt > since && quiet()), AGENT_TIMEOUT_MS);
  }
  async function agentSpokeFor(ms: number): Promise<void> {
    const since = heardSince;
    let startedAt: number | undefined;
    await line.waitFor(() => {
      if (startedAt === undefined && line.playback.lastVoiceAt > since) startedAt = performance.now();
      return over() || (startedAt !== undefined && performance.now() - startedAt >= ms);
    }, AGENT_TIMEOUT_MS);
  }
  async function say(text: string): Promise<SaidTimes> {
    const times = await line.sayFrames(speech(text));
    heardSince = performance.now();
    return times;
  }
  /** @returns overhead in ms; undefined when no answer came, or the call was over first */
  async function answerTo(times: SaidTimes, reply: string): Promise<number | undefined> {
    counts.questions++;
    ear.listenFrom(times.lastVoicedAt);
    await line.waitFor(() => over() || ear.firstVoiceAt !== undefined, REPLY_TIMEOUT_MS);
    if (ear.firstVoiceAt === undefined) {
      if (over()) counts.questions--;
      else counts.missingReplies++;
      return undefined;
    }
    counts.replies++;
    return ear.firstVoiceAt - times.lastVoicedAt - delays.sttMs - answerMs(delays, reply);
  }

  async function ask(step: Extract<Step, { do: 'ask' }>): Promise<void> {
    await agentFinished();
    await line.pause(random() * MAX_BREATH_MS);
    if (over()) return;
    const times = await say(step.line);
    if (over()) return;
    const overheadMs = await answerTo(times, step.reply);
    if (overheadMs === undefined) return;
    expected.push(step.reply);
    if (metrics.inWindow(times.lastVoicedAt)) {
      (firstTurn ? metrics.overheadFirst : metrics.overheadLater).add(overheadMs);
      metrics.turnsOverTime.push({ atMs: times.lastVoicedAt, overheadMs });
    }
    firstTurn = false;
  }

  async function askWithPause(step: Extract<Step, { do: 'ask_with_pause' }>): Promise<void> {
    await agentFinished();
    await line.pause(random() * MAX_BREATH_MS);
    if (over()) return;
    const first = await say(step.first);
    ear.listenFrom(first.lastVoicedAt);
    await line.waitFor(() => performance.now() - first.lastVoicedAt >= step.pauseMs, step.pauseMs + 1000);
    if (over()) return;
    metrics.pause(step.pauseMs, ear.firstVoiceAt !== undefined);
    const times = await say(step.then);
    if (over()) return;
    const overheadMs = await answerTo(times, step.reply);
    if (overheadMs === undefined) return;
    expected.push(step.reply);
    firstTurn = false;
    if (metrics.inWindow(times.lastVoicedAt)) metrics.overheadAfterPause.add(overheadMs);
  }

  async function interrupt(step: Extract<Step, { do: 'interrupt' }>): Promise<void> {
    await agentSpokeFor(step.afterMs);
    if (over()) return;
    ear.expectClear();
    counts.interruptions++;
    const times = await say(step.line);
    await line.waitFor(() => over() || ear.clearAt !== undefined, CLEAR_TIMEOUT_MS);
    if (over()) return;
    if (ear.clearAt === undefined) counts.notStopped++;
    else if (metrics.inWindow(times.firstVoicedAt)) {
      metrics.bargeInWire.add(ear.clearAt - times.firstVoicedAt);
      metrics.bargeInEar.add(
        Math.max(0, Math.min(ear.clearAt, line.playback.lastVoiceAt + 20) - times.firstVoicedAt),
      );
      metrics.leadAtClear.add(ear.leadAtClearMs);
    }
    const overheadMs = await answerTo(times, step.reply);
    if (overheadMs === undefined) return;
    expected.push(step.reply);
    if (metrics.inWindow(times.lastVoicedAt)) metrics.overheadAfterInterruption.add(overheadMs);
  }

  async function murmur(step: Extract<Step, { do: 'murmur' }>): Promise<void> {
    await agentSpokeFor(step.afterMs);
    if (over()) return;
    counts.murmurs++;
    const since = heardSince;
    const times = await line.sayFrames(speech(step.line));
    ear.listenFrom(times.lastVoicedAt);
    heardSince = since;
    // Audio that was sent before may still play out: only what comes over the wire now shows that it goes on.
    await line.waitFor(() => over() || ear.firstVoiceAt !== undefined, CLEAR_TIMEOUT_MS);
    if (!over() && ear.firstVoiceAt === undefined) counts.falseInterruptions++;
  }

  let hungUp: HangUp | undefined;
  let completed = true;
  for (const step of steps) {
    if (over()) break;
    switch (step.do) {
      case 'ask':
        await ask(step);
        break;
      case 'ask_with_pause':
        await askWithPause(step);
        break;
      case 'interrupt':
        await interrupt(step);
        break;
      case 'murmur':
        await murmur(step);
        break;
      case 'hang_up':
        await agentSpokeFor(step.afterMs);
        if (!over()) hungUp = step.how;
        break;
    }
  }
  if (over()) completed = false;
  else if (!hungUp) {
    await agentFinished();
    completed = !over();
  }
  const lost = !line.isOpen;
  const endedAt = performance.timeOrigin + performance.now();
  if (!lost) {
    hungUp ??= 'stop_close';
    endCall(line, hungUp);
  } else hungUp = undefined;
  metrics.underrunMs += line.playback.underrunMs;
  return { completed, hungUp, endedAt, expected };
}

function endCall(line: CarrierLine, how: HangUp): void {
  if (how === 'stop_close') line.hangUp();
  else if (how === 'close') line.closeSilently();
  else if (how === 'reset') line.vanish();
  else line.freeze();
}
