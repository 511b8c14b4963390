import { nthId, projectPath, unique } from '../composition/sample.ts';
import type { Sample } from '../composition/sample.ts';

export const knowledgeBaseSample: Sample = {
  async make({ make, project }) {
    const { id } = await make(`${projectPath(project)}/knowledge-bases`, { name: 'base' }, project.key);
    const path = `/v1/agents/${project.ids['agent_id']}/knowledge-bases`;
    await make(path, { knowledge_base_id: id }, project.key);
    return { kb_id: id, knowledge_base_id: id };
  },
  scenarios: {
    createKnowledgeBase: (_, send) => send(201, { body: { name: unique() } }),
    updateKnowledgeBase: (_, send) => send(200, { body: { description: 'x' } }),
    deleteKnowledgeBase: async ({ make, project }, send) => {
      const { id } = await make(`${projectPath(project)}/knowledge-bases`, { name: unique() }, project.key);
      await send(204, { ids: { kb_id: id } });
      await send(409);
    },
  },
  many: ({ inProject }) => [
    {
      collection: 'knowledge_bases',
      count: 999,
      record: (n) => ({
        ...inProject,
        _id: nthId('kbs', n),
        name: `Thing ${n}`,
        embedding: 'none',
        chunking: { max_characters: 1500, overlap_characters: 150 },
      }),
    },
  ],
};
