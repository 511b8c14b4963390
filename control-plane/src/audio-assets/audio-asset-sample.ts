import { bytesFromPcm16 } from '@parley/shared/audio/audio-frame';
import { wavHeader } from '@parley/shared/audio/wav';
import { newId } from '@parley/shared/ids/new-id';
import { nthId, projectPath, unique } from '../composition/sample.ts';
import type { Sample, SampleWorld } from '../composition/sample.ts';
import { assetMediaPath } from './audio-asset-schema.ts';
import { MAX_UPLOAD_BYTES } from './audio-storage.ts';

/** A tenth of a second of a tone. */
function tone(): Uint8Array<ArrayBuffer> {
  const data = bytesFromPcm16(Int16Array.from({ length: 800 }, (_, i) => 8000 * Math.sin(i / 4)));
  return new Uint8Array([...wavHeader({ sampleRate: 8000, channels: 1, dataBytes: data.length }), ...data]);
}

function form(file: Uint8Array<ArrayBuffer> = tone()): FormData {
  const body = new FormData();
  body.set('name', unique());
  body.set('kind', 'greeting');
  body.set('file', new File([file], 'tone.wav'));
  return body;
}

/** An asset of its own. */
async function upload({ cp, project }: SampleWorld): Promise<string> {
  const path = `${projectPath(project)}/audio-assets`;
  const { status, body } = await cp.call<{ id: string }>('POST', path, { body: form(), token: project.key });
  if (status !== 201) throw new Error(`not uploaded: ${status}`);
  return body.id;
}

export const audioAssetSample: Sample = {
  async make(world) {
    return { asset_id: await upload(world) };
  },
  scenarios: {
    async createAudioAsset({ project }, send) {
      await send(201, { body: form() });
      await send(415, { body: form(new Uint8Array(100)) });
      await send(413, { body: form(new Uint8Array(MAX_UPLOAD_BYTES + 1)) });
      await send(400, {
        body: 'no parts',
        headers: { 'content-type': 'multipart/form-data; boundary=x' },
        ids: project.ids,
      });
      const nameless = form();
      nameless.delete('name');
      await send(422, { body: nameless });
    },
    updateAudioAsset: (_, send) => send(200, { body: { transcript: 'Welcome.' } }),
    async deleteAudioAsset(world, send) {
      await send(204, { ids: { asset_id: await upload(world) } });
    },
    async getAudioAssetContent(_, send) {
      await send(200);
      await send(206, { headers: { range: 'bytes=0-9' } });
      await send(416, { headers: { range: 'bytes=99999-' } });
    },
    async getAudioAssetMedia({ mediaQuery, project }, send) {
      const link = (id: string) => mediaQuery(assetMediaPath(id));
      const query = link(project.ids['asset_id']!);
      await send(200, { token: null, query });
      await send(206, { token: null, query, headers: { range: 'bytes=0-9' } });
      await send(416, { token: null, query, headers: { range: 'bytes=99999-' } });
      await send(403, { token: null, query: query.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')) });
      await send(422, { token: null });
      const missing = newId('aud');
      await send(404, { token: null, ids: { asset_id: missing }, query: link(missing) });
    },
  },
  many: ({ inProject }) => [
    {
      collection: 'audio_assets',
      count: 999,
      record: (n, rare) => ({
        ...inProject,
        _id: nthId('aud', n),
        name: `Thing ${n}`,
        kind: rare ? 'voicemail' : 'greeting',
        format: 'wav',
        size_bytes: 1644,
        sha256: String(n),
        status: rare ? 'failed' : 'ready',
      }),
    },
  ],
};
