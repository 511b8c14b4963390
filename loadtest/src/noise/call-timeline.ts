import { isVoiced, FRAME_BYTES } from '@parley/emulators/carriers/agent-playback';
import { FRAME_MS } from '@parley/emulators/callers/frame-clock';

/** One call as it was seen from the telephone. Times are ms since its first frame. */
export interface CallTimeline {
  /** For each frame of 20 ms: a voice of the agent was played in it. */
  heard: readonly boolean[];
  /** When voiced agent audio came over the wire. */
  received: readonly number[];
  /** When the agent was stopped. */
  clears: readonly number[];
  replies: readonly Reply[];
  /** The caller's questions, pauses in them included. */
  questions: readonly Stretch[];
  durationMs: number;
}

export interface Stretch {
  fromMs: number;
  toMs: number;
}

/** Something that the agent had to say: the greeting, or an answer. */
export interface Reply {
  /** Nothing of it was heard before: the end of the question. */
  fromMs: number;
  /** It is judged until here: it was over, interrupted, or given up. */
  untilMs: number;
  /** How long it takes in quiet. */
  nominalMs: number;
  outcome: 'complete' | 'interrupted' | 'given_up' | 'unanswered';
  /** Counts as a turn's end: a question after an agent that had finished. */
  timed: boolean;
  interruption?: Stretch;
}

/** A pause of the agent that is shorter belongs to its speech: that between two words. */
const NATURAL_PAUSE_MS = 200;
/** After the end of an interruption that did not stop the agent. */
const CLEAR_GRACE_MS = 300;
/** At the begin of a question what was said before may still be on its way. */
const CUT_OFF_AFTER_MS = 300;

/** Sums and values over calls in one noise. Of values, Infinity stands for what never came. */
export interface RoomFigures {
  calls: number;
  callMs: number;
  /** While the agent had something to say and had begun. */
  speakingMs: number;
  silentMs: number;
  falseStops: number;
  /** Times of its length in quiet, of each answer that was not interrupted. */
  lengths: number[];
  givenUp: number;
  unanswered: number;
  /** From the first sample of interrupting speech to the clear; Infinity where it never came. */
  stops: number[];
  /** From the end of a question to the first voice. */
  turnEnds: number[];
  questions: number;
  cutOffs: number;
}

export function newFigures(): RoomFigures {
  return {
    calls: 0,
    callMs: 0,
    speakingMs: 0,
    silentMs: 0,
    falseStops: 0,
    lengths: [],
    givenUp: 0,
    unanswered: 0,
    stops: [],
    turnEnds: [],
    questions: 0,
    cutOffs: 0,
  };
}

/** Which frames of what was heard hold a voice. @param mulaw 8 kHz */
export function voicedFrames(mulaw: Uint8Array): boolean[] {
  return Array.from({ length: Math.floor(mulaw.length / FRAME_BYTES) }, (_, frame) =>
    isVoiced(mulaw.subarray(frame * FRAME_BYTES, (frame + 1) * FRAME_BYTES)),
  );
}

/** Adds what one call shows. */
export function addCall(figures: RoomFigures, call: CallTimeline): void {
  figures.calls++;
  figures.callMs += call.durationMs;
  for (const reply of call.replies) addReply(figures, call, reply);
  for (const { fromMs, toMs } of call.questions) {
    figures.questions++;
    if (call.received.some((at) => at > fromMs + CUT_OFF_AFTER_MS && at < toMs)) figures.cutOffs++;
  }
}

function addReply(figures: RoomFigures, call: CallTimeline, reply: Reply): void {
  const { fromMs, untilMs, outcome, interruption } = reply;
  if (reply.timed) {
    const answeredAt = call.received.find((at) => at > fromMs && at <= untilMs);
    figures.turnEnds.push(answeredAt === undefined ? Infinity : answeredAt - fromMs);
  }
  if (outcome === 'unanswered') {
    figures.unanswered++;
    return;
  }
  const begins = nextVoice(call.heard, fromMs);
  if (begins < untilMs) {
    // An answer that came to its end was over with its last voice; one that was given up was still owed.
    const ends = outcome === 'complete' ? lastVoice(call.heard, untilMs) : untilMs;
    figures.speakingMs += ends - begins;
    figures.silentMs += silence(call.heard, begins, ends);
    figures.falseStops += call.clears.filter((at) => at >= begins && at < ends).length;
    if (!interruption) figures.lengths.push((ends - begins) / reply.nominalMs);
  }
  if (outcome === 'given_up') figures.givenUp++;
  if (interruption) {
    const stopped = call.clears.find(
      (at) => at >= interruption.fromMs && at <= interruption.toMs + CLEAR_GRACE_MS,
    );
    figures.stops.push(stopped === undefined ? Infinity : stopped - interruption.fromMs);
  }
}

/** @returns ms; Infinity where there is none */
function nextVoice(heard: readonly boolean[], fromMs: number): number {
  const frame = heard.indexOf(true, Math.floor(fromMs / FRAME_MS));
  return frame === -1 ? Infinity : frame * FRAME_MS;
}

function lastVoice(heard: readonly boolean[], beforeMs: number): number {
  const frame = heard.lastIndexOf(true, Math.ceil(beforeMs / FRAME_MS) - 1);
  return (frame + 1) * FRAME_MS;
}

/** How much of a stretch is silence, natural pauses apart. */
function silence(heard: readonly boolean[], fromMs: number, toMs: number): number {
  let silentMs = 0;
  let pauseMs = 0;
  const end = Math.floor(toMs / FRAME_MS);
  for (let frame = Math.floor(fromMs / FRAME_MS); frame <= end; frame++) {
    if (frame < end && !heard[frame]) pauseMs += FRAME_MS;
    else {
      if (pauseMs > NATURAL_PAUSE_MS) silentMs += pauseMs;
      pauseMs = 0;
    }
  }
  return silentMs;
}
