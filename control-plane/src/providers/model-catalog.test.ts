import { inspect } from 'node:util';
import t from 'tap';
import { Secret } from '@parley/shared/config/secret';
import { planProviderSchema } from '@parley/shared/contracts/session-plan';
import { createSafeFetch } from '@parley/shared/http/safe-fetch';
import type { SafeFetch } from '@parley/shared/http/safe-fetch';
import { openLoopbackServer } from '../../test/fixtures/loopback-server.ts';
import { OrgModelCatalog } from './model-catalog.ts';
import { ProviderAccounts } from './provider-accounts.ts';
import type { InstallationProviders } from './provider-accounts.ts';
import type { ProviderCredentialRecord } from './provider-credential-model.ts';
import { toModelResponse } from './model-schema.ts';
import type { OwnModelRecord } from './own-model-model.ts';

const deepgram = { baseUrl: 'http://127.0.0.1:4000', apiKey: new Secret('dg-key'), emulated: true };
const made = { created_at: new Date(0), updated_at: new Date(0) };

function credential(id: string, fields: Partial<ProviderCredentialRecord> = {}): ProviderCredentialRecord {
  return {
    _id: id,
    org_id: 'org_a',
    project_ids: null,
    provider: 'deepgram',
    name: id,
    values: JSON.stringify({ api_key: `key of ${id}` }),
    masked: {},
    base_url: null,
    status: 'unverified',
    last_verified_at: null,
    ...made,
    ...fields,
  };
}

function ownModel(fields: Partial<OwnModelRecord> = {}): OwnModelRecord {
  return {
    _id: 'llm_own',
    org_id: 'org_a',
    kind: 'llm',
    provider: 'openai_compatible',
    base_url: 'https://models.example/v1',
    model: 'qwen3',
    name: 'Our own',
    languages: ['*'],
    credential_id: null,
    prices: [],
    disabled: false,
    ...made,
    ...fields,
  };
}

function openCatalog(
  installation: InstallationProviders,
  own: { credentials?: ProviderCredentialRecord[]; models?: OwnModelRecord[] } = {},
  fetch: Pick<SafeFetch, 'request'> = { request: () => Promise.reject(new Error('Nothing is called here.')) },
): OrgModelCatalog {
  const { credentials = [], models = [] } = own;
  const source = {
    ofOrg: (orgId: string) =>
      Promise.resolve({
        credentials: credentials.filter((one) => one.org_id === orgId),
        models: models.filter((one) => one.org_id === orgId),
      }),
  };
  const accounts = new ProviderAccounts({ source, installation, box: { decryptSecret: (text) => text } });
  const voices = {
    locate: (_orgId: string, _provider: string, voiceId: string) =>
      Promise.resolve({ providerVoiceId: voiceId }),
    isListed: () => Promise.resolve(true),
  };
  return new OrgModelCatalog({ accounts, source, voices, fetch });
}

void t.test('a model without its provider needs credentials and cannot be used', async (t) => {
  const catalog = openCatalog({ deepgram });
  t.equal((await catalog.find('org_a', 'llm_openai_gpt41_mini'))?.status, 'needs_credentials');
  t.equal(await catalog.resolve('org_a', 'llm_openai_gpt41_mini', { language: 'en-US' }), undefined);
  t.equal((await catalog.find('org_a', 'stt_deepgram_flux'))?.status, 'available');
});

void t.test('the built-in voice needs nothing', async (t) => {
  const provider = await openCatalog({}).resolve('org_a', 'tts_local', { language: 'en-US' });
  t.match(provider, { provider: 'flite', base_url: '', credential: null, voice: 'slt', emulated: false });
});

void t.test('what is resolved is what the contract takes, with the credential', async (t) => {
  const catalog = openCatalog({ deepgram });
  const provider = await catalog.resolve('org_a', 'stt_deepgram_nova3', {
    language: 'de-DE',
    options: { endpointing_ms: 200 },
  });
  const parsed = planProviderSchema.parse(provider);
  t.equal(parsed.credential?.reveal(), 'dg-key');
  t.match(parsed, { model: 'nova-3', language: 'de-DE', emulated: true, options: { endpointing_ms: 200 } });
});

void t.test('the operator may put another model behind the LLM entry', async (t) => {
  const openai = { baseUrl: 'http://127.0.0.1:1/v1', apiKey: null, emulated: false, model: 'qwen3' };
  const catalog = openCatalog({ openai_compatible: openai });
  t.equal((await catalog.find('org_a', 'llm_openai_gpt41_mini'))?.model, 'qwen3');
  t.match(await catalog.resolve('org_a', 'llm_openai_gpt41_mini', { language: 'en' }), {
    model: 'qwen3',
    credential: null,
  });
  const own = [credential('prv_1', { provider: 'openai_compatible' })];
  t.match(
    await openCatalog({ openai_compatible: openai }, { credentials: own }).resolve(
      'org_a',
      'llm_openai_gpt41_mini',
      {
        language: 'en',
      },
    ),
    { model: 'gpt-4.1-mini', base_url: 'https://api.openai.com/v1', credential: 'key of prv_1' },
    'but only at the address that they chose',
  );
});

