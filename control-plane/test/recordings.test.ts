import { createHash, randomUUID } from 'node:crypto';
import t from 'tap';
import { ManualClock } from '@parley/shared/time/manual-clock';
import type { SessionResponse } from '../src/sessions/session-schema.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { TestGateway, type TestPlan } from './fixtures/test-gateway.ts';

const clock = new ManualClock(Date.now());
const plane = await openTestControlPlane({ clock, env: { RECORDING_STORE: 'upload' } });
t.teardown(() => plane[Symbol.asyncDispose]());
const gateway = new TestGateway(plane);
const { callEvents } = plane.app.services;

const AUDIO = Buffer.from(Array.from({ length: 5000 }, (_, index) => index % 251));
const SHA256 = createHash('sha256').update(AUDIO).digest('hex');

interface Recording {
  id: string;
  status: string;
  url: string | null;
  url_expires_at: string | null;
  size_bytes: number | null;
}

async function begin(body: object = {}): Promise<TestPlan> {
  const session = await plane.call<SessionResponse>('POST', '/v1/sessions', { body });
  const plan = (await gateway.redeem({ token: session.body.token! })).body;
  await callEvents.handle(gateway.started(plan));
  return plan;
}

async function store(plan: TestPlan, format: 'wav' | 'mp3' = 'wav'): Promise<void> {
  const { recording_id } = plan.record;
  await gateway.internal('PUT', `/internal/v1/recordings/${recording_id}`, AUDIO, {
    'content-type': 'application/octet-stream',
    digest: `sha-256=${Buffer.from(SHA256, 'hex').toString('base64')}`,
  });
  await callEvents.handle(
    gateway.event(plan, 'recording', {
      recording_id,
      status: 'stored',
      key: plan.record.key,
      size_bytes: AUDIO.length,
      sha256: SHA256,
      duration_ms: 1250,
      channels: 2,
      format,
    }),
  );
}

const recordingOf = (plan: TestPlan, token?: string) =>
  plane.call<Recording>(
    'GET',
    `/v1/sessions/${plan.session_id}/recording`,
    token === undefined ? {} : { token },
  );
/** Straight to the listener: links name the public address. */
const follow = (url: string, headers: Record<string, string> = {}) =>
  fetch(url.replace('http://127.0.0.1:8080', plane.url), { headers });
const bytes = async (response: Response) => Buffer.from(await response.arrayBuffer());

void t.test('a recording is shown from the start, and heard once it is stored', async (t) => {
  const plan = await begin();
  t.match(await recordingOf(plan), {
    status: 200,
    body: { id: plan.record.recording_id, status: 'recording', url: null },
  });
  const early = await plane.call<{ code: string }>(
    'GET',
    `/v1/recordings/${plan.record.recording_id}/content`,
  );
  t.match(early, { status: 503, body: { code: 'unavailable' } });
  t.ok(early.headers.get('retry-after'));
  await store(plan);
  const { body } = await recordingOf(plan);
  t.match(body, { status: 'ready', size_bytes: 5000, duration_seconds: 1.25, channels: 2, format: 'wav' });
  t.equal(Date.parse(body.url_expires_at!) - clock.now() <= 15 * 60_000, true);
  const heard = await fetch(`${plane.url}/v1/recordings/${body.id}/content`, {
    headers: { authorization: `Bearer ${plane.first.apiKey}` },
  });
  t.equal(heard.status, 200);
  t.ok((await bytes(heard)).equals(AUDIO));
  for (const [name, value] of [
    ['content-type', 'audio/wav'],
    ['content-length', '5000'],
    ['accept-ranges', 'bytes'],
    ['x-content-type-options', 'nosniff'],
    ['referrer-policy', 'no-referrer'],
  ] as const) {
    t.equal(heard.headers.get(name), value, name);
  }
  t.match(heard.headers.get('cache-control'), /private/);
});

void t.test(
  'one in MP3 is called and served as that, by parts as well, and deleted like others',
  async (t) => {
    const { org, project } = plane.first;
    const agent = await plane.call<{ id: string }>(
      'POST',
      `/v1/orgs/${org._id}/projects/${project._id}/agents`,
      {
        body: { name: 'Recorder', config: { recording: { format: 'mp3' } } },
      },
    );
    const plan = await begin({ agent_id: agent.body.id });
    t.match(plan.record, { format: 'mp3', key: /\/rec_[^/]+\.mp3$/ });
    await store(plan, 'mp3');
    const { body } = await recordingOf(plan);
    t.match(body, { status: 'ready', format: 'mp3', duration_seconds: 1.25 });
    for (const answer of [await follow(body.url!), await follow(body.url!, { range: 'bytes=4-9' })]) {
      t.equal(answer.headers.get('content-type'), 'audio/mpeg');
      t.match(answer.headers.get('content-disposition'), new RegExp(`${body.id}\\.mp3`));
      const whole = answer.status === 200;
      t.ok((await bytes(answer)).equals(whole ? AUDIO : AUDIO.subarray(4, 10)), String(answer.status));
    }
    t.equal((await plane.call('DELETE', `/v1/sessions/${plan.session_id}/recording`)).status, 204);
    t.equal(await plane.app.services.recordings.store.size(plan.record.key), null);
  },
);

