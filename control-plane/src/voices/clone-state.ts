import type { Clock } from '@parley/shared/time/clock';
import type { VoiceRecord } from './voice-model.ts';

/** Past any answer of the provider: whoever was making the clone is gone. */
const CLONE_ABANDONED_MS = 10 * 60_000;

/** How many clones an org can have. */
export const MAX_CLONES_PER_ORG = 200;

/** A clone as it stands now: a process that died takes the clones with it that it was making. */
export function currentClone(voice: VoiceRecord, clock: Clock): VoiceRecord {
  const abandoned = clock.now() - voice.updated_at.getTime() > CLONE_ABANDONED_MS;
  return voice.status === 'processing' && abandoned
    ? { ...voice, status: 'failed', error: 'interrupted' }
    : voice;
}
