import { newId } from '@parley/shared/ids/new-id';
import type { Sample } from '../composition/sample.ts';
import { recordingMediaPath } from './media-links.ts';

export const recordingSample: Sample = {
  scenarios: {
    deleteSessionRecording: async ({ call, project }, send) => {
      await send(204, { ids: { session_id: (await call(project, 'ended')).session_id } });
    },
    getRecordingContent: async ({ call, project }, send) => {
      await send(200);
      await send(206, { headers: { range: 'bytes=0-9' } });
      await send(416, { headers: { range: 'bytes=9999-' } });
      await send(503, { ids: { recording_id: (await call(project, 'live')).recording_id } });
    },
    getRecordingMedia: async ({ call, mediaQuery, project }, send) => {
      const link = (id: string) => mediaQuery(recordingMediaPath(id));
      const query = link(project.ids['recording_id']!);
      await send(200, { token: null, query });
      await send(206, { token: null, query, headers: { range: 'bytes=0-9' } });
      await send(416, { token: null, query, headers: { range: 'bytes=9999-' } });
      await send(403, { token: null, query: query.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')) });
      await send(422, { token: null });
      const missing = newId('rec');
      await send(404, { token: null, ids: { recording_id: missing }, query: link(missing) });
      const { recording_id } = await call(project, 'live');
      await send(503, { token: null, ids: { recording_id }, query: link(recording_id) });
    },
  },
};
