import { Readable } from 'node:stream';
import type { z } from 'zod';
import { ConflictError, ForbiddenError } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { AuditLog } from '../audit/audit-trail.ts';
import { csvLine } from '../http/csv.ts';
import { commonFilter, equalities } from '../http/list-query.ts';
import type { AnyOf, ListInput } from '../http/list-query.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import type { Database } from '../storage/database.ts';
import type { ListPage } from '../storage/list.ts';
import { principalId } from '../tenancy/principal.ts';
import type { Principal } from '../tenancy/principal.ts';
import { checkRoom } from '../tenancy/record-limit.ts';
import { roleAtLeast } from '../tenancy/roles.ts';
import type { Scope } from '../tenancy/scope.ts';
import { recipientCollection, recipientListCollection } from './recipient-list-model.ts';
import type { RecipientListRecord, RecipientRecord } from './recipient-list-model.ts';
import { isBuiltIn } from './recipient-list-schema.ts';
import type {
  addRecipientsRequest,
  createRecipientListRequest,
  patchRecipientListRequest,
  patchRecipientRequest,
} from './recipient-list-schema.ts';
import type { Suppressions } from './suppressions.ts';

/** What it writes to the audit trail. */
export const RECIPIENT_LIST_AUDIT = [
  'recipient_list.deleted',
  'recipient_list.exported',
  'suppression.removed',
] as const;

const MAX_RECIPIENTS = 100_000;
const EXPORTED_AT_ONCE = 1000;
const COLUMNS = ['phone_number', 'name', 'external_id', 'reason', 'source', 'added_by'] as const;

type Counted = RecipientListRecord & { recipient_count: number };
interface Origin {
  caller: Principal;
  address: string;
}

/** Lists of numbers, and what is in them. */
export class RecipientListService {
  readonly #database: Database;
  readonly #suppressions: Pick<Suppressions, 'ensure'>;
  readonly #audit: AuditLog<(typeof RECIPIENT_LIST_AUDIT)[number]>;
  readonly #clock: Clock;

  constructor(deps: {
    database: Database;
    suppressions: Pick<Suppressions, 'ensure'>;
    audit: AuditLog<(typeof RECIPIENT_LIST_AUDIT)[number]>;
    clock: Clock;
  }) {
    this.#database = deps.database;
    this.#suppressions = deps.suppressions;
    this.#audit = deps.audit;
    this.#clock = deps.clock;
  }

  async list(scope: Scope, list: ListInput): Promise<ListPage<Counted>> {
    await this.#suppressions.ensure(scope.orgId);
    const page = await scope.collection(recipientListCollection).page(commonFilter(list), list);
    return { ...page, items: await Promise.all(page.items.map((one) => this.counted(one))) };
  }

