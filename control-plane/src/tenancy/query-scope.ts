import { NotFoundError, ValidationError } from '@parley/shared/errors/app-error';
import { idSchema } from '../http/operation.ts';
import type { Access } from './access.ts';
import { referenceNotFound } from './references.ts';
import type { Scope } from './scope.ts';

/** Query of flat routes: where a signed-in user means to be. */
export const tenantQuery = {
  org_id: idSchema('org').optional().meta({
    description: 'For signed-in users: the org whose records are returned besides the global ones.',
  }),
  project_id: idSchema('prj').optional().meta({ description: 'For signed-in users, instead of org_id.' }),
};

/**
 * Where a caller of a flat route is: an API key in its project, a user where the query says.
 * @returns null for a user who says nothing: global records only
 * @throws ValidationError `reference_not_found`
 */
export async function queryScope(
  access: Access,
  query: { org_id?: string | undefined; project_id?: string | undefined },
): Promise<Scope | null> {
  const caller = access.principal;
  const { org_id: orgId, project_id: projectId } = query;
  try {
    if (projectId !== undefined) return await access.project(projectId, orgId);
    if (orgId !== undefined) return await access.org(orgId);
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
    throw new ValidationError([
      referenceNotFound(['query', projectId === undefined ? 'org_id' : 'project_id']),
    ]);
  }
  return caller.auth === 'api_key' ? access.project(caller.project_id, caller.org_id) : null;
}
