import { Writable } from 'node:stream';
import t from 'tap';
import { openElevenLabsEmulator } from '@parley/emulators/providers/elevenlabs-emulator';
import { parseWav } from '@parley/shared/audio/wav';
import { createLogger } from '@parley/shared/logging/logger';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { eventually, openLoopbackServer } from './fixtures/loopback-server.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { TestGateway } from './fixtures/test-gateway.ts';
import { signInUser } from './fixtures/test-users.ts';

interface Voice {
  id: string;
  org_id: string | null;
  name: string;
  provider: string;
  tts_id: string;
  provider_voice_id: string | null;
  status: string;
  error: string | null;
  is_public: boolean;
}
interface Page<T> {
  items: T[];
  total: number;
}
interface Refused {
  code: string;
  detail: { loc: (string | number)[]; type: string }[];
  refs: { type: string; id: string }[];
}
type Plan = { tts: { voice: string; provider: string; credential: string | null }[] };

const KEY = 'installation-voice-key-3f9a';
const OWN_KEY = 'voice-key-of-an-org-c04e';
const RACHEL = 'voc_elevenlabs_21m00Tcm4TlvDq8ikWAM';

const lines: string[] = [];
const destination = new Writable({
  write(chunk: Buffer, _encoding, done) {
    lines.push(chunk.toString('utf8'));
    done();
  },
});
/** Holds up what the emulator delays until it is moved on. */
const emulatorClock = new ManualClock(Date.now());
/** Speaks MP3, which the emulator does not. */
const mp3Server = await openLoopbackServer(({ method }) =>
  method === 'GET'
    ? {
        body: {
          voices: [{ voice_id: 'mona', name: 'Mona', category: 'cloned', labels: { gender: 'female' } }, {}],
        },
      }
    : { headers: { 'content-type': 'audio/mpeg' }, body: 'ID3 and so on' },
);
t.teardown(() => mp3Server[Symbol.asyncDispose]());
const emulator = await openElevenLabsEmulator({
  speech: 'tones',
  keys: [KEY, OWN_KEY],
  delays: { firstAudio: 0, realTimeFactor: Infinity },
  clock: emulatorClock,
});
t.teardown(() => emulator[Symbol.asyncDispose]());
// Near the real time: tokens and the database go by it.
const clock = new ManualClock(Date.now());
const cp = await openTestControlPlane({
  clock,
  logger: createLogger({ name: 'test', level: 'trace', destination }),
  env: {
    REGISTRATION: 'open',
    DEEPGRAM_API_KEY: 'x',
    OPENAI_API_KEY: 'x',
    ELEVENLABS_BASE_URL: emulator.url,
    ELEVENLABS_API_KEY: KEY,
    EMULATED_PROVIDERS: 'elevenlabs',
    OUTBOUND_ALLOW: `${emulator.url},${mp3Server.url}`,
  },
});
t.teardown(() => cp[Symbol.asyncDispose]());
const { org, project } = cp.first;
const P = `/v1/orgs/${org._id}/projects/${project._id}`;
const owner = await signInUser(cp, 'owner@example.com');
const editor = await signInUser(cp, 'editor@example.com');
await editor.join(org._id, 'editor');
const theirs = await cp.makeTenant();
const gateway = new TestGateway(cp);

const list = async (query = '', token = cp.first.apiKey) =>
  (await cp.call<Page<Voice>>('GET', `/v1/voices${query}`, { token })).body;

