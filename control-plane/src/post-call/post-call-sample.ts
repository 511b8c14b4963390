import type { Sample, SampleWorld } from '../composition/sample.ts';

export const postCallSample: Sample = {
  scenarios: {
    repeatSessionAnalyses: async (world, send) => {
      const { session_id } = await world.call(world.project, 'created');
      await send(409, { ids: { session_id } });
      await send(202, { ids: { session_id: await analysedCall(world) } });
    },
    tryAnalysis: (_, send) => send(200, { body: { transcript: [{ role: 'caller', text: 'I am happy.' }] } }),
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
