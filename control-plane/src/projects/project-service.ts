import type { z } from 'zod';
import { AppError, ValidationError } from '@parley/shared/errors/app-error';
import type { ErrorRef, ValidationDetail } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { AuditLog } from '../audit/audit-trail.ts';
import { commonFilter } from '../http/list-query.ts';
import type { ListInput } from '../http/list-query.ts';
import { slugOf } from '../http/slug.ts';
import type { ModelCatalog, ModelKind } from '../providers/model-catalog.ts';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import type { ListPage } from '../storage/list.ts';
import { checkRoom } from '../tenancy/record-limit.ts';
import type { Directory } from '../tenancy/directory.ts';
import type { Principal } from '../tenancy/principal.ts';
import { missingReferences, referenceNotFound } from '../tenancy/references.ts';
import type { Scope } from '../tenancy/scope.ts';
import { projectCollection } from './project-model.ts';
import type { ProjectRecord } from './project-model.ts';
import type { createProjectRequest, patchProjectRequest } from './project-schema.ts';

/** What it writes to the audit trail. */
export const PROJECT_AUDIT = ['project.created', 'project.archived'] as const;

/** Projects of an org. */
export class ProjectService {
  readonly #directory: Directory;
  readonly #models: ModelCatalog;
  readonly #audit: AuditLog<(typeof PROJECT_AUDIT)[number]>;
  readonly #clock: Clock;
  readonly #uses: (scope: Scope) => Promise<ErrorRef[]>;
  readonly #telephonyAccounts: Collection<StoredRecord>;

  constructor(deps: {
    directory: Directory;
    models: ModelCatalog;
    audit: AuditLog<(typeof PROJECT_AUDIT)[number]>;
    clock: Clock;
    /** What keeps a project from being archived, such as an active number. */
    uses: (scope: Scope) => Promise<ErrorRef[]>;
    telephonyAccounts: Collection<StoredRecord>;
  }) {
    this.#directory = deps.directory;
    this.#models = deps.models;
    this.#audit = deps.audit;
    this.#clock = deps.clock;
    this.#uses = deps.uses;
    this.#telephonyAccounts = deps.telephonyAccounts;
  }

  /** Those the caller may see. */
  list(scope: Scope, list: ListInput & { archived: boolean }): Promise<ListPage<ProjectRecord>> {
    const filter = {
      ...commonFilter(list),
      archived_at: list.archived ? { $ne: null } : null,
      ...(scope.projects && { _id: { $in: scope.projects } }),
    };
    return scope.collection(projectCollection).page(filter, list);
  }

  get(scope: Scope): Promise<ProjectRecord> {
    return scope.collection(projectCollection).get(scope.projectId);
  }

  /** Models that are not named are the installation's first usable ones. */
  async create(
    scope: Scope,
    caller: Principal | string,
    request: z.output<typeof createProjectRequest>,
    origin: { address: string },
  ): Promise<ProjectRecord> {
    await this.#check(scope, request);
    await checkRoom(scope.collection(projectCollection), {}, 'org');
    const defaults = await this.#installationModels(scope.orgId);
    const project = await this.#insert(scope, {
      name: request.name,
      description: request.description ?? '',
      timezone: request.timezone ?? null,
      default_llm_id: request.default_llm_id ?? defaults.llm,
      default_stt_id: request.default_stt_id ?? defaults.stt,
      default_tts_id: request.default_tts_id ?? defaults.tts,
      default_voice_id: request.default_voice_id ?? null,
      default_telephony_account_id: request.default_telephony_account_id ?? null,
      recording_enabled: request.recording_enabled ?? true,
      retention_days: request.retention_days ?? null,
      archived_at: null,
    });
    await this.#audit.record({
      scope,
      caller,
      address: origin.address,
      action: 'project.created',
      target: project._id,
    });
    return project;
  }

  async #insert(
    scope: Scope,
    fields: Omit<ProjectRecord, '_id' | 'org_id' | 'slug' | 'created_at' | 'updated_at'>,
  ): Promise<ProjectRecord> {
    for (let attempt = 0; ; attempt++) {
      const _id = newId('prj', this.#clock.now());
      const slug = attempt === 0 ? slugOf(fields.name) : `${slugOf(fields.name)}-${_id.slice(-6)}`;
      try {
        return await scope.collection(projectCollection).insert({ _id, ...fields, slug });
      } catch (error) {
        if (!isDuplicateKey(error) || attempt > 3) throw error;
      }
    }
  }

  async update(scope: Scope, change: z.output<typeof patchProjectRequest>): Promise<ProjectRecord> {
    await this.#check(scope, change);
    const project = await scope.collection(projectCollection).patch(scope.projectId, change);
    this.#directory.forget(project._id);
    return project;
  }

  /** Its keys stop working. @throws AppError 409 `resource_in_use` */
  async archive(scope: Scope, caller: Principal, origin: { address: string }): Promise<void> {
    const refs = await this.#uses(scope);
    if (refs.length > 0)
      throw new AppError(409, 'resource_in_use', 'The project is in use: see refs.', { refs });
    const archived = await scope
      .collection(projectCollection)
      .update(
        { _id: scope.projectId, archived_at: null },
        { $set: { archived_at: new Date(this.#clock.now()) } },
      );
    this.#directory.forget(scope.projectId);
    if (!archived) return;
    await this.#audit.record({
      scope,
      caller,
      address: origin.address,
      action: 'project.archived',
      target: scope.projectId,
    });
  }

  async #check(scope: Scope, fields: z.output<typeof patchProjectRequest>): Promise<void> {
    const details: ValidationDetail[] = [];
    for (const kind of ['llm', 'stt', 'tts'] as const satisfies ModelKind[]) {
      const field = `default_${kind}_id` as const;
      const id = fields[field];
      if (id == null) continue;
      const model = await this.#models.find(scope.orgId, id, scope.projectIdOrNull);
      if (!model || model.kind !== kind) details.push(referenceNotFound(['body', field]));
      else if (model.status !== 'available') {
        details.push({
          loc: ['body', field],
          msg: 'is a model without credentials: add the provider credentials first',
          type: 'not_available',
        });
      }
    }
    const { default_voice_id: voice } = fields;
    if (voice != null) {
      const project =
        scope.projectIdOrNull === null
          ? null
          : await scope.collection(projectCollection).findOne({ _id: scope.projectId });
      const tts = fields.default_tts_id ?? project?.default_tts_id;
      if (tts != null && !(await this.#models.hasVoice(scope.orgId, tts, voice, scope.projectIdOrNull))) {
        details.push(referenceNotFound(['body', 'default_voice_id']));
      }
    }
    const account = fields.default_telephony_account_id;
    if (account != null) {
      const loc = ['body', 'default_telephony_account_id'];
      const collection = this.#telephonyAccounts;
      details.push(...(await missingReferences(scope, [{ collection, id: account, loc }])));
    }
    if (details.length > 0) throw new ValidationError(details);
  }

  async #installationModels(orgId: string): Promise<Record<ModelKind, string | null>> {
    const models = await this.#models.list(orgId);
    const first = (kind: ModelKind) =>
      models.find((model) => model.kind === kind && model.status === 'available')?.id ?? null;
    return { llm: first('llm'), stt: first('stt'), tts: first('tts') };
  }
}
