import { listOf, listQuery, queryBoolean, toPage } from '../http/list-query.ts';
import { defineOperation, jsonBody, patchBody } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { inOrg, inProject } from '../tenancy/target.ts';
import {
  createProjectRequest,
  patchProjectRequest,
  PROJECT_READ_ONLY,
  projectResponse,
  toProjectResponse,
} from './project-schema.ts';
import type { ProjectService } from './project-service.ts';

export function projectRoutes({ projects }: { projects: ProjectService }): Operation[] {
  return [
    defineOperation({
      id: 'listProjects',
      method: 'GET',
      path: '/v1/orgs/{org_id}/projects',
      tag: 'Projects',
      summary: 'List projects',
      access: { key: 'viewer', user: 'viewer' },
      target: inOrg,
      query: listQuery({ sortable: ['name'], q: true, filters: { archived: queryBoolean.default(false) } }),
      responses: { 200: { description: 'A page of projects', schema: listOf(projectResponse) } },
      handle: async ({ scope, query }) => toPage(await projects.list(scope, query), toProjectResponse),
    }),
    defineOperation({
      id: 'createProject',
      method: 'POST',
      path: '/v1/orgs/{org_id}/projects',
      tag: 'Projects',
      summary: 'Create a project',
      access: { user: 'admin' },
      target: inOrg,
      body: jsonBody(createProjectRequest, { readOnly: PROJECT_READ_ONLY }),
      responses: { 201: { description: 'The project', schema: projectResponse } },
      errors: [409],
      idempotent: {},
      handle: async ({ scope, caller, body, address }) =>
        toProjectResponse(await projects.create(scope, caller, body, { address })),
    }),
    defineOperation({
      id: 'getProject',
      method: 'GET',
      path: '/v1/projects/{project_id}',
      tag: 'Projects',
      summary: 'Get a project',
      access: { key: 'viewer', user: 'viewer' },
      target: inProject,
      responses: { 200: { description: 'The project', schema: projectResponse } },
      handle: async ({ scope }) => toProjectResponse(await projects.get(scope)),
    }),
    defineOperation({
      id: 'updateProject',
      method: 'PATCH',
      path: '/v1/projects/{project_id}',
      tag: 'Projects',
      summary: 'Update a project',
      access: { user: 'admin' },
      target: inProject,
      body: patchBody(patchProjectRequest, { readOnly: PROJECT_READ_ONLY }),
      responses: { 200: { description: 'The project', schema: projectResponse } },
      errors: [409],
      handle: async ({ scope, body }) => toProjectResponse(await projects.update(scope, body)),
    }),
    defineOperation({
      id: 'archiveProject',
      method: 'DELETE',
      path: '/v1/projects/{project_id}',
      tag: 'Projects',
      summary: 'Archive a project',
      description: 'Its API keys stop working.',
      access: { user: 'admin' },
      target: inProject,
      responses: { 204: { description: 'Archived' } },
      errors: [409],
      handle: ({ scope, caller, address }) => projects.archive(scope, caller, { address }),
    }),
  ];
}
