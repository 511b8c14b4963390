import type { Feature } from '../composition/feature.ts';
import type { Platform } from '../composition/platform.ts';
import { idSchema } from '../http/operation.ts';
import { MediaLinks } from './media-links.ts';
import { recordingCollection } from './recording-model.ts';
import { RECORDING_AUDIT, recordingRoutes } from './recording-routes.ts';
import { recordingSample } from './recording-sample.ts';
import { RecordingService } from './recording-service.ts';
import { FileRecordingStore } from './recording-store.ts';

export function createRecordings({
  audit,
  box,
  clock,
  config,
  database,
}: Pick<Platform, 'audit' | 'box' | 'clock' | 'config' | 'database'>) {
  const store = new FileRecordingStore(config.STORAGE_DIR);
  const recordings = new RecordingService({ database, store, clock });
  const key = box.deriveKey('media-links');
  const mediaLinks = new MediaLinks({ key, publicUrl: config.PUBLIC_URL, clock });
  return {
    ...{ recordings, mediaLinks },
    collections: [recordingCollection],
    routes: recordingRoutes({ recordings, mediaLinks, audit }),
    parameters: { recording_id: idSchema('rec') },
    erases: { session: (sessionId: string) => recordings.deleteOf(sessionId) },
    audit: RECORDING_AUDIT,
    samples: [recordingSample],
  } satisfies Feature & { recordings: RecordingService };
}
