import type { Services } from './features.ts';
import { Scope } from './tenancy/scope.ts';
import type { OrgRecord } from './orgs/org-model.ts';
import type { ProjectRecord } from './projects/project-model.ts';
import type { KeyPrincipal } from './tenancy/principal.ts';

export interface BootstrapResult {
  org: OrgRecord;
  project: ProjectRecord;
  /** Shown once: it is stored as a digest. */
  apiKey: string;
  apiKeyId: string;
}

/**
 * Makes an org with one project, the installation's models as its defaults, and an admin API key. For first starts
 * and the server's command line, where there is no caller to ask for permission.
 */
export async function bootstrapInstallation(
  services: Services,
  options: {
    orgName?: string;
    projectName?: string;
    keyName?: string;
    role?: KeyPrincipal['role'];
    apiKey?: string;
  } = {},
): Promise<BootstrapResult> {
  const org = await services.orgs.createWithoutOwner(options.orgName ?? 'My organisation');
  const scope = new Scope(services.database, {
    orgId: org._id,
    projectId: null,
    projects: null,
    role: 'owner',
  });
  const name = options.projectName ?? 'Default';
  const project = await services.projects.create(scope, 'cli', { name }, { address: '' });
  const { record, key } = await services.apiKeys.insert(scope.inProject(project._id), {
    name: options.keyName ?? 'First key',
    role: options.role ?? 'admin',
    expiresAt: null,
    createdBy: 'cli',
    ...(options.apiKey !== undefined && { key: options.apiKey }),
  });
  await services.audit.record({
    orgId: org._id,
    caller: 'cli',
    address: '',
    action: 'api_key.created',
    target: record._id,
  });
  return { org, project, apiKey: key, apiKeyId: record._id };
}
