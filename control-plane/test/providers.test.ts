import { Writable } from 'node:stream';
import t from 'tap';
import { openDeepgramEmulator } from '@parley/emulators/providers/deepgram-emulator';
import { openElevenLabsEmulator } from '@parley/emulators/providers/elevenlabs-emulator';
import { openOpenAiEmulator } from '@parley/emulators/providers/openai-emulator';
import { parseScript } from '@parley/emulators/providers/openai/script';
import { createLogger } from '@parley/shared/logging/logger';
import { auditCollection } from '../src/audit/audit-trail.ts';
import { providerCredentialCollection } from '../src/providers/provider-credential-model.ts';
import { openLoopbackServer } from './fixtures/loopback-server.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { TestGateway } from './fixtures/test-gateway.ts';
import { signInUser } from './fixtures/test-users.ts';

interface Model {
  id: string;
  org_id: string | null;
  kind: string;
  provider: string;
  status: string;
  languages: string[];
  base_url?: string | null;
}
interface Credential {
  id: string;
  status: string;
  base_url: string | null;
  last_verified_at: string | null;
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

const GOOD = 'good-key-of-a-tenant-7b31';
const OTHER = 'other-key-of-a-tenant-55e0';

const lines: string[] = [];
const destination = new Writable({
  write(chunk: Buffer, _encoding, done) {
    lines.push(chunk.toString('utf8'));
    done();
  },
});
const keys = [GOOD];
const deepgram = await openDeepgramEmulator({ mode: 'script', sentences: ['hello'], keys });
t.teardown(() => deepgram[Symbol.asyncDispose]());
const openai = await openOpenAiEmulator({ script: parseScript({ models: ['m1'], rules: [] }), keys });
t.teardown(() => openai[Symbol.asyncDispose]());
const elevenlabs = await openElevenLabsEmulator({ speech: 'tones', keys });
t.teardown(() => elevenlabs[Symbol.asyncDispose]());
const odd = await openLoopbackServer(() => ({ status: 302, headers: { location: 'http://127.0.0.1/' } }));
t.teardown(() => odd[Symbol.asyncDispose]());
const cp = await openTestControlPlane({
  logger: createLogger({ name: 'test', level: 'trace', destination }),
  env: {
    REGISTRATION: 'open',
    DEEPGRAM_API_KEY: 'installation-deepgram-key',
    OPENAI_BASE_URL: 'https://llm.invalid/v1',
    OPENAI_API_KEY: 'installation-openai-key',
    EMULATED_PROVIDERS: '',
    // The vendor's, without a key: nobody has set it up.
    ELEVENLABS_BASE_URL: 'https://api.elevenlabs.io',
    OUTBOUND_ALLOW: [deepgram.url, openai.url, elevenlabs.url, odd.url].join(','),
  },
});
t.teardown(() => cp[Symbol.asyncDispose]());
const { org, project } = cp.first;
const O = `/v1/orgs/${org._id}`;
const P = `${O}/projects/${project._id}`;
const owner = await signInUser(cp, 'owner@example.com');
const stranger = await signInUser(cp, 'stranger@example.com');
const answers: string[] = [];

/** As the owner; answers are kept for the search at the end. */
async function call<T = Refused>(method: string, path: string, body?: unknown, token = owner.token) {
  const answer = await cp.call<T>(method, path, { body, token });
  answers.push(JSON.stringify(answer.body));
  return answer;
}
const makeCredential = async (body: object) =>
  (await call<Credential>('POST', `${O}/provider-credentials`, { name: 'ours', ...body })).body;
const models = async (query = '', token = cp.first.apiKey) =>
  (await cp.call<Page<Model>>('GET', `/v1/providers/models${query}`, { token })).body;

void t.test('providers say what their credentials hold', async (t) => {
  const { status, body } = await cp.call<Page<object>>('GET', '/v1/providers');
  t.equal(status, 200);
  t.match(body.items, [
    { provider: 'deepgram', kinds: ['stt'], credential_fields: [{ name: 'api_key' }], self_hosted: false },
    { provider: 'openai_compatible', kinds: ['llm'] },
    { provider: 'elevenlabs', kinds: ['tts'] },
    { provider: 'flite', kinds: ['tts'], credential_fields: [], self_hosted: true },
  ]);
  t.equal(body.total, 4);
  t.same((await cp.call<Page<object>>('GET', '/v1/providers?limit=1&offset=3')).body.items.length, 1);
});

void t.test('models: filters, order, status', async (t) => {
  const all = await models();
  t.equal(all.total, 5);
  t.match(
    all.items.find((one) => one.id === 'llm_openai_gpt41_mini'),
    { kind: 'llm', provider: 'openai_compatible', org_id: null, status: 'available', prices: undefined },
  );
  t.match(
    all.items.find((one) => one.id === 'tts_elevenlabs_flash'),
    { status: 'needs_credentials' },
  );
  const ids = async (query: string) => (await models(query)).items.map((one) => one.id);
  t.same(await ids('?kind=stt&language=de'), ['stt_deepgram_nova3']);
  t.same(await ids('?kind=stt&kind=llm&status=available&provider=openai_compatible'), [
    'llm_openai_gpt41_mini',
  ]);
  t.same(await ids('?status=needs_credentials'), ['tts_elevenlabs_flash']);
  t.same(await ids('?q=FLUX'), ['stt_deepgram_flux']);
  t.same(await ids('?sort=name&limit=2'), ['tts_local', 'stt_deepgram_flux']);
  t.same(await ids('?created_after=2020-01-01T00:00:00Z'), []);
  t.equal((await cp.call('GET', '/v1/providers/models?status=free')).status, 422);
  t.equal((await cp.call('GET', '/v1/providers/models?colour=red')).status, 422);
});

void t.test('a credential is stored encrypted and read back masked', async (t) => {
  const made = await call<Credential>('POST', `${O}/provider-credentials`, {
    provider: 'deepgram',
    name: 'Ours',
    values: { api_key: GOOD },
    base_url: `${deepgram.url}/`,
  });
  t.equal(made.status, 201);
  t.match(made.body, {
    id: /^prv_/,
    org_id: org._id,
    provider: 'deepgram',
    values: { api_key: { set: true, last_four: '7b31' } },
    base_url: deepgram.url,
    project_ids: null,
    status: 'unverified',
    last_verified_at: null,
  });
  const stored = await cp.app.services.database
    .model(providerCredentialCollection)
    .findOne({ _id: made.body.id })
    .lean();
  t.notMatch(JSON.stringify(stored), new RegExp(GOOD));
  const listed = await cp.call<Page<Credential>>('GET', `${O}/provider-credentials?provider=deepgram&q=our`);
  t.same(listed.body.items, [made.body]);
  t.same((await cp.call<Page<Credential>>('GET', `${O}/provider-credentials?status=valid`)).body, {
    items: [],
    total: 0,
  });

  void t.test('and a verification really asks the provider', async (t) => {
    const verified = await call('POST', `/v1/provider-credentials/${made.body.id}/verify`);
    t.same(verified.body, { ok: true });
    t.equal(deepgram.stats.requests, 1);
    const [after] = (await cp.call<Page<Credential>>('GET', `${O}/provider-credentials`)).body.items;
    t.match(after, { status: 'valid', last_verified_at: /^20/ });
    await call('DELETE', `/v1/provider-credentials/${made.body.id}`);
    t.equal((await call('DELETE', `/v1/provider-credentials/${made.body.id}`)).status, 404);
  });
});

void t.test(
  'each provider is asked in its own way, and only a refusal counts against a credential',
  async (t) => {
    const tried = [
      {
        provider: 'openai_compatible',
        base_url: `${openai.url}/v1`,
        key: GOOD,
        says: { ok: true },
        status: 'valid',
      },
      { provider: 'elevenlabs', base_url: elevenlabs.url, key: GOOD, says: { ok: true }, status: 'valid' },
      {
        provider: 'elevenlabs',
        base_url: elevenlabs.url,
        key: OTHER,
        says: { ok: false, error: 'auth' },
        status: 'invalid',
      },
      {
        provider: 'deepgram',
        base_url: odd.url,
        key: GOOD,
        says: { ok: false, error: 'unexpected_answer' },
        status: 'unverified',
      },
    ];
    for (const { provider, base_url, key, says, status } of tried) {
      const { id } = await makeCredential({ provider, base_url, values: { api_key: key } });
      t.same((await call('POST', `/v1/provider-credentials/${id}/verify`)).body, says, provider);
      const page = (await cp.call<Page<Credential>>('GET', `${O}/provider-credentials`)).body;
      t.equal(page.items.find((one) => one.id === id)?.status, status);
      if (status === 'invalid') {
        const found = (await models()).items.find((one) => one.id === 'tts_elevenlabs_flash');
        t.equal(found?.status, 'available', 'another one is still good');
      }
      if (provider !== 'elevenlabs' || status === 'invalid')
        await call('DELETE', `/v1/provider-credentials/${id}`);
    }
    const page = (await cp.call<Page<Credential>>('GET', `${O}/provider-credentials`)).body;
    for (const { id } of page.items) await call('DELETE', `/v1/provider-credentials/${id}`);
  },
);

void t.test('what a credential may not be', async (t) => {
  const refuse = async (body: object, loc: (string | number)[], type: string) => {
    const answer = await call('POST', `${O}/provider-credentials`, {
      provider: 'deepgram',
      name: 'x',
      values: { api_key: GOOD },
      ...body,
    });
    t.equal(answer.status, 422);
    t.match(answer.body.detail, [{ loc: ['body', ...loc], type }]);
  };
  await refuse({ provider: 'flite' }, ['provider'], 'not_available');
  await refuse({ provider: 'acme' }, ['provider'], 'enum');
  await refuse({ values: {} }, ['values', 'api_key'], 'secret_required');
  await refuse({ values: { api_key: GOOD, more: 'x' } }, ['values', 'more'], 'extra_forbidden');
  await refuse({ base_url: 'http://example.com' }, ['base_url'], 'https_required');
  await refuse({ base_url: 'https://127.0.0.1' }, ['base_url'], 'private_address');
  await refuse({ base_url: 'https://a:b@example.com' }, ['base_url'], 'credentials_in_url');
  await refuse({ base_url: 'https://example.com/?a=1' }, ['base_url'], 'string_pattern_mismatch');
  const theirs = await cp.makeTenant();
  await refuse({ project_ids: [theirs.project._id] }, ['project_ids', 0], 'reference_not_found');
});

void t.test('another address needs the secret again', async (t) => {
  const { id } = await makeCredential({
    provider: 'openai_compatible',
    base_url: `${openai.url}/v1`,
    values: { api_key: GOOD },
  });
  const path = `/v1/provider-credentials/${id}`;
  for (const base_url of ['https://evil.example/v1', null]) {
    for (const values of [undefined, { api_key: { set: true, last_four: '7b31' } }]) {
      const moved = await call('PATCH', path, { base_url, ...(values && { values }) });
      t.equal(moved.status, 422);
      t.match(moved.body.detail, [{ loc: ['body', 'values', 'api_key'], type: 'secret_required' }]);
    }
  }
  t.match((await call('PATCH', path, { base_url: `${openai.url}/v2` })).body, {
    base_url: `${openai.url}/v2`,
    values: { api_key: { last_four: '7b31' } },
  });
  t.match(
    (await call('PATCH', path, { base_url: 'https://models.example/v1', values: { api_key: OTHER } })).body,
    {
      base_url: 'https://models.example/v1',
      values: { api_key: { last_four: '55e0' } },
    },
  );
  t.match(
    (await call('PATCH', path, { name: 'New', project_ids: [project._id], id, status: 'valid' })).body,
    {
      name: 'New',
      project_ids: [project._id],
      status: 'unverified',
    },
  );
  t.equal((await call('PATCH', path, {})).status, 422);
  await call('DELETE', path);
});

void t.test('credentials are for admins of their org', async (t) => {
  const { id } = await makeCredential({ provider: 'deepgram', values: { api_key: GOOD } });
  const path = `/v1/provider-credentials/${id}`;
  for (const [method, at] of [
    ['POST', `${O}/provider-credentials`],
    ['PATCH', path],
    ['DELETE', path],
    ['POST', `${path}/verify`],
    ['POST', `${O}/models`],
    ['DELETE', '/v1/models/llm_local'],
  ] as const) {
    const asKey = await call(method, at, undefined, cp.first.apiKey);
    t.match([asKey.status, asKey.body.code], [403, 'user_required'], `${method} ${at}`);
    if (!at.startsWith('/v1/models'))
      t.equal((await call(method, at, undefined, stranger.token)).status, 404);
  }
  await stranger.join(org._id, 'editor');
  t.match((await call('DELETE', path, undefined, stranger.token)).body, { code: 'role_too_low' });
  const theirs = await cp.makeTenant();
  t.equal((await call('GET', `${O}/provider-credentials`, undefined, theirs.apiKey)).status, 404);
  t.equal((await call('DELETE', path)).status, 204);
});

void t.test('a key sees the credentials that are open to its project', async (t) => {
  const second = await call<{ id: string }>('POST', `${O}/projects`, { name: 'Second' });
  const narrowed = await makeCredential({
    provider: 'deepgram',
    project_ids: [second.body.id],
    values: { api_key: GOOD },
  });
  t.same((await cp.call<Page<Credential>>('GET', `${O}/provider-credentials`)).body.items, []);
  await call('DELETE', `/v1/provider-credentials/${narrowed.id}`);
});

void t.test(
  'an org’s own credential is what its sessions run on, in the projects it is open to',
  async (t) => {
    const gateway = new TestGateway(cp);
    const planned = async () => {
      const session = await cp.call<{ token: string }>('POST', '/v1/sessions', { body: {} });
      return (await gateway.redeem({ token: session.body.token })).body as unknown as {
        stt: { base_url: string; credential: string }[];
      };
    };
    t.match((await planned()).stt, [
      { base_url: 'https://api.deepgram.com', credential: 'installation-deepgram-key' },
    ]);
    const { id } = await makeCredential({
      provider: 'deepgram',
      project_ids: [project._id],
      base_url: deepgram.url,
      values: { api_key: GOOD },
    });
    t.match((await planned()).stt, [{ base_url: deepgram.url, credential: GOOD }]);
    await call('DELETE', `/v1/provider-credentials/${id}`);
    t.match((await planned()).stt, [{ credential: 'installation-deepgram-key' }]);
  },
);

void t.test('models of an org’s own', async (t) => {
  const body = {
    kind: 'llm',
    provider: 'openai_compatible',
    base_url: 'https://models.example/v1/',
    model: 'qwen3-32b',
    name: 'Our Qwen',
    languages: ['en', 'de'],
    prices: [{ unit: '1m_input_tokens', amount: '0.15', currency: 'USD' }],
  };
  const made = await call<Model>('POST', `${O}/models`, body);
  t.equal(made.status, 201);
  t.match(made.body, {
    ...body,
    base_url: 'https://models.example/v1',
    id: /^llm_[0-9a-z]{26}$/,
    org_id: org._id,
    credential_id: null,
    status: 'available',
    self_hosted: false,
  });
  const { id } = made.body;
  const path = `/v1/models/${id}`;
  const theirs = await cp.makeTenant();

  void t.test('are listed for their org alone', async (t) => {
    t.equal((await models()).items[0]?.id, id, 'the newest come first');
    const has = async (query: string, token: string) =>
      (await models(query, token)).items.some((m) => m.id === id);
    t.equal(await has('', theirs.apiKey), false);
    t.equal(await has('', owner.token), false, 'a user who names no org sees the installation’s');
    t.equal(await has(`?org_id=${org._id}`, owner.token), true);
    t.equal(await has(`?project_id=${project._id}`, owner.token), true);
    const foreign = await call('GET', `/v1/providers/models?org_id=${theirs.org._id}`);
    t.equal(foreign.status, 422);
    t.match(foreign.body.detail, [{ loc: ['query', 'org_id'], type: 'reference_not_found' }]);
  });

  void t.test('are used by agents of their org alone', async (t) => {
    const theirProject = `/v1/orgs/${theirs.org._id}/projects/${theirs.project._id}`;
    const stolen = await call('POST', `${theirProject}/agents`, { name: 'A', llm_id: id }, theirs.apiKey);
    t.match(stolen.body.detail, [{ loc: ['body', 'llm_id'], type: 'reference_not_found' }]);
    const agent = await call<{ id: string }>('POST', `${P}/agents`, {
      name: 'Uses it as a fallback',
      config: { llm: { fallback_llm_ids: [id] } },
    });
    t.equal(agent.status, 201);
    t.match((await call('DELETE', path)).body, {
      code: 'resource_in_use',
      refs: [{ type: 'agent', id: agent.body.id }],
    });
    for (const change of [{ base_url: 'https://other.example/v1' }, { model: 'x' }, { status: 'disabled' }]) {
      t.equal((await call('PATCH', path, change)).status, 409, Object.keys(change)[0]!);
    }
    t.match((await call('PATCH', path, { name: 'Qwen', kind: 'stt' })).body, { name: 'Qwen', kind: 'llm' });
    await call('DELETE', `/v1/agents/${agent.body.id}`);
    const switchedOff = await call('PATCH', path, { status: 'disabled' });
    t.match(switchedOff.body, { status: 'disabled' });
    const late = await call('POST', `${P}/agents`, { name: 'Late', llm_id: id });
    t.match(late.body.detail, [{ loc: ['body', 'llm_id'], type: 'not_available' }]);
    await call('PATCH', path, { status: 'available' });
    await call('PATCH', `/v1/projects/${project._id}`, { default_llm_id: id });
    t.match((await call('DELETE', path)).body, { refs: [{ type: 'project', id: project._id }] });
    await call('PATCH', `/v1/projects/${project._id}`, { default_llm_id: 'llm_openai_gpt41_mini' });
  });

  void t.test('have an address and a credential that fit each other', async (t) => {
    const refuse = async (change: object, loc: string[], type: string) => {
      const answer = await call('POST', `${O}/models`, { ...body, ...change });
      t.equal(answer.status, 422, type);
      t.match(answer.body.detail, [{ loc: ['body', ...loc], type }]);
    };
    await refuse({ base_url: null }, ['base_url'], 'missing');
    await refuse({ base_url: 'http://models.example/v1' }, ['base_url'], 'https_required');
    await refuse({ base_url: 'https://10.0.0.1/v1' }, ['base_url'], 'private_address');
    await refuse({ kind: 'tts' }, ['provider'], 'not_available');
    await refuse({ languages: [] }, ['languages'], 'too_short');
    await refuse(
      { prices: [{ ...body.prices[0], amount: '0.1234567' }] },
      ['prices'],
      'string_pattern_mismatch',
    );
    await refuse(
      { credential_id: 'prv_00000000000000000000000000' },
      ['credential_id'],
      'reference_not_found',
    );
    const elsewhere = await makeCredential({ provider: 'openai_compatible', values: { api_key: GOOD } });
    await refuse({ credential_id: elsewhere.id }, ['credential_id'], 'mismatch');
    const wrong = await makeCredential({ provider: 'deepgram', values: { api_key: GOOD } });
    await refuse({ credential_id: wrong.id }, ['credential_id'], 'mismatch');
    const fits = await makeCredential({
      provider: 'openai_compatible',
      base_url: 'https://models.example/other',
      values: { api_key: GOOD },
    });
    const withKey = await call<Model>('POST', `${O}/models`, { ...body, credential_id: fits.id });
    t.match(withKey.body, { credential_id: fits.id, status: 'available' });
    for (const { id: one } of [elsewhere, wrong, fits])
      await call('DELETE', `/v1/provider-credentials/${one}`);
    const now = (await models()).items.find((model) => model.id === withKey.body.id);
    t.equal(now?.status, 'needs_credentials', 'a deleted credential is missed at once');
  });

  void t.test('can be changed and removed by nobody else; the installation’s by nobody', async (t) => {
    const theirOwner = await signInUser(cp, 'them@example.com');
    t.equal((await call('PATCH', path, { name: 'x' }, theirOwner.token)).status, 404);
    t.match((await call('DELETE', '/v1/models/llm_openai_gpt41_mini')).body, { code: 'forbidden' });
    t.equal((await call('DELETE', '/v1/models/nothing')).status, 422);
    t.equal((await call('DELETE', path)).status, 204);
    t.equal((await call('DELETE', path)).status, 404);
  });
});

void t.test('no secret is in an answer, the log or the audit trail', async (t) => {
  const entries = await cp.app.services.database
    .model(auditCollection)
    .find({ org_id: org._id, action: { $regex: '^credential' } })
    .lean();
  const actions = new Set(entries.map((entry) => entry.action));
  t.same([...actions].sort(), ['credential.changed', 'credential.created', 'credential.deleted']);
  t.ok(lines.length > 50, 'there was something to search');
  const everything = JSON.stringify(entries) + lines.join('') + answers.join('');
  for (const secret of [GOOD, OTHER, 'installation-deepgram-key', 'installation-openai-key']) {
    t.notOk(everything.includes(secret), secret.slice(0, 12));
  }
});
