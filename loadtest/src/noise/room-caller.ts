import { performance } from 'node:perf_hooks';
import type { CarrierLine, LineEvents, SaidTimes } from '@parley/emulators/callers/carrier-line';
import type { Surroundings } from '@parley/emulators/noise/surroundings';
import type { CallerSpeech } from '@parley/emulators/speech/caller-speech';
import { voicedFrames, type CallTimeline, type Reply, type Stretch } from './call-timeline.ts';
import { GREETING_MS, spokenMs, type RoomStep } from './room-talk.ts';

/** A caller takes an agent for finished that has said all of it and then nothing for this long. */
const AGENT_PAUSE_MS = 300;
/** So much may be missing of an answer that is called complete. */
const WHOLE_TOLERANCE_MS = 300;
/** A caller does not wait for a silent agent any longer, nor at all for an answer that takes longer. */
const GIVE_UP_MS = 8000;
const LONGEST_ANSWER_MS = 45_000;
const UNANSWERED_MS = 15_000;
/** Who interrupts waits for an agent that is heard; one that stays silent cannot be interrupted. */
const AUDIBLE_MS = 80;
const BREATH_MS = 300;

/** Notes what comes over the wire. */
export class RoomEar implements LineEvents {
  /** `performance.now()`. */
  readonly received: number[] = [];
  readonly clears: number[] = [];

  onAgentAudio(_line: CarrierLine, atMs: number, _bytes: Uint8Array, voiced: boolean): void {
    if (voiced) this.received.push(atMs);
  }

  onClear(_line: CarrierLine, atMs: number): void {
    this.clears.push(atMs);
  }
}

/** Plays one call over a line that stands and keeps what it hears. Resolves when the caller has hung up. */
export async function callFromRoom(options: {
  line: CarrierLine;
  ear: RoomEar;
  room: Surroundings;
  steps: readonly RoomStep[];
  speech: CallerSpeech;
  random: () => number;
  signal: AbortSignal;
}): Promise<CallTimeline> {
  const { line, ear, room, speech, random, signal } = options;
  const replies: Reply[] = [];
  const questions: Stretch[] = [];
  const over = () => signal.aborted || !line.isStreaming;
  const now = () => performance.now() - line.startedAt;
  const stretch = (times: SaidTimes): Stretch => ({
    fromMs: times.firstVoicedAt - line.startedAt,
    toMs: times.lastVoicedAt - line.startedAt,
  });
  const receivedSince = (ms: number) => (ear.received.at(-1) ?? -Infinity) - line.startedAt > ms;
  const playedMs = () => line.playback.playedBytes / 8;

  /** @param audible the emulated ears know these words */
  async function say(text: string, audible = true): Promise<Stretch> {
    room.audible = audible;
    return stretch(await line.sayFrames(speech(text)));
  }

  /** Waits for an answer's first voice. @returns false, and notes it, when none came */
  async function begins(fromMs: number, nominalMs: number, timed: boolean): Promise<boolean> {
    await line.waitFor(() => over() || receivedSince(fromMs), UNANSWERED_MS);
    if (over()) return false;
    if (receivedSince(fromMs)) return true;
    replies.push({ fromMs, untilMs: now(), nominalMs, outcome: 'unanswered', timed });
    return false;
  }

  /** Hears an answer out that has begun. @returns whether all of it was heard */
  async function hearOut(fromMs: number, nominalMs: number, timed: boolean): Promise<boolean> {
    const before = playedMs();
    const since = now();
    const complete = () =>
      playedMs() - before >= nominalMs - WHOLE_TOLERANCE_MS &&
      line.bufferedMs === 0 &&
      !line.agentHeardWithin(AGENT_PAUSE_MS);
    const givenUp = () => now() - since > GIVE_UP_MS && !line.agentHeardWithin(GIVE_UP_MS);
    await line.waitFor(() => over() || complete() || givenUp(), LONGEST_ANSWER_MS);
    if (over()) return false;
    const outcome = complete() ? 'complete' : 'given_up';
    replies.push({ fromMs, untilMs: now(), nominalMs, outcome, timed });
    return outcome === 'complete';
  }

  /** Speaks over an answer that has begun, as soon as so much of it was heard. */
  async function speakOver(
    step: Extract<RoomStep, { do: 'interrupt' }>,
    fromMs: number,
    timed: boolean,
  ): Promise<void> {
    const nominalMs = spokenMs(step.answer);
    const before = playedMs();
    const since = now();
    const due = () => playedMs() - before >= step.afterMs && line.agentHeardWithin(AUDIBLE_MS);
    const givenUp = () => now() - since > GIVE_UP_MS && !line.agentHeardWithin(GIVE_UP_MS);
    const interruptible = await line.waitFor(() => over() || due() || givenUp(), LONGEST_ANSWER_MS);
    if (over()) return;
    if (!interruptible || givenUp()) {
      replies.push({ fromMs, untilMs: now(), nominalMs, outcome: 'given_up', timed });
      return;
    }
    const interruption = await say(step.words, false);
    if (over()) return;
    replies.push({
      fromMs,
      untilMs: interruption.fromMs,
      nominalMs,
      outcome: 'interrupted',
      timed,
      interruption,
    });
  }

  /** The agent had finished when the caller last began to speak: what comes next is an answer to that alone. */
  let settled = (await begins(0, GREETING_MS, false)) && (await hearOut(0, GREETING_MS, false));
  for (const step of options.steps) {
    if (over()) break;
    await line.pause(BREATH_MS * (1 + random()));
    let asked: Stretch;
    if (step.do === 'ask_with_pause') {
      const first = await say(step.first);
      await line.pause(step.pauseMs);
      asked = { fromMs: first.fromMs, toMs: (await say(step.then)).toMs };
    } else asked = await say(step.line);
    if (over()) break;
    questions.push(asked);
    const nominalMs = spokenMs(step.answer);
    const timed = settled && step.do !== 'ask_with_pause';
    settled = false;
    if (!(await begins(asked.toMs, nominalMs, timed))) continue;
    if (step.do === 'interrupt') await speakOver(step, asked.toMs, timed);
    else settled = await hearOut(asked.toMs, nominalMs, timed);
  }
  const durationMs = now();
  line.hangUp();
  return {
    heard: voicedFrames(line.heardAudio()),
    received: ear.received.map((at) => at - line.startedAt),
    clears: ear.clears.map((at) => at - line.startedAt),
    replies,
    questions,
    durationMs,
  };
}
