import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { bytesFromPcm16 } from '@parley/shared/audio/audio-frame';
import { wavHeader } from '@parley/shared/audio/wav';
import { audioAssetCollection } from '../src/audio-assets/audio-asset-model.ts';
import { eventually } from './fixtures/loopback-server.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { TestGateway } from './fixtures/test-gateway.ts';

interface Asset {
  id: string;
  name: string;
  kind: string;
  status: string;
  error: string | null;
  duration_seconds: number | null;
  url: string;
}

const plane = await openTestControlPlane();
t.teardown(() => plane[Symbol.asyncDispose]());
const { config } = plane.app.services;
const P = `/v1/orgs/${plane.first.org._id}/projects/${plane.first.project._id}`;
const tone = await readFile(new URL('../src/audio-assets/decoding/fixtures/tone-opus.ogg', import.meta.url));

function wav(samples = 800): Buffer {
  const data = bytesFromPcm16(new Int16Array(samples).fill(1000));
  return Buffer.concat([wavHeader({ sampleRate: 8000, channels: 1, dataBytes: data.length }), data]);
}

function upload(
  file: Uint8Array,
  fields: Record<string, string> = {},
  { name = 'x.bin', first = false } = {},
) {
  const body = new FormData();
  const addFile = () => body.set('file', new File([new Uint8Array(file)], name));
  if (first) addFile();
  for (const [field, value] of Object.entries({ name: 'Welcome', kind: 'greeting', ...fields }))
    body.set(field, value);
  if (!first) addFile();
  return plane.call<Asset>('POST', `${P}/audio-assets`, { body });
}

const assetOf = async (id: string) => (await plane.call<Asset>('GET', `/v1/audio-assets/${id}`)).body;

async function settled(id: string): Promise<Asset> {
  await eventually(async () => (await assetOf(id)).status !== 'processing');
  return assetOf(id);
}

const folderOf = (id: string) => join(config.STORAGE_DIR, 'audio-assets', plane.first.org._id, id);

void t.test('an upload is made ready, is heard as it was sent, and goes as a whole', async (t) => {
  const made = await upload(tone, { kind: 'hold' }, { name: 'named.wav', first: true });
  t.match(made, {
    status: 201,
    body: {
      ...{ id: /^aud_/, name: 'Welcome', kind: 'hold', status: 'processing', transcript: null, error: null },
      ...{ mime_type: 'audio/ogg', size_bytes: tone.length, duration_seconds: null, sample_rate_hz: null },
    },
  });
  const { id } = made.body;
  const ready = await settled(id);
  t.match(ready, { status: 'ready', error: null, sample_rate_hz: 48_000 });
  t.ok(Math.abs(ready.duration_seconds! - 0.5) < 0.01, `${ready.duration_seconds} s`);
  t.same((await readdir(folderOf(id))).sort(), ['16000.pcm', '48000.pcm', '8000.pcm', 'upload']);

  const link = new URL(ready.url);
  for (const [path, token] of [
    [`/v1/audio-assets/${id}/content`, undefined],
    [link.pathname + link.search, null],
  ] as const) {
    const response = await fetch(plane.url + path, {
      headers: token === null ? {} : { authorization: `Bearer ${plane.first.apiKey}` },
    });
    t.equal(response.status, 200);
    t.match(Object.fromEntries(response.headers), {
      'content-type': 'audio/ogg',
      'x-content-type-options': 'nosniff',
      'cache-control': 'private, max-age=0',
    });
    t.ok(tone.equals(Buffer.from(await response.arrayBuffer())), path.split('?')[0]!);
  }

  const change = { name: 'On hold', kind: 'other', transcript: 'One moment.' };
  t.match(await plane.call('PATCH', `/v1/audio-assets/${id}`, { body: { ...ready, ...change } }), {
    status: 200,
    body: { ...change, status: 'ready' },
  });
  t.match(await plane.call('GET', `${P}/audio-assets?kind=other&status=ready`), { body: { total: 1 } });
  t.match(await plane.call('GET', `${P}/audio-assets?kind=hold`), { body: { total: 0 } });
  t.equal((await plane.call('DELETE', `/v1/audio-assets/${id}`)).status, 204);
  t.equal(existsSync(folderOf(id)), false);
});

