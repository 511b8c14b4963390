import type { Clock } from '@parley/shared/time/clock';
import type { Delay } from '../../server/delays.ts';
import type { EmulatorLog } from '../../server/emulator-server.ts';
import { COMMON_FAULTS } from '../../server/faults.ts';
import type { FaultPlan } from '../../server/faults.ts';
import type { VoiceRenderer } from './voice-renderer.ts';

/**
 * Besides the common ones, whose stream items are audio chunks of one utterance (`stall` with `delayMs` goes on after
 * it): `zero_audio`, an utterance that ends well without a sound.
 */
export const ELEVENLABS_FAULTS = [...COMMON_FAULTS, 'zero_audio'] as const;
export type ElevenLabsFault = (typeof ELEVENLABS_FAULTS)[number];

export interface ElevenLabsStats {
  sockets: number;
  openSockets: number;
  contexts: number;
  /** Contexts whose `isFinal` has not been sent. */
  openContexts: number;
  /** Sockets closed with an error message. */
  refusals: number;
  httpRequests: number;
  /** Pieces of text whose generation began. */
  utterances: number;
  characters: number;
  audioMs: number;
  /** HTTP streams and sockets that the client left while audio was due. */
  abandoned: number;
}

/** What every part of the emulator needs. */
export interface SpeechSettings {
  renderer: VoiceRenderer;
  faults: FaultPlan<ElevenLabsFault>;
  random: () => number;
  firstAudio: Delay;
  realTimeFactor: number;
  clock: Clock;
  stats: ElevenLabsStats;
  log: EmulatorLog | undefined;
}