void t.test('parts can be had, with and without the signed link', async (t) => {
  const plan = await begin();
  await store(plan);
  const { body } = await recordingOf(plan);
  const cases: [string, number, Buffer | null, string][] = [
    ['bytes=0-9', 206, AUDIO.subarray(0, 10), 'bytes 0-9/5000'],
    ['bytes=4990-', 206, AUDIO.subarray(4990), 'bytes 4990-4999/5000'],
    ['bytes=-10', 206, AUDIO.subarray(-10), 'bytes 4990-4999/5000'],
    ['bytes=4000-99999', 206, AUDIO.subarray(4000), 'bytes 4000-4999/5000'],
    ['bytes=5000-', 416, null, ''],
    ['bytes=9-1', 200, AUDIO, ''],
  ];
  for (const [range, status, expected, contentRange] of cases) {
    const answers = [
      await follow(body.url!, { range }),
      await fetch(`${plane.url}/v1/recordings/${body.id}/content`, {
        headers: { range, authorization: `Bearer ${plane.first.apiKey}` },
      }),
    ];
    for (const answer of answers) {
      t.equal(answer.status, status, range);
      const got = await bytes(answer);
      if (expected) t.ok(got.equals(expected), `${range}: ${got.length} bytes`);
      if (contentRange) t.equal(answer.headers.get('content-range'), contentRange);
    }
  }
});

void t.test('a link opens one file for its time and nothing else', async (t) => {
  const [one, two] = [await begin(), await begin()];
  await store(one);
  await store(two);
  const link = (await recordingOf(one)).body.url!;
  t.equal((await follow(link)).status, 200);
  const spoilt = [
    link.replace(one.record.recording_id, two.record.recording_id),
    link.replace(/expires=(\d+)/, (_, at: string) => `expires=${Number(at) + 1000}`),
    link.replace(/signature=(.)/, (_, first: string) => `signature=${first === 'A' ? 'B' : 'A'}`),
  ];
  for (const url of spoilt) t.equal((await follow(url)).status, 403, url.replace(/signature=.*/, ''));
  t.equal((await follow(link.replace(/&signature=.*/, ''))).status, 422);
  clock.advance(15 * 60_000 + 1000);
  t.equal((await follow(link)).status, 403);
});

void t.test('recordings of other tenants do not exist, and deleting one is for admins', async (t) => {
  const plan = await begin();
  await store(plan);
  const other = await plane.makeTenant();
  t.equal((await recordingOf(plan, other.apiKey)).status, 404);
  const path = `/v1/recordings/${plan.record.recording_id}/content`;
  t.equal((await plane.call('GET', path, { token: other.apiKey })).status, 404);
  const { body } = await recordingOf(plan);
  const deleteIt = () => plane.call('DELETE', `/v1/sessions/${plan.session_id}/recording`);
  t.equal((await deleteIt()).status, 204);
  t.equal((await deleteIt()).status, 404);
  t.equal((await recordingOf(plan)).status, 404);
  t.equal((await follow(body.url!)).status, 404, 'a link that was given out leads nowhere');
  t.equal(await plane.app.services.recordings.store.size(plan.record.key), null, 'the file is gone');
  await store(plan);
  t.equal((await recordingOf(plan)).status, 404, 'and does not come back');
});

void t.test('what nobody wanted recorded has no recording', async (t) => {
  const plan = await begin({ record: false });
  t.equal(plan.record.enabled, false);
  t.equal((await recordingOf(plan)).status, 404);
  for (const config of [{ privacy: { store_audio: false } }, { recording: { enabled: false } }]) {
    const { body: agent } = await plane.call<{ id: string }>(
      'POST',
      `/v1/orgs/${plane.first.org._id}/projects/${plane.first.project._id}/agents`,
      { body: { name: `Quiet ${randomUUID()}`, config } },
    );
    t.equal((await begin({ agent_id: agent.id, record: true })).record.enabled, false);
  }
});

void t.test('a recording that failed says so', async (t) => {
  const plan = await begin();
  await callEvents.handle(
    gateway.event(plan, 'recording', {
      recording_id: plan.record.recording_id,
      status: 'failed',
      error: 'disk_full',
    }),
  );
  t.match((await recordingOf(plan)).body, { status: 'failed', url: null });
  t.equal((await plane.call('GET', `/v1/recordings/${plan.record.recording_id}/content`)).status, 404);
});
