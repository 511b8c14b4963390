import { newId } from '@parley/shared/ids/new-id';
import type { Services } from './services.ts';
import { Scope } from './tenancy/scope.ts';
import { orgCollection } from './orgs/org-model.ts';
import type { OrgRecord } from './orgs/org-model.ts';
import { projectCollection } from './projects/project-model.ts';
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
  const { database } = services;
  const suffix = newId('org').slice(-6);
  const orgName = options.orgName ?? 'My organisation';
  const org = await database.model(orgCollection).create({
    _id: newId('org'),
    name: orgName,
    slug: `${slugOf(orgName)}-${suffix}`,
    feature_flags: {},
  });
  const scope = new Scope(database, { orgId: org._id, projectId: null, projects: null, role: 'owner' });
  const projectName = options.projectName ?? 'Default';
  const project = await scope.collection(projectCollection).insert({
    _id: newId('project'),
    name: projectName,
    slug: slugOf(projectName),
    description: '',
    timezone: null,
    ...(await defaultModels(services, org._id)),
    default_voice_id: null,
    default_telephony_account_id: null,
    recording_enabled: true,
    retention_days: null,
    archived_at: null,
  });
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
  return { org: org.toObject(), project, apiKey: key, apiKeyId: record._id };
}

/** The first usable model of each kind. */
export async function defaultModels(services: Pick<Services, 'models'>, orgId: string) {
  const models = await services.models.list(orgId);
  const first = (kind: 'llm' | 'stt' | 'tts') =>
    models.find((model) => model.kind === kind && model.status === 'available')?.id ?? null;
  return { default_llm_id: first('llm'), default_stt_id: first('stt'), default_tts_id: first('tts') };
}

/** Lower-case words joined by `-`, at most 60 characters. */
export function slugOf(name: string): string {
  const words = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '');
  return words.slice(0, 60).replace(/-+$/, '') || 'org';
}
