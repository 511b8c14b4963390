import type { Feature } from '../composition/feature.ts';
import type { Platform } from '../composition/platform.ts';
import { VoiceCatalog } from './voice-catalog.ts';
import { VoiceLookup } from './voice-lookup.ts';
import { voiceCollection } from './voice-model.ts';
import { voiceRoutes } from './voice-routes.ts';
import { voiceSample } from './voice-sample.ts';
import { VoiceService } from './voice-service.ts';
import { VoiceSpeech } from './voice-speech.ts';

/** What models need of voices. Made before both. */
export function createVoiceLookup({
  database,
  providerFetch: fetch,
  clock,
  logger,
}: Pick<Platform, 'clock' | 'database' | 'logger' | 'providerFetch'>) {
  const catalog = new VoiceCatalog({ fetch, clock, logger });
  return { catalog, lookup: new VoiceLookup({ database, catalog }) };
}

type VoiceDeps = ConstructorParameters<typeof VoiceService>[0];

export function createVoices({
  providerFetch: fetch,
  ...deps
}: Omit<VoiceDeps, 'fetch' | 'speech'> & Pick<Platform, 'providerFetch'>) {
  const voices = new VoiceService({ ...deps, fetch, speech: new VoiceSpeech({ fetch }) });
  return {
    voices,
    collections: [voiceCollection],
    routes: voiceRoutes({ voices }),
    flags: [{ key: 'voice_cloning', description: 'Voice clones' }],
    samples: [voiceSample],
  } satisfies Feature & { voices: VoiceService };
}
