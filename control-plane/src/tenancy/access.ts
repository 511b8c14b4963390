import {
  ConflictError,
  ForbiddenError,
  NotFoundError,
  ValidationError,
} from '@parley/shared/errors/app-error';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import type { Database } from '../storage/database.ts';
import type { Directory } from './directory.ts';
import type { Principal } from './principal.ts';
import { referenceNotFound } from './references.ts';
import type { Loc } from './references.ts';
import { roleAtLeast } from './roles.ts';
import type { Role } from './roles.ts';
import { Scope } from './scope.ts';

interface TenantRecord {
  org_id?: string;
  project_id?: string | null;
  project_ids?: string[] | null;
}

/** What one caller may reach. Absent and foreign things are both a `NotFoundError`. */
export class Access {
  readonly principal: Principal;
  readonly #directory: Directory;
  readonly #database: Database;

  constructor(principal: Principal, { directory, database }: { directory: Directory; database: Database }) {
    this.principal = principal;
    this.#directory = directory;
    this.#database = database;
  }

  /** Orgs the caller belongs to. */
  async orgIds(): Promise<string[]> {
    if (this.principal.auth === 'api_key') return [this.principal.org_id];
    return (await this.#directory.memberships(this.principal.user_id)).map((member) => member.org_id);
  }

  /** @throws NotFoundError */
  async org(orgId: string): Promise<Scope> {
    const caller = this.principal;
    if (caller.auth === 'api_key') {
      if (caller.org_id !== orgId) throw new NotFoundError();
      return this.#scope({
        orgId,
        projectId: caller.project_id,
        projects: [caller.project_id],
        role: caller.role,
      });
    }
    const member = await this.#directory.membership(caller.user_id, orgId);
    if (!member) throw new NotFoundError();
    this.#directory.seen(member);
    return this.#scope({ orgId, projectId: null, projects: member.project_ids, role: member.role });
  }

  /** @throws NotFoundError, also when the project is not in `orgId` */
  async project(projectId: string, orgId?: string): Promise<Scope> {
    const project = await this.#directory.project(projectId);
    if (!project || (orgId !== undefined && project.org_id !== orgId)) throw new NotFoundError();
    const scope = await this.org(project.org_id);
    if (!scope.sees(projectId)) throw new NotFoundError();
    return scope.inProject(projectId);
  }

  /**
   * A record by id, and the scope of its tenant: its project, or the whole org when it is open to several.
   * `readOnly`: the record is open to more projects than the caller is.
   * @throws NotFoundError, also when a field named in `within` has another value
   */
  async item<T extends StoredRecord>(
    collection: Collection<T>,
    id: string,
    within: Readonly<Record<string, string>> = {},
  ): Promise<{ item: T; scope: Scope; readOnly: boolean }> {
    const found = (await this.#database.read(collection, id)) as
      (T & TenantRecord & Record<string, unknown>) | null;
    if (!found || found.org_id === undefined) throw new NotFoundError();
    for (const [field, value] of Object.entries(within))
      if (found[field] !== value) throw new NotFoundError();
    const scope = await this.org(found.org_id);
    const { tenancy } = collection;
    if (tenancy === 'project' || (tenancy === 'shared' && typeof found.project_id === 'string')) {
      if (!scope.sees(found.project_id!)) throw new NotFoundError();
      return { item: found, scope: scope.inProject(found.project_id!), readOnly: false };
    }
    if (tenancy === 'shared') return { item: found, scope, readOnly: scope.projects !== null };
    if (tenancy === 'projects') {
      const open = found.project_ids ?? null;
      if (open && !open.some((project) => scope.sees(project))) throw new NotFoundError();
      const readOnly =
        scope.projects !== null && (open === null || !open.every((project) => scope.sees(project)));
      return { item: found, scope, readOnly };
    }
    return { item: found, scope, readOnly: false };
  }

  /** The last check before a handler runs: role, and state of org and project.
   * @throws ForbiddenError `role_too_low`, `org_suspended`, `feature_disabled`; ConflictError `invalid_state`
   */
  async permit(
    scope: Scope,
    needed: Role,
    options: { write: boolean; feature?: string | undefined },
  ): Promise<void> {
    if (!roleAtLeast(scope.role, needed)) {
      throw new ForbiddenError('role_too_low', `This operation requires the role ${needed}.`);
    }
    const org = await this.#directory.org(scope.orgId);
    if (!org) throw new NotFoundError();
    if (options.feature !== undefined && org.feature_flags[options.feature] === false) {
      throw new ForbiddenError(
        'feature_disabled',
        `The feature ${options.feature} is disabled for this org.`,
      );
    }
    if (!options.write) return;
    if (org.status !== 'active')
      throw new ForbiddenError('org_suspended', 'This org is suspended: data can be read but not changed.');
    if (scope.projectIdOrNull === null) return;
    const project = await this.#directory.project(scope.projectIdOrNull);
    if (project?.archived_at)
      throw new ConflictError('invalid_state', 'The project is archived: it cannot be changed.');
  }

  /**
   * The project that a request body names. Absent and foreign are the same 422; of an API key's own it must be.
   * @throws ForbiddenError `scope_mismatch`, `role_too_low`; ValidationError `reference_not_found`
   */
  async projectFromBody(
    projectId: string,
    options: { orgId?: string; role: Role; loc?: Loc },
  ): Promise<Scope> {
    const caller = this.principal;
    if (caller.auth === 'api_key' && caller.project_id !== projectId) {
      throw new ForbiddenError(
        'scope_mismatch',
        'The API key belongs to another project. Use a key of this project.',
      );
    }
    let scope: Scope;
    try {
      scope = await this.project(projectId, options.orgId);
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      throw new ValidationError([referenceNotFound(options.loc ?? ['body', 'project_id'])]);
    }
    await this.permit(scope, options.role, { write: true });
    return scope;
  }

  #scope(options: {
    orgId: string;
    projectId: string | null;
    projects: readonly string[] | null;
    role: Role;
  }): Scope {
    return new Scope(this.#database, options);
  }
}
