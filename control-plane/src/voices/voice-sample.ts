import { newId } from '@parley/shared/ids/new-id';
import { nthId, pennilessProject, unique } from '../composition/sample.ts';
import type { Sample, SampleRequest, SampleWorld } from '../composition/sample.ts';

async function clone({ cp, owner, project }: SampleWorld): Promise<string> {
  const answer = await cp.call<{ id: string }>('POST', '/v1/voices/clone', {
    token: owner.token,
    body: cloneForm(project.ids['org_id']!),
  });
  return answer.body.id;
}

const unready = async ({ put, project }: SampleWorld): Promise<string> => {
  const voice_id = newId('voc');
  await put('voices', {
    _id: voice_id,
    org_id: project.ids['org_id'],
    name: 'Being made',
    provider: 'elevenlabs',
    tts_id: 'tts_elevenlabs_flash',
    provider_voice_id: null,
    credential_id: null,
    languages: ['en'],
    is_public: false,
    owner_user_id: newId('usr'),
    status: 'processing',
  });
  return voice_id;
};

/** A clone of an org that pays in advance and has not, as its owner asks for it. */
async function unpaid(world: SampleWorld): Promise<SampleRequest> {
  const { org_id } = await pennilessProject(world);
  const voice_id = newId('voc');
  await world.put('voices', {
    _id: voice_id,
    org_id,
    name: 'Ready',
    provider: 'elevenlabs',
    tts_id: 'tts_elevenlabs_flash',
    provider_voice_id: 'v1',
    credential_id: null,
    languages: ['en'],
    is_public: false,
    owner_user_id: world.owner.userId,
    status: 'ready',
  });
  return { ids: { voice_id }, query: `org_id=${org_id}`, token: world.owner.token };
}

function cloneForm(orgId: string): FormData {
  const form = new FormData();
  const fields = {
    name: 'Asha',
    tts_id: 'tts_elevenlabs_flash',
    language: 'en',
    consent: 'true',
    org_id: orgId,
  };
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append('files', new File([new Uint8Array([82, 73, 70, 70])], 'asha.wav', { type: 'audio/wav' }));
  return form;
}

export const voiceSample: Sample = {
  make: async (world) => ({ voice_id: await clone(world) }),
  unknown: { voice_id: 'voc_01k5z8r5m2q7v3x9b4n6c8d0ef' },
  scenarios: {
    cloneVoice: async (world, send) => {
      const { voices, make, put, project } = world;
      const form = () => cloneForm(project.ids['org_id']!);
      await send(202, { body: form() });
      voices.setFaults([{ kind: 'refuse', status: 503, count: 1 }]);
      await send(502, { body: form() });
      voices.setFaults([{ kind: 'refuse', status: 504, count: 1 }]);
      await send(504, { body: form() });
      const org = await make('/v1/orgs', { name: unique() });
      await put('voices', { _id: newId('voc'), org_id: org.id, name: 'a', status: 'ready' }, 200);
      await send(409, { body: cloneForm(org.id) });
      await send(403, { body: form(), token: project.key });
      const { org_id } = await pennilessProject(world);
      await send(402, { body: cloneForm(org_id!), token: world.owner.token });
    },
    updateVoice: async (world, send) => {
      const body = new URLSearchParams({ name: 'Asha' });
      await send(200, { body });
      await send(409, {
        body: new URLSearchParams({ is_public: 'true' }),
        ids: { voice_id: await unready(world) },
      });
    },
    deleteVoice: async (world, send) => {
      await send(409, { ids: { voice_id: await unready(world) } });
      const ids = { voice_id: await clone(world) };
      world.voices.setFaults([{ kind: 'refuse', status: 503, count: 1 }]);
      await send(502, { ids });
      world.voices.setFaults([{ kind: 'refuse', status: 504, count: 1 }]);
      await send(504, { ids });
      await send(204, { ids });
    },
    previewVoice: async (world, send) => {
      world.voices.setFaults([{ kind: 'refuse', status: 503, count: 1 }]);
      await send(502);
      world.voices.setFaults([{ kind: 'refuse', status: 504, count: 1 }]);
      await send(504);
      await send(200);
      await send(409, { ids: { voice_id: await unready(world) } });
      await send(402, await unpaid(world));
    },
    speakWithVoice: async (world, send) => {
      const body = { text: 'Hello', format: 'wav' };
      await send(200, { body });
      world.voices.setFaults([{ kind: 'refuse', status: 503, count: 1 }]);
      await send(502, { body });
      world.voices.setFaults([{ kind: 'refuse', status: 504, count: 1 }]);
      await send(504, { body });
      await send(409, { body, ids: { voice_id: await unready(world) } });
      await send(402, { ...(await unpaid(world)), body });
    },
  },
  many: ({ inOrg }) => [
    {
      collection: 'voices',
      count: 1500,
      record: (n) => ({
        org_id: n < 200 ? inOrg.org_id : nthId('org', n % 50),
        _id: nthId('voc', n),
        name: `Voice ${n}`,
        provider: 'elevenlabs',
        tts_id: 'tts_elevenlabs_flash',
        provider_voice_id: `voice${n}`,
        credential_id: null,
        languages: [n % 7 === 0 ? 'de-DE' : 'en-US'],
        is_public: n % 10 === 0,
        owner_user_id: nthId('usr', 1),
        status: 'ready',
      }),
    },
  ],
  filters: () => ({ gender: ['female'], owner_user_id: [nthId('usr', 1)] }),
};
