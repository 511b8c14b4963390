import { MANY_SESSION, RARE_NUMBER, nthId, nthSession } from '../composition/sample.ts';
import type { Sample } from '../composition/sample.ts';

export const memorySample: Sample = {
  async make({ make, project }) {
    const body = { subject: 'asha', kind: 'fact', content: 'Likes tea.' };
    const { id: memory_id } = await make(`/v1/agents/${project.ids['agent_id']}/memories`, body, project.key);
    return { memory_id };
  },
  scenarios: {
    createMemory: (_, send) => send(201, { body: { subject: 'asha', kind: 'fact', content: 'Likes tea.' } }),
    forgetMemories: (_, send) => send(200, { query: 'subject=nobody' }),
    updateMemory: (_, send) => send(200, { body: { content: 'Likes coffee.' } }),
    deleteMemory: async ({ make, project }, send) => {
      const path = `/v1/agents/${project.ids['agent_id']}/memories`;
      const body = { subject: 'asha', kind: 'fact', content: 'Likes milk.' };
      const { id } = await make(path, body, project.key);
      await send(204, { ids: { memory_id: id } });
    },
  },
  many: ({ inProject }) => [
    {
      collection: 'memories',
      count: 1500,
      record: (n, rare) => ({
        ...inProject,
        _id: nthId('mry', n),
        agent_id: nthId('agt', 1),
        subject: rare ? RARE_NUMBER : `user ${n % 100}`,
        kind: rare ? 'open_item' : 'fact',
        content: 'Has a dog.',
        source: 'session',
        session_id: rare ? MANY_SESSION : nthSession(n),
        pinned: n % 2 === 0,
        expires_at: null,
      }),
    },
  ],
  filters: () => ({
    subject: ['user 7', RARE_NUMBER, 'nobody'],
    session_id: [MANY_SESSION, nthSession(999_999)],
  }),
};
