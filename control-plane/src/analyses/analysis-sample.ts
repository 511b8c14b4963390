import { nthId, projectPath, unique } from '../composition/sample.ts';
import type { Sample } from '../composition/sample.ts';

export const analysisSample: Sample = {
  async make({ make, project }) {
    const body = { name: 'a', type: 'text', prompt: 'b' };
    const { id: analysis_id } = await make(`${projectPath(project)}/analyses`, body, project.key);
    await make(`/v1/agents/${project.ids['agent_id']}/post-call-analyses`, { analysis_id }, project.key);
    return { analysis_id };
  },
  scenarios: {
    createAnalysis: (_, send) => send(201, { body: { name: unique(), type: 'text', prompt: 'b' } }),
    updateAnalysis: (_, send) => send(200, { body: { prompt: 'c' } }),
    deleteAnalysis: async ({ make, project }, send) => {
      const { id } = await make(
        `${projectPath(project)}/analyses`,
        { name: unique(), type: 'text', prompt: 'b' },
        project.key,
      );
      await send(204, { ids: { analysis_id: id } });
    },
  },
  many: ({ inProject }) => [
    {
      collection: 'analyses',
      count: 999,
      record: (n) => ({
        ...inProject,
        _id: nthId('ana', n),
        name: `Thing ${n}`,
        type: n % 2 === 0 ? 'text' : 'structured',
        prompt: 'Why?',
        run_when: { channels: null, directions: null, min_duration_seconds: null, outcomes: null },
        enabled: n !== 5,
      }),
    },
  ],
};
