import { MANY_START, nthId, orgPath, unique } from '../composition/sample.ts';
import type { Sample, SampleWorld } from '../composition/sample.ts';

async function newProject({ make, project }: SampleWorld): Promise<string> {
  return (await make(`${orgPath(project)}/projects`, { name: unique() })).id;
}

export const projectSample: Sample = {
  scenarios: {
    createProject: (_, send) => send(201, { body: { name: unique() } }),
    updateProject: (_, send) => send(200, { body: { description: 'x' } }),
    archiveProject: async (world, send) => {
      await send(204, { ids: { project_id: await newProject(world) } });
      await send(409);
    },
  },
  many: ({ inOrg }) => [
    {
      collection: 'projects',
      count: 990,
      record: (n) => ({
        ...inOrg,
        _id: nthId('prj', n),
        name: `Project ${n}`,
        slug: `project-${n}`,
        description: '',
        recording_enabled: true,
        archived_at: n % 2 === 0 ? new Date(MANY_START) : null,
      }),
    },
  ],
};
