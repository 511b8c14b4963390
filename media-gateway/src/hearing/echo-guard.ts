/** Length of a bin, ms: a frame of telephony. */
const BIN_MS = 20;
/** How much is remembered: the longest lead of playback, the longest echo, and what is compared. */
const BINS = 256;
/** What is compared: the newest 500 ms of the caller's line. */
const COMPARED_BINS = 25;
/** An echo comes back within this many bins: the delay of the line and 400 ms more. */
const LONGEST_DELAY_BINS = 35;
const SILENT_DB = -91;
/** Softer audio of the agent makes no echo that could be heard. */
const AUDIBLE_DB = -55;
/** Only bins so close to the loudest of the agent's are compared: the rest of an echo is lost in the line's noise. */
const COMPARED_RANGE_DB = 15;
const LEAST_COMPARED = 6;
/** Less sound than this, 200 ms, is too short to be told from an echo. */
const LEAST_SOUND_BINS = 10;
/** An agent who speaks as evenly as this has no curve to compare, dB. */
const LEAST_DEVIATION_DB = 2;
/** How much of the agent's deviation may be left in the difference of the curves, if one is the other's echo. */
const UNEXPLAINED = 0.5;
/** The edges of syllables fall into other frames than the agent's: so much is always left, dB. */
const LEAST_UNEXPLAINED_DB = 2.5;
/** The loss of a line's echo is constant, within this. Somebody else's speech shows another one each time, dB. */
const SAME_LOSS_DB = 4;
/** How much a comparison changes what is believed of a delay, 0 to 1. */
const LEARNING = 0.25;
/** From here on a delay is believed to be that of an echo. */
const BELIEVED = 0.5;
/** Delays that are tried: whole bins and those between them. */
const DELAYS = 2 * (LONGEST_DELAY_BINS + 1);
/** An echo is softer than the agent by this at least: what is louder is not one. */
const LEAST_LOSS_DB = 12;

/**
 * Tells the agent's own voice, come back through the caller's telephone, from the caller's: an echo's level follows
 * the agent's at a constant distance, after a constant delay. Compares curves of level only; costs nothing while the agent is silent.
 */
export class EchoGuard {
  readonly #agent = new Float32Array(BINS).fill(SILENT_DB);
  /** Levels half a bin earlier: an echo's frames need not begin where the agent's did. */
  readonly #agentBetween = new Float32Array(BINS).fill(SILENT_DB);
  readonly #agentBin = new Float64Array(BINS).fill(-1);
  readonly #caller = new Float32Array(BINS).fill(SILENT_DB);
  readonly #callerBin = new Float64Array(BINS).fill(-1);
  /** How far each delay is believed to be that of an echo, 0 to 1: at first each may be. */
  readonly #belief = new Float64Array(DELAYS).fill(1);
  readonly #loss = new Float64Array(DELAYS).fill(NaN);
  #audibleUntil = -Infinity;

  /** Notes agent audio. @param atMs when the far end begins to play these 20 ms, monotonic ms */
  agent(level: number, atMs: number): void {
    const bin = Math.floor(atMs / BIN_MS);
    this.#agent[bin % BINS] = level;
    this.#agentBetween[bin % BINS] = meanLevel(this.#agentLevel(bin - 1), level);
    this.#agentBin[bin % BINS] = bin;
    if (level > AUDIBLE_DB) this.#audibleUntil = Math.max(this.#audibleUntil, atMs + BIN_MS);
  }

