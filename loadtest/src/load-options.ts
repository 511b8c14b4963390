import type { CarrierName } from '@parley/shared/contracts/session-values';
import type { ProviderDelays } from './backend/backend.ts';
import type { ConversationName } from './scenario/conversation.ts';
import type { CallerSpeech } from '@parley/emulators/speech/caller-speech';

export interface LoadOptions {
  carrier: CarrierName;
  /** Calls at a time. */
  calls: number;
  /** Questions in one call. */
  turns: number;
  /** After so many steps of its conversation a caller hangs up, done or not. */
  maxSteps?: number;
  /** New calls a second while the load builds up. */
  rampPerSecond: number;
  /** How long figures count; callers that are through call again. 0: every caller calls once, and everything counts. */
  steadySeconds: number;
  mix: readonly ConversationName[];
  /** How many callers at most keep what they heard, to be compared with the transcript afterwards. */
  listeners: number;
  delays: ProviderDelays;
  speech: CallerSpeech;
  /** Whose CPU time is shown as that of emulators and the like. */
  helperPids?: readonly number[];
  /** A system that takes so much more than before the run is given up, 2 GB unless given. */
  maxGrowthBytes?: number;
  /** Called every second. */
  onProgress?: (progress: Progress) => void;
  signal: AbortSignal;
}

export interface Progress {
  phase: 'ramp' | 'steady' | 'ending';
  seconds: number;
  calls: number;
  replies: number;
  overheadP50: number;
  overheadP95: number;
  latenessP99: number;
}
