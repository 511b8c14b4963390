import { inspect } from 'node:util';
import t from 'tap';
import { Secret } from '@parley/shared/config/secret';
import { planProviderSchema } from '@parley/shared/contracts/session-plan';
import { InstallationModelCatalog } from './model-catalog.ts';

const deepgram = { baseUrl: 'http://127.0.0.1:4000', apiKey: new Secret('dg-key'), emulated: true };

void t.test('a model without its provider needs credentials and cannot be used', async (t) => {
  const catalog = new InstallationModelCatalog({ deepgram });
  t.equal((await catalog.find('org_a', 'llm_openai_gpt41_mini'))?.status, 'needs_credentials');
  t.equal(await catalog.resolve('org_a', 'llm_openai_gpt41_mini', { language: 'en-US' }), undefined);
  t.equal((await catalog.find('org_a', 'stt_deepgram_flux'))?.status, 'available');
});

void t.test('the built-in voice needs nothing', async (t) => {
  const provider = await new InstallationModelCatalog({}).resolve('org_a', 'tts_local', {
    language: 'en-US',
  });
  t.match(provider, { provider: 'flite', base_url: '', credential: null, voice: 'slt', emulated: false });
});

void t.test('what is resolved is what the contract takes, with the credential', async (t) => {
  const catalog = new InstallationModelCatalog({ deepgram });
  const provider = await catalog.resolve('org_a', 'stt_deepgram_nova3', {
    language: 'de-DE',
    options: { endpointing_ms: 200 },
  });
  const parsed = planProviderSchema.parse(provider);
  t.equal(parsed.credential?.reveal(), 'dg-key');
  t.match(parsed, { model: 'nova-3', language: 'de-DE', emulated: true, options: { endpointing_ms: 200 } });
});

void t.test('the operator may put another model behind the LLM entry', async (t) => {
  const catalog = new InstallationModelCatalog({
    openai: { baseUrl: 'http://127.0.0.1:1/v1', apiKey: null, emulated: false, model: 'qwen3' },
  });
  t.equal((await catalog.find('org_a', 'llm_openai_gpt41_mini'))?.model, 'qwen3');
  t.match(await catalog.resolve('org_a', 'llm_openai_gpt41_mini', { language: 'en' }), {
    model: 'qwen3',
    credential: null,
  });
});

void t.test('the agent’s voice wins over the model’s', async (t) => {
  const catalog = new InstallationModelCatalog({ elevenlabs: { ...deepgram } });
  t.match(await catalog.resolve('org_a', 'tts_elevenlabs_flash', { language: 'en', voice: 'abc' }), {
    voice: 'abc',
  });
  t.match(await catalog.resolve('org_a', 'tts_elevenlabs_flash', { language: 'en', voice: null }), {
    voice: '21m00Tcm4TlvDq8ikWAM',
  });
});

void t.test('listing models shows no credential', async (t) => {
  const models = await new InstallationModelCatalog({ deepgram }).list('org_a');
  t.equal(models.length, 5);
  t.notMatch(inspect(models, { depth: 9 }) + JSON.stringify(models), /dg-key/);
});
