/** 20 ms at 8 kHz. */
const FRAME_SAMPLES = 160;
const FULL_SCALE = 32_768;
/** A frame this far below the level is a pause, dB; the margin of ITU-T P.56. */
const MARGIN_DB = 15.9;
const ROUNDS = 20;

/**
 * The level of speech, and of anything else that comes and goes: the mean power of 20 ms frames, without pauses. Steady
 * sounds have no pauses, and it is their root mean square.
 * @param samples 8 kHz, on the 16-bit scale
 * @returns dB to a full-scale square wave; -Infinity for silence
 * @see ITU-T P.56, whose envelope follower is replaced by frames
 */
export function activeLevelDb(samples: ArrayLike<number>): number {
  const powers: number[] = [];
  for (let at = 0; at + FRAME_SAMPLES <= samples.length; at += FRAME_SAMPLES) {
    let sum = 0;
    for (let i = at; i < at + FRAME_SAMPLES; i++) sum += samples[i]! * samples[i]!;
    powers.push(sum / FRAME_SAMPLES);
  }
  const margin = 10 ** (-MARGIN_DB / 10);
  let level = mean(powers);
  for (let round = 0; round < ROUNDS; round++) {
    const next = mean(powers.filter((power) => power >= level * margin));
    if (next === level) break;
    level = next;
  }
  return level > 0 ? 10 * Math.log10(level / FULL_SCALE ** 2) : -Infinity;
}

/** By how much samples are multiplied to change their level by so many dB. */
export function gainOf(db: number): number {
  return 10 ** (db / 20);
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
