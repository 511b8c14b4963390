import { newId } from '@parley/shared/ids/new-id';
import { newAgent, nthId, orgPath, unique } from '../composition/sample.ts';
import type { Sample } from '../composition/sample.ts';

export const providerSample: Sample = {
  async make({ make, project, tenantUrl: base_url }) {
    const ofModels = { provider: 'openai_compatible', name: unique(), base_url };
    const { id: credential_id } = await make(`${orgPath(project)}/provider-credentials`, {
      ...ofModels,
      values: { api_key: 'sk-of-the-tests' },
      project_ids: [project.ids['project_id']],
    });
    const { id: model_id } = await make(`${orgPath(project)}/models`, {
      ...ofModels,
      kind: 'llm',
      model: 'm',
    });
    return { credential_id, model_id };
  },
  unknown: { model_id: 'llm_01k5z8r5m2q7v3x9b4n6c8d0ef' },
  scenarios: {
    createModel: async ({ tenantUrl, make, put }, send) => {
      const body = {
        kind: 'llm',
        provider: 'openai_compatible',
        model: 'm',
        name: unique(),
        base_url: tenantUrl,
      };
      await send(201, { body });
      const org = await make('/v1/orgs', { name: unique() });
      await put('own_models', { ...body, _id: newId('llm'), org_id: org.id }, 200);
      await send(409, { body, ids: { org_id: org.id } });
    },
    updateModel: async (world, send) => {
      await send(200, { body: { name: unique() } });
      await newAgent(world, { llm_id: world.project.ids['model_id'] });
      await send(409, { body: { status: 'disabled' } });
    },
    deleteModel: async (world, send) => {
      const { make, project, tenantUrl } = world;
      const { id } = await make(`${orgPath(project)}/models`, {
        kind: 'llm',
        provider: 'openai_compatible',
        model: 'm',
        name: unique(),
        base_url: tenantUrl,
      });
      await send(204, { ids: { model_id: id } });
      await newAgent(world, { llm_id: project.ids['model_id'] });
      await send(409);
    },
    createProviderCredential: async ({ make, put }, send) => {
      const body = { provider: 'elevenlabs', name: unique(), values: { api_key: 'key' } };
      const org = await make('/v1/orgs', { name: unique() });
      await send(201, { body, ids: { org_id: org.id } });
      const fields = { org_id: org.id, provider: 'elevenlabs', name: 'a', status: 'unverified' };
      await put('provider_credentials', { ...fields, _id: newId('prv') }, 200);
      await send(409, { body, ids: { org_id: org.id } });
    },
    updateProviderCredential: async (_, send) => {
      await send(200, { body: { name: unique() } });
      // Of those that race for it one wins, and those that had read before it are told.
      for (let refused = false; !refused;) {
        const racing = Array.from({ length: 8 }, () =>
          send([200, 409], { body: { values: { api_key: unique() } } }),
        );
        refused = (await Promise.all(racing)).some(({ status }) => status === 409);
      }
    },
    deleteProviderCredential: async ({ make, project }, send) => {
      const body = { provider: 'elevenlabs', name: unique(), values: { api_key: 'key' } };
      // In an org of its own: the voices are spoken with the installation's.
      const org = await make('/v1/orgs', { name: unique() });
      const { id } = await make(
        `${orgPath({ ...project, ids: { org_id: org.id } })}/provider-credentials`,
        body,
      );
      await send(204, { ids: { credential_id: id } });
    },
  },
  many: ({ inOrg }) => [
    {
      collection: 'provider_credentials',
      count: 199,
      record: (n) => ({
        ...inOrg,
        _id: nthId('prv', n),
        provider: 'elevenlabs',
        name: `Credential ${n}`,
        values: '',
        masked: {},
        base_url: null,
        // Of another project: nobody opens what is sealed with no key.
        project_ids: [nthId('prj', 1)],
        status: 'valid',
      }),
    },
    {
      collection: 'own_models',
      count: 199,
      record: (n) => ({
        ...inOrg,
        _id: nthId('llm', n),
        kind: 'llm',
        provider: 'openai_compatible',
        base_url: 'https://example.com/v1',
        model: 'm',
        name: `Model ${n}`,
        languages: ['*'],
        credential_id: null,
        prices: [],
        disabled: false,
      }),
    },
  ],
};
