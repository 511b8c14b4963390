import type { Feature } from '../composition/feature.ts';
import { namedRecords } from '../composition/search-source.ts';
import type { Platform } from '../composition/platform.ts';
import { CloneEditor } from './clone-editor.ts';
import type { LocalVoice } from './local-voice.ts';
import { VoiceAudition } from './voice-audition.ts';
import { VoiceCatalog } from './voice-catalog.ts';
import { VoiceCloning } from './voice-cloning.ts';
import { VoiceLookup } from './voice-lookup.ts';
import { voiceCollection } from './voice-model.ts';
import { VoiceReader } from './voice-reader.ts';
import { voiceRoutes } from './voice-routes.ts';
import { voiceSample } from './voice-sample.ts';
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

type Needs<T extends abstract new (deps: never) => unknown> = ConstructorParameters<T>[0];

export function createVoices({
  providerFetch: fetch,
  localVoice,
  ...deps
}: Needs<typeof VoiceReader> &
  Omit<
    Needs<typeof VoiceAudition> & Needs<typeof VoiceCloning> & Needs<typeof CloneEditor>,
    'fetch' | 'speech'
  > &
  Pick<Platform, 'providerFetch'> & { localVoice: LocalVoice }) {
  const audition = new VoiceAudition({ ...deps, fetch, speech: new VoiceSpeech({ fetch, localVoice }) });
  const cloning = new VoiceCloning({ ...deps, fetch });
  return {
    cloning,
    collections: [voiceCollection],
    searches: [namedRecords('voice', voiceCollection, { list: 'listVoices' })],
    routes: voiceRoutes({
      voices: new VoiceReader(deps),
      audition,
      cloning,
      clones: new CloneEditor({ ...deps, fetch }),
    }),
    flags: [{ key: 'voice_cloning', description: 'Voice clones' }],
    samples: [voiceSample],
  } satisfies Feature & { cloning: VoiceCloning };
}
