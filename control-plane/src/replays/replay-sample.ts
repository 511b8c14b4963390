import { newId } from '@parley/shared/ids/new-id';
import { MANY_SESSION, nthId, nthSession } from '../composition/sample.ts';
import type { Sample } from '../composition/sample.ts';

export const replaySample: Sample = {
  async make({ put, project }) {
    const { org_id, project_id, agent_id, session_id } = project.ids;
    const replay_id = newId('rpl');
    await put('session_replays', {
      ...{ _id: replay_id, org_id, project_id, session_id, agent_id, agent_version: 1 },
      ...{ status: 'completed', turns: '[]', created_by: 'cli' },
    });
    return { replay_id };
  },
  scenarios: {
    startReplay: async ({ call, put, project }, send) => {
      const { org_id, project_id } = project.ids;
      const { session_id } = await call(project, 'ended');
      await put('turns', {
        ...{
          _id: `${session_id}:90`,
          org_id,
          project_id,
          session_id,
          turn_index: 90,
          role: 'caller',
          text: 'Hello.',
        },
        ...{ start_ms: 0, end_ms: 900, interrupted: false, redacted: false },
      });
      await send(202, { ids: { session_id } });
      await send(409, { ids: { session_id: (await call(project, 'created')).session_id } });
    },
  },
  many: ({ inProject }) => [
    {
      collection: 'session_replays',
      count: 1500,
      record: (n, rare) => ({
        ...{ ...inProject, _id: nthId('rpl', n), session_id: rare ? nthSession(n) : MANY_SESSION },
        ...{ agent_id: nthId('agt', 1), agent_version: 1, status: 'completed', error: null, turns: '[]' },
        ...{ replay_session_id: nthSession(n), created_by: 'cli' },
      }),
    },
  ],
};
