import type { Feature } from '../composition/feature.ts';
import { namedRecords } from '../composition/search-source.ts';
import type { Platform } from '../composition/platform.ts';
import { idSchema } from '../http/operation.ts';
import type { Database } from '../storage/database.ts';
import { projectCollection } from './project-model.ts';
import { projectRoutes } from './project-routes.ts';
import { projectSample } from './project-sample.ts';
import { PROJECT_AUDIT, ProjectService } from './project-service.ts';

export function createProjects(
  deps: ConstructorParameters<typeof ProjectService>[0] & Pick<Platform, 'database'>,
) {
  const projects = new ProjectService(deps);
  return {
    projects,
    collections: [projectCollection],
    searches: [
      namedRecords('project', projectCollection, {
        list: 'listProjects',
        where: ({ projects }) => ({ archived_at: null, ...(projects && { _id: { $in: [...projects] } }) }),
      }),
    ],
    routes: projectRoutes({ projects }),
    parameters: { project_id: idSchema('prj') },
    uses: { models: (orgId, ids) => projectsNaming(deps.database, orgId, ids) },
    audit: PROJECT_AUDIT,
    samples: [projectSample],
  } satisfies Feature & { projects: ProjectService };
}

async function projectsNaming(database: Database, orgId: string, ids: readonly string[]) {
  const anyOf = { $in: [...ids] };
  const fields = ['default_llm_id', 'default_stt_id', 'default_tts_id', 'default_voice_id'];
  const named = await database
    .model(projectCollection)
    .find({ org_id: orgId, archived_at: null, $or: fields.map((field) => ({ [field]: anyOf })) })
    .limit(20)
    .lean();
  return named.map(({ _id, name }) => ({ type: 'project', id: _id, name }));
}