void t.test('the agent’s voice wins over the model’s', async (t) => {
  const catalog = openCatalog({ elevenlabs: { ...deepgram } });
  t.match(await catalog.resolve('org_a', 'tts_elevenlabs_flash', { language: 'en', voice: 'abc' }), {
    voice: 'abc',
  });
  t.match(await catalog.resolve('org_a', 'tts_elevenlabs_flash', { language: 'en', voice: null }), {
    voice: '21m00Tcm4TlvDq8ikWAM',
  });
});

void t.test('listing models shows no credential', async (t) => {
  const models = await openCatalog({ deepgram }).list('org_a');
  t.equal(models.length, 5);
  t.notMatch(inspect(models, { depth: 9 }) + JSON.stringify(models), /dg-key/);
});

void t.test('an org’s credential wins, at its own address, for the projects it is open to', async (t) => {
  const credentials = [
    credential('prv_all'),
    credential('prv_project', { project_ids: ['prj_1'], base_url: 'https://deepgram.example' }),
    credential('prv_refused', { project_ids: ['prj_2'], status: 'invalid' }),
    credential('prv_theirs', { org_id: 'org_b', status: 'invalid' }),
  ];
  const catalog = openCatalog({ deepgram }, { credentials });
  const resolve = (orgId: string, projectId: string | null) =>
    catalog.resolve(orgId, 'stt_deepgram_nova3', { language: 'en', projectId });
  t.match(await resolve('org_a', null), {
    credential: 'key of prv_all',
    base_url: 'https://api.deepgram.com',
  });
  t.match(await resolve('org_a', 'prj_1'), {
    credential: 'key of prv_project',
    base_url: 'https://deepgram.example',
    emulated: false,
  });
  t.match(await resolve('org_a', 'prj_2'), { credential: 'key of prv_all' }, 'a refused one steps back');
  t.equal(await resolve('org_b', null), undefined, 'but the installation’s does not stand in for it');
  t.match(await resolve('org_c', null), { credential: 'dg-key', base_url: 'http://127.0.0.1:4000' });
});

void t.test('an own model never gets a key of the installation, nor one of another address', async (t) => {
  const openai = {
    baseUrl: 'https://models.example/v1',
    apiKey: new Secret('installation'),
    emulated: false,
  };
  const use = { language: 'en' };
  const without = openCatalog({ openai_compatible: openai }, { models: [ownModel()] });
  t.match(await without.resolve('org_a', 'llm_own', use), { credential: null, model: 'qwen3' });
  t.equal(await without.resolve('org_b', 'llm_own', use), undefined, 'others do not see it');

  const key = credential('prv_1', { provider: 'openai_compatible', base_url: 'https://models.example/v1' });
  const models = [ownModel({ credential_id: 'prv_1' })];
  const withKey = openCatalog({ openai_compatible: openai }, { models, credentials: [key] });
  t.match(await withKey.resolve('org_a', 'llm_own', use), { credential: 'key of prv_1' });
  const moved = openCatalog({}, { models, credentials: [{ ...key, base_url: 'https://evil.example/v1' }] });
  t.equal((await moved.find('org_a', 'llm_own'))?.status, 'needs_credentials');
  t.equal(await moved.resolve('org_a', 'llm_own', use), undefined);
  const gone = openCatalog({}, { models });
  t.equal(await gone.resolve('org_a', 'llm_own', use), undefined);
});

void t.test(
  'a model is called where the outgoing rule lets it, and where the operator sends it',
  async (t) => {
    const server = await openLoopbackServer(() => ({ body: { fine: true } }));
    t.teardown(() => server[Symbol.asyncDispose]());
    const safeFetch = createSafeFetch({ allow: [] });
    t.teardown(() => safeFetch[Symbol.asyncDispose]());
    const ask = (installation: InstallationProviders) =>
      openCatalog(installation, {}, safeFetch).fetchFor('org_a')(`${server.url}/models`, {
        method: 'POST',
        body: 'x',
      });
    await t.rejects(ask({}), { name: 'OutboundRefusedError' });
    t.same(server.received, []);
    const answer = await ask({
      openai_compatible: { baseUrl: `${server.url}/v1`, apiKey: null, emulated: false },
    });
    t.same(await answer.json(), { fine: true });
    t.match(server.received, [{ method: 'POST', path: '/models', body: 'x' }]);
  },
);

void t.test('models of which voices can be cloned say so', async (t) => {
  const own = ownModel({ kind: 'tts', provider: 'elevenlabs', _id: 'tts_own' });
  const models = (await openCatalog({}, { models: [own] }).list('org_a')).map(toModelResponse);
  const cloning = models.filter(({ capabilities }) => capabilities.includes('voice_cloning'));
  t.ok(cloning.some(({ id }) => id === 'tts_own'));
  t.ok(cloning.some(({ org_id }) => org_id === null));
  t.same([...new Set(cloning.map(({ kind, provider }) => `${kind} of ${provider}`))], ['tts of elevenlabs']);
  t.ok(models.some(({ kind, provider }) => kind === 'tts' && provider === 'flite'));
});