/** Audio as bytes. */
async function audio(method: string, path: string, options: { body?: object; token?: string } = {}) {
  const { body, token = cp.first.apiKey } = options;
  const response = await fetch(`${cp.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  const type = response.headers.get('content-type') ?? '';
  const refused = type.includes('json') ? (JSON.parse(Buffer.from(bytes).toString()) as Refused) : undefined;
  return { status: response.status, type, bytes, refused, headers: response.headers };
}

function recording(
  fields: Record<string, string> = {},
  files = [new Uint8Array([82, 73, 70, 70])],
): FormData {
  const form = new FormData();
  const all = {
    name: 'Asha',
    tts_id: 'tts_elevenlabs_flash',
    language: 'hi',
    consent: 'true',
    org_id: org._id,
  };
  for (const [name, value] of Object.entries({ ...all, ...fields })) form.append(name, value);
  for (const file of files) form.append('files', new File([file], 'asha.wav', { type: 'audio/wav' }));
  return form;
}

const clone = (form: FormData, token = editor.token) =>
  cp.call<Voice & Refused>('POST', '/v1/voices/clone', { body: form, token });
const patch = (id: string, fields: Record<string, string>, token: string) =>
  cp.call<Voice & Refused>('PATCH', `/v1/voices/${id}`, { body: new URLSearchParams(fields), token });

async function planOf(agentId: string, token = cp.first.apiKey) {
  const session = await cp.call<{ token: string }>('POST', '/v1/sessions', {
    body: { agent_id: agentId },
    token,
  });
  return (await gateway.redeem({ token: session.body.token })) as unknown as { status: number; body: Plan };
}

void t.test('the catalogue: what the providers have, asked once', async (t) => {
  const all = await list();
  t.equal(all.total, 7);
  t.match(
    all.items.find((voice) => voice.id === RACHEL),
    {
      org_id: null,
      name: 'Rachel',
      provider: 'elevenlabs',
      tts_id: 'tts_elevenlabs_flash',
      provider_voice_id: '21m00Tcm4TlvDq8ikWAM',
      source: 'catalog',
      languages: ['*'],
      is_public: true,
      status: 'ready',
    },
  );
  const asked = emulator.stats.httpRequests;
  const names = async (query: string) => (await list(query)).items.map((voice) => voice.name);
  t.same(await names('?provider=flite'), ['Slt']);
  t.same(await names('?gender=female&tts_id=tts_local&language=en&source=catalog&is_public=true'), ['Slt']);
  t.same(await names('?source=clone'), []);
  t.same(await names('?q=char'), ['Charlotte']);
  t.same(await names('?sort=name&limit=2&offset=1'), ['Charlotte', 'George']);
  t.same(await names('?sort=-name&limit=1'), ['Slt']);
  t.same(await names('?offset=7'), []);
  t.equal((await list('', owner.token)).total, 7, 'users see it without an org');
  t.equal(emulator.stats.httpRequests, asked, 'it was remembered');
  t.match((await cp.call('GET', `/v1/voices/${RACHEL}`)).body, { name: 'Rachel' });
  t.equal((await cp.call('GET', '/v1/voices/voc_elevenlabs_nobody')).status, 404);
  t.equal((await cp.call('GET', '/v1/voices/rachel')).status, 422);
  t.equal((await cp.call('GET', '/v1/voices?gender=')).status, 422);
  t.equal((await cp.call('GET', `/v1/voices?org_id=${theirs.org._id}`)).status, 422);
});

void t.test('a voice speaks', async (t) => {
  const local = '/v1/voices/voc_flite_slt/speak';
  const spoken = await audio('POST', local, { body: { text: 'Good morning.' } });
  t.match([spoken.status, spoken.type], [200, 'audio/wav']);
  t.equal(spoken.headers.get('cache-control'), 'private');
  const wav = parseWav(spoken.bytes);
  t.match(wav, { sampleRate: 16_000, channels: 1 });
  t.ok(wav.samples.length > 8000 && wav.samples.some((sample) => Math.abs(sample) > 1000));
  const raw = await audio('POST', local, { body: { text: 'Good morning.', format: 'pcm16_16000' } });
  t.equal(raw.type, 'audio/pcm;rate=16000');
  t.equal(raw.bytes.length, wav.samples.length * 2);
  const far = `/v1/voices/${RACHEL}/speak`;
  const elsewhere = await audio('POST', far, {
    body: { text: 'Good morning.', language: 'en-US', speed: 1.1 },
  });
  t.match([elsewhere.status, elsewhere.type], [200, 'audio/wav']);
  t.ok(parseWav(elsewhere.bytes).samples.length > 1000);

  for (const [body, field] of [
    [{ text: 'a', format: 'mp3' }, 'format'],
    [{ text: 'a', speed: 1.5 }, 'speed'],
    [{ text: 'a', language: 'de' }, 'language'],
    [{ text: ' ' }, 'text'],
    [{ text: 'a'.repeat(1001) }, 'text'],
    [{ text: 'a', format: 'ogg' }, 'format'],
  ] as const) {
    const refused = await audio('POST', local, { body });
    t.match([refused.status, refused.refused?.detail[0]?.loc], [422, ['body', field]]);
  }
  const logged = lines.length;
  const foreign = await audio('POST', far, { body: { text: 'nuqneH', language: 'tlh' } });
  t.match(
    [foreign.status, foreign.refused?.detail],
    [422, [{ loc: ['body', 'language'], type: 'not_available' }]],
    'a language that the provider does not speak',
  );
  t.notMatch(lines.slice(logged).join(''), /"level":50/, 'is no error of ours');
  const unspoken = await audio('POST', far, { body: { text: 'a', format: 'mp3' } });
  t.match([unspoken.status, unspoken.refused?.code], [502, 'provider_error'], 'the emulator has no MP3');
  for (const kind of ['refuse', 'rate_limit', 'reset'] as const) {
    emulator.setFaults([{ kind, count: 1 }]);
    const failed = await audio('POST', far, { body: { text: 'a' } });
    t.match([failed.status, failed.refused?.code], [502, 'provider_error'], kind);
  }
  emulator.setFaults([]);

  const asUser = (query: string) =>
    audio('POST', `${local}${query}`, { body: { text: 'Hi.' }, token: editor.token });
  t.match((await asUser('')).refused?.detail, [{ loc: ['query', 'org_id'], type: 'missing' }]);
  t.match((await asUser(`?org_id=${theirs.org._id}`)).refused?.detail, [{ type: 'reference_not_found' }]);
  t.equal((await asUser(`?org_id=${org._id}`)).status, 200);
  t.equal((await asUser(`?project_id=${project._id}`)).status, 200);
  const viewer = await cp.makeTenant('viewer');
  const asViewer = await audio('POST', local, { body: { text: 'Hi.' }, token: viewer.apiKey });
  t.equal(asViewer.refused?.code, 'role_too_low');
});

void t.test('a preview is made once, on somebody’s account', async (t) => {
  const path = `/v1/voices/${RACHEL}/preview`;
  const utterances = emulator.stats.utterances;
  const first = await audio('GET', path);
  t.match([first.status, first.type], [200, 'audio/wav']);
  t.same((await audio('GET', path)).bytes, first.bytes);
  t.equal(emulator.stats.utterances, utterances + 1);
  t.equal((await audio('GET', path, { token: owner.token })).status, 422);
  t.equal((await audio('GET', `${path}?org_id=${org._id}`, { token: owner.token })).status, 200);
  t.equal((await audio('GET', '/v1/voices/voc_flite_slt/preview')).type, 'audio/wav');
});

void t.test('an agent names voices that its model has', async (t) => {
  const make = (body: object) => cp.call<{ id: string } & Refused>('POST', `${P}/agents`, { body });
  const local = await make({ name: 'Local', tts_id: 'tts_local', tts_voice_id: 'voc_flite_slt' });
  t.match((await planOf(local.body.id)).body.tts, [{ provider: 'flite', voice: 'slt' }]);
  const far = await make({ name: 'Far', tts_id: 'tts_elevenlabs_flash', tts_voice_id: RACHEL });
  t.match((await planOf(far.body.id)).body.tts, [{ voice: '21m00Tcm4TlvDq8ikWAM', credential: KEY }]);
  const plain = await make({
    name: 'Plain',
    tts_id: 'tts_elevenlabs_flash',
    tts_voice_id: 'raw-id-of-the-vendor',
  });
  t.match((await planOf(plain.body.id)).body.tts, [{ voice: 'raw-id-of-the-vendor' }]);
  for (const [tts_id, tts_voice_id] of [
    ['tts_local', RACHEL],
    ['tts_local', 'awb'],
    ['tts_elevenlabs_flash', 'voc_flite_slt'],
    ['tts_elevenlabs_flash', 'voc_elevenlabs_nobody'],
    ['tts_elevenlabs_flash', 'voc_01k5z8r5m2q7v3x9b4n6c8d0ef'],
  ] as const) {
    const refused = await make({ name: 'Wrong', tts_id, tts_voice_id });
    t.equal(refused.status, 422, tts_voice_id);
    t.match(refused.body.detail, [{ loc: ['body', 'tts_voice_id'], type: 'reference_not_found' }]);
  }
  const fallback = await make({
    name: 'Wrong',
    config: { tts: { fallback_voices: [{ tts_id: 'tts_local', tts_voice_id: 'nobody' }] } },
  });
  t.match(fallback.body.detail, [{ loc: ['body', 'config', 'tts', 'fallback_voices', 0, 'tts_voice_id'] }]);
  const byProject = await cp.call<Refused>('PATCH', `/v1/projects/${project._id}`, {
    token: owner.token,
    body: { default_tts_id: 'tts_local', default_voice_id: RACHEL },
  });
  t.match(byProject.body.detail, [{ loc: ['body', 'default_voice_id'] }]);
});

void t.test('clones', async (t) => {
  const made = await clone(recording());
  t.equal(made.status, 202);
  t.match(made.body, {
    id: /^voc_[0-9a-z]{26}$/,
    org_id: org._id,
    name: 'Asha',
    source: 'clone',
    languages: ['hi'],
    is_public: false,
    owner_user_id: editor.userId,
    status: 'ready',
    provider_voice_id: /./,
  });
  const { id, provider_voice_id: providerVoiceId } = made.body;
  const speech = { name: 'Uses a clone', tts_id: 'tts_elevenlabs_flash' };
  const theirAgents = `/v1/orgs/${theirs.org._id}/projects/${theirs.project._id}/agents`;

  void t.test('what cannot be cloned', async (t) => {
    const refuse = async (form: FormData, loc: (string | number)[], type: string) => {
      const answer = await clone(form);
      t.equal(answer.status, 422, type);
      t.match(answer.body.detail, [{ loc: ['body', ...loc], type }]);
    };
    await refuse(recording({ consent: 'yes' }), ['consent'], 'literal_error');
    await refuse(recording({}, []), ['files'], 'missing');
    await refuse(
      recording({}, Array<Uint8Array<ArrayBuffer>>(6).fill(new Uint8Array(1))),
      ['files'],
      'too_long',
    );
    await refuse(recording({}, [new Uint8Array(0)]), ['files', 0], 'too_short');
    await refuse(recording({}, [new Uint8Array(10 * 1024 * 1024 + 1)]), ['files', 0], 'too_long');
    await refuse(recording({ tts_id: 'tts_local' }), ['tts_id'], 'not_available');
    await refuse(recording({ tts_id: 'tts_nothing' }), ['tts_id'], 'reference_not_found');
    await refuse(recording({ org_id: theirs.org._id }), ['org_id'], 'reference_not_found');
    await refuse(recording({ extra: 'x' }), ['extra'], 'extra_forbidden');
    await refuse(recording({ name: 'a\0b' }), ['name'], 'string_pattern_mismatch');
    const odd = recording();
    odd.set('files', new File([new Uint8Array(4)], 'a\0b.wav', { type: 'audio/wav' }));
    await refuse(odd, ['files'], 'string_pattern_mismatch');
    t.equal((await cp.call('POST', '/v1/voices/clone', { body: {}, token: editor.token })).status, 415);
    t.match((await clone(recording(), cp.first.apiKey)).body, { code: 'user_required' });
  });

  void t.test('a key repeated is one clone; where nothing is kept the key is refused', async (t) => {
    const send = () =>
      cp.call<Voice>('POST', '/v1/voices/clone', {
        body: recording(),
        token: editor.token,
        headers: { 'idempotency-key': 'clone-once' },
      });
    const [first, again] = [await send(), await send()];
    t.same([first.status, again.status], [202, 202]);
    t.equal(again.body.id, first.body.id, 'though the boundary of its parts is another');
    const spoken = await cp.call<Refused>('POST', `/v1/voices/${first.body.id}/speak`, {
      body: { text: 'Hello.' },
      headers: { 'idempotency-key': 'speak-once' },
    });
    t.match(spoken, {
      status: 422,
      body: { detail: [{ loc: ['header', 'Idempotency-Key'], type: 'not_available' }] },
    });
    t.equal((await cp.call('DELETE', `/v1/voices/${first.body.id}`, { token: editor.token })).status, 204);
  });

  void t.test('a provider that refuses at once is a 502, and nothing is left', async (t) => {
    emulator.setFaults([{ kind: 'refuse', status: 503, count: 1 }]);
    const failed = await clone(recording());
    t.match([failed.status, failed.body.code], [502, 'provider_error']);
    t.equal((await list('?source=clone')).total, 1);
  });

  void t.test('one that takes its time is told of by the status', async (t) => {
    for (const [status, error, faults] of [
      ['ready', null, [{ kind: 'slow_handshake', delayMs: 60_000, count: 1 }]],
      [
        'failed',
        'unavailable',
        [
          { kind: 'slow_handshake', delayMs: 60_000, count: 1 },
          { kind: 'refuse', status: 503, count: 1 },
        ],
      ],
    ] as const) {
      emulator.setFaults([...faults]);
      let answered: Awaited<ReturnType<typeof clone>> | undefined;
      void clone(recording({ name: 'Slow' })).then((answer) => (answered = answer));
      const slow = await eventually(() => {
        clock.advance(500);
        return Promise.resolve(answered);
      });
      t.match([slow.status, slow.body.status], [202, 'processing']);
      const path = `/v1/voices/${slow.body.id}`;
      t.match((await audio('POST', `${path}/speak`, { body: { text: 'a' } })).refused, {
        code: 'invalid_state',
      });
      const early = await cp.call<Refused>('DELETE', path, { token: editor.token });
      t.match(early.body, { code: 'invalid_state' });
      const after = await eventually(async () => {
        emulatorClock.advance(60_000);
        const { body } = await cp.call<Voice>('GET', path);
        return body.status !== 'processing' && body;
      });
      t.match(after, { status, error });
      t.equal((await cp.call('DELETE', path, { token: editor.token })).status, 204);
    }
    emulator.setFaults([]);
  });

  void t.test('belong to their org', async (t) => {
    t.equal((await list('?source=clone', theirs.apiKey)).total, 0);
    t.equal((await list('?source=clone', owner.token)).total, 0, 'a user names the org');
    t.equal((await list(`?source=clone&org_id=${org._id}`, owner.token)).total, 1);
    t.match((await list('?source=clone&language=hi-IN&tts_id=tts_elevenlabs_flash&q=ash')).items, [{ id }]);
    t.equal((await list('?source=clone&language=de')).total, 0);
    t.equal((await list('?limit=200')).total, 8);
    t.equal((await cp.call('GET', `/v1/voices/${id}`, { token: theirs.apiKey })).status, 404);
    const speak = await audio('POST', `/v1/voices/${id}/speak`, {
      body: { text: 'a' },
      token: theirs.apiKey,
    });
    t.equal(speak.status, 404);
    for (const voice of [id, providerVoiceId, `voc_elevenlabs_${providerVoiceId}`]) {
      const stolen = await cp.call<Refused>('POST', theirAgents, {
        token: theirs.apiKey,
        body: { ...speech, tts_voice_id: voice },
      });
      t.match(stolen.body.detail, [{ loc: ['body', 'tts_voice_id'], type: 'reference_not_found' }]);
    }
    t.equal((await audio('POST', `/v1/voices/${id}/speak`, { body: { text: 'Hello there.' } })).status, 200);
  });

  void t.test('change by form alone, for their owner and admins', async (t) => {
    const json = await cp.call<Refused>('PATCH', `/v1/voices/${id}`, {
      body: { name: 'x' },
      token: editor.token,
    });
    t.equal(json.status, 415);
    const key = await cp.call<Refused>('PATCH', '/v1/voices/nothing', { body: { name: 'x' } });
    t.match([key.status, key.body.code], [403, 'user_required']);
    for (const [fields, loc, type] of [
      [{ is_public: 'maybe' }, 'is_public', 'enum'],
      [{ is_public: '1' }, 'is_public', 'enum'],
      [{ name: '' }, 'name', 'string_too_short'],
      [{ name: 'a\0b' }, 'name', 'string_pattern_mismatch'],
      [{ colour: 'red' }, 'colour', 'extra_forbidden'],
    ] as const) {
      const refused = await patch(id, fields, editor.token);
      t.equal(refused.status, 422);
      t.match(refused.body.detail, [{ loc: ['body', loc], type }]);
    }
    t.equal((await patch(id, {}, editor.token)).status, 422);
    t.match((await patch(id, { name: 'Asha 2' }, editor.token)).body, { name: 'Asha 2', is_public: false });
    t.match((await patch(RACHEL, { name: 'Mine' }, owner.token)).body, { code: 'forbidden' });
    t.match((await patch('voc_flite_slt', { name: 'Mine' }, owner.token)).body, { code: 'forbidden' });
    t.equal((await patch('voc_elevenlabs_nobody', { name: 'Mine' }, owner.token)).status, 404);
    const second = await clone(recording({ name: 'Of the owner' }), owner.token);
    t.match((await patch(second.body.id, { name: 'x' }, editor.token)).body, { code: 'forbidden' });
    t.match((await patch(id, { name: 'Asha' }, owner.token)).body, { name: 'Asha' });
    t.equal((await cp.call('DELETE', `/v1/voices/${second.body.id}`, { token: owner.token })).status, 204);
  });

  void t.test('are lent to all by an admin; once withdrawn, fallback voices speak', async (t) => {
    t.match((await patch(id, { is_public: 'true' }, editor.token)).body, { code: 'role_too_low' });
    t.match((await patch(id, { is_public: 'true' }, owner.token)).body, { is_public: true });
    t.match((await list('?source=clone&is_public=true', theirs.apiKey)).items, [{ id }]);
    const outsider = await signInUser(cp, 'outsider@example.com');
    t.equal((await list('?source=clone', outsider.token)).total, 1);
    t.match((await patch(id, { name: 'Mine' }, outsider.token)).body, { code: 'forbidden' });

    const make = async (body: object) =>
      (
        await cp.call<{ id: string }>('POST', theirAgents, {
          token: theirs.apiKey,
          body: { ...speech, tts_voice_id: id, ...body },
        })
      ).body.id;
    const config = { tts: { fallback_voices: [{ tts_id: 'tts_local' }] } };
    const [careful, careless] = [await make({ name: 'Careful', config }), await make({ name: 'Careless' })];
    t.match((await planOf(careful, theirs.apiKey)).body.tts, [
      { voice: providerVoiceId },
      { provider: 'flite' },
    ]);
    t.equal((await patch(id, { is_public: 'false' }, owner.token)).status, 200);
    t.match((await planOf(careful, theirs.apiKey)).body.tts, [{ provider: 'flite' }]);
    t.not((await planOf(careless, theirs.apiKey)).status, 200);
  });

  void t.test('stay while agents use them, and go from their provider too', async (t) => {
    const agent = await cp.call<{ id: string }>('POST', `${P}/agents`, {
      body: { ...speech, tts_voice_id: id },
    });
    t.match((await planOf(agent.body.id)).body.tts, [{ voice: providerVoiceId, credential: KEY }]);
    const used = await cp.call<Refused>('DELETE', `/v1/voices/${id}`, { token: editor.token });
    t.match(used.body, { code: 'resource_in_use', refs: [{ type: 'agent', id: agent.body.id }] });
    await cp.call('DELETE', `/v1/agents/${agent.body.id}`);
    const known = async () => {
      const answer = await fetch(`${emulator.url}/v1/voices/${providerVoiceId}`, {
        headers: { 'xi-api-key': KEY },
      });
      return answer.status;
    };
    t.equal(await known(), 200);
    emulator.setFaults([{ kind: 'refuse', status: 503, count: 1 }]);
    t.equal((await cp.call('DELETE', `/v1/voices/${id}`, { token: editor.token })).status, 502);
    t.equal((await cp.call('DELETE', `/v1/voices/${id}`, { token: editor.token })).status, 204);
    t.equal((await cp.call('DELETE', `/v1/voices/${id}`, { token: editor.token })).status, 404);
    t.equal(await known(), 404);
  });
});

void t.test('an org’s own account has its own voices and clones', async (t) => {
  const O = `/v1/orgs/${org._id}`;
  const add = async (base_url: string) =>
    (
      await cp.call<{ id: string }>('POST', `${O}/provider-credentials`, {
        token: owner.token,
        body: { provider: 'elevenlabs', name: 'Ours', base_url, values: { api_key: OWN_KEY } },
      })
    ).body.id;
  const remove = (id: string) => cp.call('DELETE', `/v1/provider-credentials/${id}`, { token: owner.token });
  const first = await add(emulator.url);
  const made = await clone(recording({ name: 'Ours' }), owner.token);
  t.match(made.body, { status: 'ready' });
  t.match((await patch(made.body.id, { is_public: 'true' }, owner.token)).body, { code: 'invalid_state' });
  t.equal((await list('?provider=elevenlabs')).items.filter((voice) => voice.name === 'Ours').length, 1);
  const speak = () => audio('POST', `/v1/voices/${made.body.id}/speak`, { body: { text: 'Hello.' } });
  t.equal((await speak()).status, 200);
  await remove(first);
  t.match((await speak()).refused, { code: 'invalid_state' }, 'a clone speaks in the account it was made in');
  t.equal((await cp.call('DELETE', `/v1/voices/${made.body.id}`, { token: owner.token })).status, 204);
});

void t.test('MP3 comes as the provider gives it', async (t) => {
  const made = await cp.call<{ id: string }>('POST', `/v1/orgs/${org._id}/provider-credentials`, {
    token: owner.token,
    body: { provider: 'elevenlabs', name: 'MP3', base_url: mp3Server.url, values: { api_key: OWN_KEY } },
  });
  t.match((await list('?provider=elevenlabs&gender=female')).items, [
    { id: 'voc_elevenlabs_mona', is_public: false },
  ]);
  t.equal((await list('', theirs.apiKey)).total, 7, 'others see nothing of that account');
  const body = { text: 'Hello.', format: 'mp3', language: 'de-DE', speed: 2 };
  const spoken = await audio('POST', '/v1/voices/voc_elevenlabs_mona/speak', { body });
  t.match(
    [spoken.status, spoken.type, Buffer.from(spoken.bytes).toString()],
    [200, 'audio/mpeg', 'ID3 and so on'],
  );
  const asked = mp3Server.received.at(-1)!;
  t.equal(asked.path, '/v1/text-to-speech/mona?output_format=mp3_44100_128');
  t.same(JSON.parse(asked.body), {
    text: 'Hello.',
    model_id: 'eleven_flash_v2_5',
    language_code: 'de',
    voice_settings: { speed: 1.2 },
  });
  await cp.call('DELETE', `/v1/provider-credentials/${made.body.id}`, { token: owner.token });
});

void t.test('no key is in the log', (t) => {
  t.ok(lines.length > 50);
  for (const secret of [KEY, OWN_KEY]) t.notOk(lines.join('').includes(secret));
  t.end();
});
