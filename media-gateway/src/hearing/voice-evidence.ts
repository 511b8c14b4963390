/**
 * What speaks for the caller's voice, from least to most. Which of them stops the agent depends on what was heard
 * before (`CallerHearing.demand`).
 */
export const EVIDENCE = {
  none: 0,
  /** A loud sound, 60 ms within 80 ms. */
  sound: 1,
  /** A voice as near as the caller, two windows of the model. */
  voice: 2,
  /** The same, for 128 ms. */
  near_voice: 3,
  /** The same, for 224 ms. */
  lasting_voice: 4,
} as const;

export type Evidence = (typeof EVIDENCE)[keyof typeof EVIDENCE];
export type EvidenceName = Exclude<keyof typeof EVIDENCE, 'none'>;

const VOICE_MS = 64;
const NEAR_VOICE_MS = 128;
const LASTING_VOICE_MS = 224;

/** The evidence of a voice as near as the caller that has lasted so long. */
export function evidenceOf(nearMs: number): Evidence {
  if (nearMs >= LASTING_VOICE_MS) return EVIDENCE.lasting_voice;
  if (nearMs >= NEAR_VOICE_MS) return EVIDENCE.near_voice;
  return nearMs >= VOICE_MS ? EVIDENCE.voice : EVIDENCE.none;
}

export function evidenceName(evidence: Evidence): EvidenceName | undefined {
  return (Object.keys(EVIDENCE) as (keyof typeof EVIDENCE)[]).find(
    (name): name is EvidenceName => name !== 'none' && EVIDENCE[name] === evidence,
  );
}

/** How much doubt stops that were nothing leave; more is not told apart. */
const MOST_DOUBT = 2;
/** Quiet that takes a step of doubt away, ms. */
const QUIET_A_STEP_MS = 8000;
/** It is quiet when nothing was loud for so long, ms. */
const QUIET_AFTER_MS = 600;
/** Sound that is not the caller's makes a line noisy from this much on… */
const NOISY_FROM_MS = 250;
/** …and no more than this is remembered, ms. */
const MOST_NOISE_MS = 3000;
/** How much of the remembered noise each millisecond of quiet takes away. */
const QUIETING = 0.1;
/** A stop that was nothing counts as so much noise, ms. */
const MISTAKE_NOISE_MS = 300;

/**
 * How much evidence is asked for: little in quiet, more where there is noise, and more after each stop that was
 * nothing. Quiet takes both away again.
 */
export class Doubt {
  #mistakes = 0;
  #pauseMs = 0;
  #quietMs = 0;
  #noiseMs = 0;

  /** Whether sounds that are not the caller's are about. */
  get noisy(): boolean {
    return this.#noiseMs >= NOISY_FROM_MS;
  }

  /** The least evidence that stops the agent. */
  get demand(): Evidence {
    if (this.#mistakes > 1) return EVIDENCE.lasting_voice;
    if (this.#mistakes === 1) return EVIDENCE.near_voice;
    return this.noisy ? EVIDENCE.voice : EVIDENCE.sound;
  }

  /** The agent was stopped for nothing. */
  mistake(): void {
    this.#mistakes = Math.min(MOST_DOUBT, this.#mistakes + 1);
    this.#quietMs = 0;
    this.noise(MISTAKE_NOISE_MS);
  }

  /** What led to the mistakes is told apart now. */
  forgive(): void {
    this.#mistakes = 0;
  }

  /** So much sound was not the caller's. */
  noise(ms: number): void {
    this.#noiseMs = Math.min(MOST_NOISE_MS, this.#noiseMs + ms);
  }

  /** Something is loud. */
  loud(): void {
    this.#pauseMs = 0;
  }

  /** Nothing was loud for so long. @returns true when the last noise is forgotten by it */
  pause(ms: number): boolean {
    this.#pauseMs += ms;
    if (this.#pauseMs < QUIET_AFTER_MS) return false;
    this.#quietMs += ms;
    if (this.#quietMs >= QUIET_A_STEP_MS) {
      this.#quietMs = 0;
      this.#mistakes = Math.max(0, this.#mistakes - 1);
    }
    if (this.#noiseMs === 0) return false;
    this.#noiseMs = Math.max(0, this.#noiseMs - ms * QUIETING);
    return this.#noiseMs === 0;
  }
}
