import { systemClock } from '@parley/shared/time/clock';
import type { Feature } from '../composition/feature.ts';
import { namedRecords } from '../composition/search-source.ts';
import type { Platform } from '../composition/platform.ts';
import { idSchema } from '../http/operation.ts';
import { MediaLinks } from '../recordings/media-links.ts';
import { audioAssetCollection } from './audio-asset-model.ts';
import { audioAssetRoutes, internalAudioAssetRoutes } from './audio-asset-routes.ts';
import { audioAssetSample } from './audio-asset-sample.ts';
import { AudioAssetService } from './audio-asset-service.ts';
import type { NamingAgents } from './audio-asset-service.ts';
import { AudioPreparation } from './audio-preparation.ts';
import { AudioStorage } from './audio-storage.ts';
import { decodeAudio } from './decoding/decode-audio.ts';

/** How often uploads are looked for that are due; a new one wakes the task. */
const JOB_INTERVAL_MS = 5000;

export function createAudioAssets(
  deps: Pick<Platform, 'box' | 'clock' | 'config' | 'database' | 'logger'> & { agents: NamingAgents },
) {
  const { box, clock, config } = deps;
  const storage = new AudioStorage(config.STORAGE_DIR);
  const preparation = new AudioPreparation({
    ...{ ...deps, storage },
    // A process takes real time, whatever the clock says.
    decode: (order, signal, store) => decodeAudio(order, { clock: systemClock, signal, store }),
  });
  const audioAssets = new AudioAssetService({ ...deps, storage, preparation });
  const links = new MediaLinks({
    key: box.deriveKey('media-links'),
    publicUrl: config.PUBLIC_URL,
    clock,
  });
  return {
    audioAssets,
    collections: [audioAssetCollection],
    searches: [namedRecords('audio_asset', audioAssetCollection, { list: 'listAudioAssets' })],
    routes: audioAssetRoutes({ assets: audioAssets, links }),
    internalRoutes: internalAudioAssetRoutes({ assets: audioAssets }),
    parameters: { asset_id: idSchema('aud') },
    workers: [
      {
        name: 'audio assets',
        everyMs: JOB_INTERVAL_MS,
        work: (signal) => preparation.work(signal),
        wakeWith: (task) => preparation.wakeWith(task),
      },
    ],
    samples: [audioAssetSample],
  } satisfies Feature & { audioAssets: AudioAssetService };
}