  /** The far end dropped what it had not played. */
  cleared(now: number): void {
    const bin = Math.floor(now / BIN_MS);
    for (let i = 0; i < BINS; i++) if (this.#agentBin[i]! > bin) this.#agentBin[i] = -1;
    this.#audibleUntil = Math.min(this.#audibleUntil, now);
  }

  /** Notes a frame of the caller's. */
  caller(level: number, now: number): void {
    const bin = Math.floor(now / BIN_MS);
    const at = bin % BINS;
    this.#caller[at] = this.#callerBin[at] === bin ? Math.max(this.#caller[at]!, level) : level;
    this.#callerBin[at] = bin;
  }

  /** Whether a sound so loud could be an echo: of what the agent said within the longest delay. */
  canBe(level: number, now: number): boolean {
    if (now - this.#audibleUntil > LONGEST_DELAY_BINS * BIN_MS) return false;
    const newest = Math.floor(now / BIN_MS);
    let loudest = SILENT_DB;
    for (let bin = newest - LONGEST_DELAY_BINS; bin <= newest; bin++)
      loudest = Math.max(loudest, this.#agentLevel(bin));
    return level < loudest - LEAST_LOSS_DB;
  }

  /** Whether the newest audio of the caller's line follows what the agent said, or is too short to tell. */
  isEcho(now: number): boolean {
    if (now - this.#audibleUntil > LONGEST_DELAY_BINS * BIN_MS) return false;
    const newest = Math.floor(now / BIN_MS);
    if (this.#soundBins(newest) < LEAST_SOUND_BINS) return true;
    let believed = false;
    for (let delay = 0; delay < DELAYS; delay++) {
      const follows = this.#follows(newest, delay);
      if (follows !== undefined)
        this.#belief[delay]! += LEARNING * ((follows ? 1 : 0) - this.#belief[delay]!);
      believed ||= this.#belief[delay]! >= BELIEVED;
    }
    return believed;
  }

  /** Bins of sound in what is compared. */
  #soundBins(newest: number): number {
    let loudest = SILENT_DB;
    for (let bin = newest - COMPARED_BINS + 1; bin <= newest; bin++)
      loudest = Math.max(loudest, this.#callerLevel(bin));
    let count = 0;
    for (let bin = newest - COMPARED_BINS + 1; bin <= newest; bin++)
      if (this.#callerLevel(bin) > loudest - COMPARED_RANGE_DB) count++;
    return count;
  }

  /**
   * Whether the caller's line follows what the agent said so long before, softer by a constant.
   * @param delay half bins @returns undefined when there is too little to compare
   */
  #follows(newest: number, delay: number): boolean | undefined {
    const bins = delay >> 1;
    const levels = delay % 2 === 0 ? this.#agent : this.#agentBetween;
    let loudest = SILENT_DB;
    for (let bin = newest - COMPARED_BINS + 1; bin <= newest; bin++)
      loudest = Math.max(loudest, this.#agentLevel(bin - bins, levels));
    if (loudest < AUDIBLE_DB) return undefined;
    let count = 0;
    let sum = 0;
    let squares = 0;
    let agentSum = 0;
    let agentSquares = 0;
    for (let bin = newest - COMPARED_BINS + 1; bin <= newest; bin++) {
      const caller = this.#callerLevel(bin);
      if (caller === SILENT_DB) continue;
      const agent = this.#agentLevel(bin - bins, levels);
      if (agent < loudest - COMPARED_RANGE_DB) continue;
      const difference = agent - caller;
      count++;
      sum += difference;
      squares += difference * difference;
      agentSum += agent;
      agentSquares += agent * agent;
    }
    if (count < LEAST_COMPARED) return undefined;
    const loss = sum / count;
    const agentDeviation = deviationOf(count, agentSum, agentSquares);
    const unexplained = Math.max(LEAST_UNEXPLAINED_DB, UNEXPLAINED * agentDeviation);
    if (loss < LEAST_LOSS_DB || deviationOf(count, sum, squares) > unexplained) return false;
    // While the agent speaks evenly everything even follows it.
    if (agentDeviation < LEAST_DEVIATION_DB) return undefined;
    const known = this.#loss[delay]!;
    this.#loss[delay] = Number.isNaN(known) ? loss : known + LEARNING * (loss - known);
    return !(Math.abs(loss - known) > SAME_LOSS_DB);
  }

  #callerLevel(bin: number): number {
    const at = ((bin % BINS) + BINS) % BINS;
    return this.#callerBin[at] === bin ? this.#caller[at]! : SILENT_DB;
  }

  #agentLevel(bin: number, levels = this.#agent): number {
    const at = ((bin % BINS) + BINS) % BINS;
    return this.#agentBin[at] === bin ? levels[at]! : SILENT_DB;
  }
}

/** The level of the mean of two amplitudes. */
function meanLevel(a: number, b: number): number {
  return 20 * Math.log10((10 ** (a / 20) + 10 ** (b / 20)) / 2);
}

function deviationOf(count: number, sum: number, squares: number): number {
  const mean = sum / count;
  return Math.sqrt(Math.max(0, squares / count - mean * mean));
}
