import { FRAME_BYTES, MULAW_SILENCE } from '../carriers/agent-playback.ts';
import type { Background, SpeechFrame } from '../callers/carrier-line.ts';
import { markVoice } from '../recogniser/voice-mark.ts';
import type { LineNoise } from './line-noise.ts';

/**
 * What is around one caller. Emulated ears are told by marks which frames the caller speaks in: they would take a
 * television for the caller, and wait for it to fall silent.
 */
export class Surroundings implements Background {
  /** What the caller says is meant for the ears: false for what they are to know no word of. */
  audible = true;
  readonly #noise: LineNoise | undefined;
  readonly #firstFrame: number;

  /**
   * @param noise undefined for quiet
   * @param firstFrame where in its loop the call begins
   */
  constructor(noise: LineNoise | undefined, firstFrame = 0) {
    this.#noise = noise;
    this.#firstFrame = firstFrame;
  }

  mix(frameIndex: number, said: SpeechFrame | undefined): string {
    const mixed = this.#noise?.mix(this.#firstFrame + frameIndex, said) ?? said?.base64;
    const frame =
      mixed === undefined ? Buffer.alloc(FRAME_BYTES, MULAW_SILENCE) : Buffer.from(mixed, 'base64');
    markVoice(frame, this.audible && said !== undefined);
    return frame.toString('base64');
  }
}
