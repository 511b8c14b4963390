import { uuidV7 } from '@parley/shared/ids/new-id';
import { pennilessProject } from '../composition/sample.ts';
import type { Sample, SampleRequest, SampleWorld } from '../composition/sample.ts';

const ANALYSIS = { name: 'Mood', type: 'text', prompt: 'How was it?' };

export const postCallSample: Sample = {
  scenarios: {
    repeatSessionAnalyses: async (world, send) => {
      const { session_id } = await world.call(world.project, 'created');
      await send(409, { ids: { session_id } });
      await send(202, { ids: { session_id: await analysedCall(world) } });
      await send(402, await unpaidCall(world));
    },
    tryAnalysis: async (world, send) => {
      const body = { transcript: [{ role: 'caller', text: 'I am happy.' }] };
      await send(200, { body });
      const { org_id, project_id } = await pennilessProject(world);
      const { id: analysis_id } = await world.make(
        `/v1/orgs/${org_id}/projects/${project_id}/analyses`,
        ANALYSIS,
      );
      await send(402, { body, ids: { analysis_id }, token: world.owner.token });
    },
  },
};

/** A call that all has followed which was to follow. */
async function analysedCall({ cp, call, project }: SampleWorld): Promise<string> {
  const { session_id } = await call(project, 'ended');
  for (;;) {
    const { body } = await cp.call<{ detail: { post_call: { status: string } } }>(
      'GET',
      `/v1/sessions/${session_id}`,
      { token: project.key },
    );
    if (body.detail.post_call.status === 'done') return session_id;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A call of an org that pays in advance and has not, with a rule to be run again. */
async function unpaidCall(world: SampleWorld): Promise<SampleRequest> {
  const { org_id, project_id } = await pennilessProject(world);
  const session_id = uuidV7();
  const inProject = { org_id, project_id };
  const models = { llm_id: 'llm_openai_gpt41_mini', stt_id: 'stt_deepgram_nova3', tts_id: 'tts_flite' };
  await world.put('sessions', {
    ...{ ...inProject, ...models, _id: session_id, channel: 'web', direction: 'web', transport: 'websocket' },
    ...{ status: 'ended', record: false, store_transcript: true, join_by: new Date(0) },
  });
  await world.put('turns', {
    ...{ ...inProject, _id: `${session_id}:0`, session_id, turn_index: 0, role: 'caller', text: 'Hello.' },
    ...{ start_ms: 0, end_ms: 900, interrupted: false, redacted: false },
  });
  const { id } = await world.make(`/v1/orgs/${org_id}/projects/${project_id}/analyses`, ANALYSIS);
  return { ids: { session_id }, body: { analysis_ids: [id] }, token: world.owner.token };
}
