import { nthId, projectPath, unique } from '../composition/sample.ts';
import type { Sample, SampleWorld } from '../composition/sample.ts';

/** A document of its own, for what is to be deleted. */
async function newFile({ make, project }: SampleWorld): Promise<string> {
  const body = { name: unique(), text: unique() };
  return (await make(`/v1/knowledge-bases/${project.ids['kb_id']}/files`, body, project.key)).id;
}

export const knowledgeBaseSample: Sample = {
  async make({ make, project }) {
    const { id } = await make(`${projectPath(project)}/knowledge-bases`, { name: 'base' }, project.key);
    const path = `/v1/agents/${project.ids['agent_id']}/knowledge-bases`;
    await make(path, { knowledge_base_id: id }, project.key);
    const file = await make(
      `/v1/knowledge-bases/${id}/files`,
      { name: 'hours', text: 'We are open from nine to five.' },
      project.key,
    );
    return { kb_id: id, knowledge_base_id: id, file_id: file.id };
  },
  scenarios: {
    createKnowledgeBase: (_, send) => send(201, { body: { name: unique() } }),
    updateKnowledgeBase: (_, send) => send(200, { body: { description: 'x' } }),
    deleteKnowledgeBase: async ({ make, project }, send) => {
      const { id } = await make(`${projectPath(project)}/knowledge-bases`, { name: unique() }, project.key);
      await send(204, { ids: { kb_id: id } });
      await send(409);
    },
    async addKnowledgeFile({ project }, send) {
      const text = unique();
      await send(202, { body: { name: 'text', text } });
      await send(409, { body: { name: 'again', text } });
      const form = new FormData();
      form.set('file', new File(['We are closed.'], 'hours.txt', { type: 'text/plain' }));
      await send(202, { body: form });
      await send(400, {
        body: 'no parts',
        headers: { 'content-type': 'multipart/form-data; boundary=x' },
        ids: project.ids,
      });
    },
    async deleteKnowledgeFile(world, send) {
      await send(204, { ids: { file_id: await newFile(world) } });
    },
    searchKnowledgeBase: (_, send) => send(200, { body: { query: 'open' } }),
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
    {
      collection: 'knowledge_files',
      count: 500,
      record: (n, rare) => ({
        ...inProject,
        _id: nthId('kfl', n),
        knowledge_base_id: nthId('kbs', 1),
        type: rare ? 'url' : 'text',
        name: `Thing ${n}`,
        content_key: `sha256:${n}`,
        status: rare ? 'failed' : 'ready',
        generation: 'g',
      }),
    },
    {
      collection: 'knowledge_chunks',
      count: 'unbounded',
      record: (n) => ({
        ...inProject,
        _id: nthId('kch', n),
        knowledge_base_id: nthId('kbs', 1),
        file_id: nthId('kfl', 1),
        file_name: 'Thing',
        generation: 'g',
        position: n,
        text: 'x',
      }),
    },
  ],
};