  async create(scope: Scope, request: z.output<typeof createRecipientListRequest>): Promise<Counted> {
    await checkRoom(scope.collection(recipientListCollection), { project_id: scope.projectId });
    const list = await scope.collection(recipientListCollection).insert({
      _id: newId('rcl', this.#clock.now()),
      project_id: scope.projectId,
      ...request,
    });
    return { ...list, recipient_count: 0 };
  }

  /** @throws ConflictError `invalid_state` for the org's own list */
  async update(
    scope: Scope,
    list: RecipientListRecord,
    request: z.output<typeof patchRecipientListRequest>,
  ): Promise<Counted> {
    if (isBuiltIn(list)) throw builtIn('renamed');
    return this.counted(await scope.collection(recipientListCollection).patch(list._id, request));
  }

  /** @throws ConflictError `invalid_state` for the org's own list */
  async delete(scope: Scope, list: RecipientListRecord, { caller, address }: Origin): Promise<void> {
    if (isBuiltIn(list)) throw builtIn('deleted');
    await scope.collection(recipientListCollection).delete({ _id: list._id });
    // What another request is adding goes too: without its list it would still block.
    await scope.collection(recipientCollection).deleteMany({ list_id: list._id });
    await this.#audit.record({ scope, caller, address, action: 'recipient_list.deleted', target: list._id });
  }

  async counted(list: RecipientListRecord): Promise<Counted> {
    const recipient_count = await this.#database
      .model(recipientCollection)
      .countDocuments({ list_id: list._id });
    return { ...list, recipient_count };
  }

  recipients(
    scope: Scope,
    list: RecipientListRecord,
    query: ListInput & AnyOf<RecipientRecord, 'phone_number' | 'external_id'>,
  ): Promise<ListPage<RecipientRecord>> {
    const { phone_number, external_id } = query;
    const filter = {
      ...commonFilter(query),
      ...equalities({ phone_number, external_id }),
      list_id: list._id,
    };
    return scope.collection(recipientCollection).page(filter, query);
  }

  /** @throws ConflictError `limit_reached` when the list would hold too many */
  async add(
    scope: Scope,
    list: RecipientListRecord,
    caller: Principal,
    { recipients }: z.output<typeof addRecipientsRequest>,
  ): Promise<{ added: number; known: number }> {
    const model = this.#database.model(recipientCollection);
    const byNumber = new Map(recipients.map((one) => [one.phone_number, one]));
    const there = await scope
      .collection(recipientCollection)
      .find({ list_id: list._id, phone_number: { $in: [...byNumber.keys()] } }, { limit: byNumber.size });
    for (const { phone_number } of there) byNumber.delete(phone_number);
    const fresh = [...byNumber.values()];
    if ((await this.counted(list)).recipient_count + fresh.length > MAX_RECIPIENTS) {
      const message = `A list holds at most ${MAX_RECIPIENTS} numbers. Make another one.`;
      throw new ConflictError('limit_reached', message);
    }
    const records = fresh.map((one) => ({
      _id: newId('rcp', this.#clock.now()),
      org_id: list.org_id,
      project_id: list.project_id,
      list_id: list._id,
      ...one,
      source: 'api' as const,
      added_by: principalId(caller),
      session_id: null,
    }));
    try {
      if (records.length > 0) await model.insertMany(records, { ordered: false });
    } catch (error) {
      // Another request was faster with one of them; the others are in.
      if (!isDuplicateKey(error)) throw error;
    }
    return { added: fresh.length, known: recipients.length - fresh.length };
  }

  updateRecipient(
    scope: Scope,
    recipient: RecipientRecord,
    request: z.output<typeof patchRecipientRequest>,
  ): Promise<RecipientRecord> {
    return scope.collection(recipientCollection).patch(recipient._id, request);
  }

  /** The number may be called again. @throws ForbiddenError where the org's own list asks for an admin */
  async remove(scope: Scope, recipient: RecipientRecord, { caller, address }: Origin): Promise<void> {
    if (isBuiltIn({ _id: recipient.list_id, org_id: recipient.org_id })) {
      if (caller.auth !== 'jwt')
        throw new ForbiddenError('user_required', 'A signed-in user has to remove this number.');
      if (!roleAtLeast(scope.role, 'admin'))
        throw new ForbiddenError('role_too_low', 'This operation requires the role admin.');
    }
    await scope.collection(recipientCollection).delete({ _id: recipient._id });
    // Whose number it was stays out of the trail.
    await this.#audit.record({
      scope,
      caller,
      address,
      action: 'suppression.removed',
      target: recipient._id,
    });
  }

  /** The whole list, a page of it in memory at a time. */
  async export(scope: Scope, list: RecipientListRecord, { caller, address }: Origin): Promise<Readable> {
    await this.#audit.record({ scope, caller, address, action: 'recipient_list.exported', target: list._id });
    return Readable.from(this.#lines(list), { objectMode: false });
  }

  async *#lines(list: RecipientListRecord): AsyncGenerator<string> {
    yield csvLine([...COLUMNS, 'created_at']);
    let after = '';
    for (;;) {
      const page = await this.#database
        .model(recipientCollection)
        .find({ list_id: list._id, phone_number: { $gt: after } })
        .sort({ phone_number: 1 })
        .limit(EXPORTED_AT_ONCE)
        .lean<RecipientRecord[]>();
      if (page.length > 0)
        yield page
          .map((one) => csvLine([...COLUMNS.map((column) => one[column]), one.created_at.toISOString()]))
          .join('');
      if (page.length < EXPORTED_AT_ONCE) return;
      after = page.at(-1)!.phone_number;
    }
  }
}

function builtIn(what: string): ConflictError {
  return new ConflictError('invalid_state', `The do-not-call list of the org cannot be ${what}.`);
}