void t.test('what is no upload is refused, and leaves nothing behind', async (t) => {
  const before = await readdir(join(config.STORAGE_DIR, 'audio-assets', plane.first.org._id)).catch(() => []);
  t.match(await upload(Buffer.from('fLaC and so on')), { status: 415 });
  t.match(await upload(Buffer.alloc(0)), { status: 415 });
  t.match(await upload(Buffer.alloc(20 * 1024 * 1024 + 1, 'RIFF')), {
    status: 413,
    body: { code: 'too_large' },
  });
  for (const [fields, loc] of [
    [{ kind: 'song' }, 'kind'],
    [{ name: ' ' }, 'name'],
    [{ transcript: 'x'.repeat(5001) }, 'transcript'],
    [{ other: 'x' }, 'other'],
  ] as const) {
    t.match(await upload(wav(), fields), { status: 422, body: { detail: [{ loc: ['body', loc] }] } });
  }
  const twice = new FormData();
  for (const name of ['one', 'two']) twice.append('name', name);
  twice.set('kind', 'other');
  twice.set('file', new File([new Uint8Array(wav())], 'x'));
  t.match(await plane.call('POST', `${P}/audio-assets`, { body: twice }), {
    status: 422,
    body: { detail: [{ loc: ['body', 'name'] }] },
  });
  const fileless = new FormData();
  fileless.set('name', 'x');
  t.match(await plane.call('POST', `${P}/audio-assets`, { body: fileless }), {
    status: 422,
    body: { detail: [{ loc: ['body', 'file'], type: 'missing' }] },
  });
  const after = await readdir(join(config.STORAGE_DIR, 'audio-assets', plane.first.org._id));
  t.same(after, before);
});

void t.test('what cannot be decoded says why', async (t) => {
  const { id } = (await upload(wav(0))).body;
  t.match(await settled(id), { status: 'failed', error: 'The file holds no audio.' });
  // It is there to be listened to, and deleted.
  t.equal((await plane.call('GET', `/v1/audio-assets/${id}/content`)).status, 200);
  t.equal((await plane.call('DELETE', `/v1/audio-assets/${id}`)).status, 204);
});

void t.test('an upload whose process died is made ready by another', async (t) => {
  const { id } = (await upload(wav())).body;
  await settled(id);
  const assets = plane.app.services.database.model(audioAssetCollection);
  const due = { status: 'processing', run_at: new Date(), lease_until: new Date(0) };
  await assets.updateOne({ _id: id }, { $set: due });
  // Another upload wakes the work.
  await upload(wav());
  await eventually(async () => (await assetOf(id)).status === 'ready');
  t.equal((await plane.call('DELETE', `/v1/audio-assets/${id}`)).status, 204);
});

void t.test('an agent that greets with an asset holds it, and its calls may play it', async (t) => {
  const made = await upload(wav(4000), { transcript: 'Welcome.' });
  const { id } = made.body;
  const failed = (await upload(wav(0))).body.id;
  await Promise.all([settled(id), settled(failed)]);
  const greeting = (audio_asset_id: string) => ({ config: { greeting: { audio_asset_id } } });
  const agent = await plane.call<{ id: string }>('POST', `${P}/agents`, {
    body: { name: 'Desk', ...greeting(id) },
  });
  t.equal(agent.status, 201);
  const path = `/v1/agents/${agent.body.id}`;
  const loc = ['body', 'config', 'greeting', 'audio_asset_id'];
  for (const [other, type] of [
    ['aud_01k5z8r5m2q7v3x9b4n6c8d0ef', 'reference_not_found'],
    [failed, 'not_available'],
  ] as const)
    t.match(await plane.call('PATCH', path, { body: greeting(other) }), {
      status: 422,
      body: { detail: [{ loc, type }] },
    });
  t.match(await plane.call('DELETE', `/v1/audio-assets/${id}`), {
    status: 409,
    body: { code: 'resource_in_use', refs: [{ type: 'agent', id: agent.body.id, name: 'Desk' }] },
  });

  const gateway = new TestGateway(plane);
  const session = await plane.call<{ token: string }>('POST', '/v1/sessions', {
    body: { agent_id: agent.body.id },
  });
  const plan = (await gateway.redeem({ token: session.body.token })).body;
  t.match(plan.assets, { [id]: { sha256: /^[0-9a-f]{64}$/, duration_ms: 500, transcript: 'Welcome.' } });
  for (const rate of [8000, 16_000, 48_000]) {
    const samples = await gateway.internal('GET', `/internal/v1/audio-assets/${id}/${rate}`, undefined);
    t.equal(samples.status, 200);
    t.equal(Number(samples.headers.get('content-length')), rate, `half a second at ${rate} Hz`);
  }
  for (const [asset, rate, status] of [
    [id, 24_000, 422],
    [failed, 8000, 404],
    ['aud_01k5z8r5m2q7v3x9b4n6c8d0ef', 8000, 404],
  ] as const) {
    const path = `/internal/v1/audio-assets/${asset}/${rate}`;
    t.equal((await gateway.internal('GET', path, undefined)).status, status);
  }
  t.equal((await plane.call('DELETE', path)).status, 204);
  t.equal((await plane.call('DELETE', `/v1/audio-assets/${id}`)).status, 204, 'of no live agent');
});
