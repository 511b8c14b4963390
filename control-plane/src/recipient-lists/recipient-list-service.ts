import { Readable } from 'node:stream';
import type { z } from 'zod';
import {
  ConflictError,
  ForbiddenError,
  NotFoundError,
  ValidationError,
} from '@parley/shared/errors/app-error';
import type { ErrorRef, ValidationDetail } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { AuditLog } from '../audit/audit-trail.ts';
import { namedIn, nameWords } from '../composition/name-words.ts';
import { toE164 } from '../csv-imports/people-columns.ts';
import type { Person } from '../csv-imports/people-columns.ts';
import { csvLine } from '../exports/csv.ts';
import { commonFilter, equalities } from '../http/list-query.ts';
import type { AnyOf, ListInput } from '../http/list-query.ts';
import { patchMap } from '../http/patch-schema.ts';
import { invalid } from '../http/validation.ts';
import { checkVariableCount } from '../http/value-schemas.ts';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import type { ListPage } from '../storage/list.ts';
import { newRecord } from '../storage/new-record.ts';
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
const MAX_VARIABLES = 100;
/** Of a list: variables beyond these are kept, but not told of. */
const MAX_COLUMNS = 500;
const COLUMNS = {
  suppression: ['phone_number', 'name', 'external_id', 'reason', 'source', 'added_by'],
  recipients: ['phone_number', 'name', 'external_id', 'timezone', 'status'],
} as const;

type Counted = RecipientListRecord & { recipient_count: number };
/** What keeps a list from being deleted. */
export type ListUses = (scope: Scope, listId: string) => Promise<ErrorRef[]>;
/** Somebody who is to be in a list. */
export type NewRecipient = Person &
  Pick<RecipientRecord, 'reason'> & {
    /** Of the record that they become, where they may be put again. */
    id?: string;
  };
interface Origin {
  caller: Principal;
  address: string;
}

/** Lists of numbers, and what is in them. */
export class RecipientListService {
  readonly #database: Database;
  readonly #suppressions: Pick<Suppressions, 'ensure'>;
  readonly #audit: AuditLog<(typeof RECIPIENT_LIST_AUDIT)[number]>;
  readonly #uses: ListUses;
  readonly #clock: Clock;

  constructor(deps: {
    database: Database;
    suppressions: Pick<Suppressions, 'ensure'>;
    uses: ListUses;
    audit: AuditLog<(typeof RECIPIENT_LIST_AUDIT)[number]>;
    clock: Clock;
  }) {
    this.#database = deps.database;
    this.#suppressions = deps.suppressions;
    this.#audit = deps.audit;
    this.#uses = deps.uses;
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

  /** @throws ConflictError `invalid_state` for the org's own list, `resource_in_use` while a campaign calls it */
  async delete(scope: Scope, list: RecipientListRecord, { caller, address }: Origin): Promise<void> {
    if (isBuiltIn(list)) throw builtIn('deleted');
    const refs = await this.#uses(scope, list._id);
    if (refs.length > 0)
      throw new ConflictError('resource_in_use', 'A running campaign uses the list: see refs.', { refs });
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

  async recipients(
    scope: Scope,
    list: RecipientListRecord,
    { q, ...query }: ListInput & AnyOf<RecipientRecord, 'phone_number' | 'external_id' | 'status'>,
  ): Promise<ListPage<RecipientRecord>> {
    const { phone_number, external_id, status } = query;
    const recipients = scope.collection(recipientCollection);
    const ofList = { list_id: list._id };
    const filter = {
      ...commonFilter(query),
      ...equalities({ phone_number, external_id, status }),
      ...ofList,
      ...(q !== undefined && (await namedIn(recipients, ofList, q))),
    };
    return recipients.page(filter, query);
  }

  /**
   * @throws ConflictError `limit_reached` when the list would hold too many; ValidationError for what its kind does not
   * keep
   */
  async add(
    scope: Scope,
    list: RecipientListRecord,
    caller: Principal,
    { recipients }: z.output<typeof addRecipientsRequest>,
  ): Promise<{ added: number; known: number }> {
    const details = recipients.flatMap((one, at) => misplaced(list, one, ['body', 'recipients', at]));
    if (details.length > 0) throw new ValidationError(details);
    const people = recipients.map((one) => ({ ...one, valid: toE164(one.phone_number) !== undefined }));
    const room = await this.room(list);
    const added = await this.put(list, people, {
      ...{ by: principalId(caller), source: 'api', update: false, room },
    });
    return { added, known: recipients.length - added };
  }

  /** How many more numbers a list may hold. */
  async room(list: RecipientListRecord): Promise<number> {
    return MAX_RECIPIENTS - (await this.counted(list)).recipient_count;
  }

  /**
   * Puts people into a list, each number once.
   * @param how.update whether one who is there is given what is known now; else they stay as they are
   * @returns how many numbers are new
   * @throws ConflictError `limit_reached` when there are more than `how.room`, having stored none
   */
  async put(
    list: RecipientListRecord,
    people: readonly NewRecipient[],
    how: { by: string | null; source: 'api' | 'import'; update: boolean; room: number },
  ): Promise<number> {
    const model = this.#database.model(recipientCollection);
    const byNumber = new Map<string, NewRecipient>();
    for (const one of people) {
      const before = byNumber.get(one.phone_number);
      if (!before) byNumber.set(one.phone_number, one);
      else if (how.update) byNumber.set(one.phone_number, { ...before, ...updated(before, one) });
    }
    const known = await model
      .find({ list_id: list._id, phone_number: { $in: [...byNumber.keys()] } })
      .lean<RecipientRecord[]>();
    const changes = known.map((one) => ({
      updateOne: {
        filter: { _id: one._id },
        update: { $set: updated(one, byNumber.get(one.phone_number)!) },
      },
    }));
    for (const { phone_number } of known) byNumber.delete(phone_number);
    if (byNumber.size > how.room) {
      const message = `A list holds at most ${MAX_RECIPIENTS} numbers. Make another one.`;
      throw new ConflictError('limit_reached', message);
    }
    if (how.update && changes.length > 0) await model.bulkWrite(changes, { ordered: false });
    const { org_id, project_id, kind } = list;
    const now = this.#clock.now();
    const records = [...byNumber.values()].map(({ id, valid, ...one }) =>
      newRecord(recipientCollection, {
        ...{ _id: id ?? newId('rcp', now), org_id, project_id, list_id: list._id, kind, ...one },
        words: nameWords(one.name),
        status: valid || kind === 'suppression' ? 'valid' : 'invalid',
        ...{ source: how.source, added_by: how.by, session_id: null },
        created_at: new Date(now),
      }),
    );
    try {
      if (records.length > 0) await model.insertMany(records, { ordered: false, lean: true });
    } catch (error) {
      // Another request was faster with one of them; the others are in.
      if (!isDuplicateKey(error)) throw error;
    }
    await this.#seen(list, people);
    // What was stored before under these very ids, and not told of, is new, too.
    const ids = new Set(people.map(({ id }) => id));
    return records.length + known.filter(({ _id }) => ids.has(_id)).length;
  }

  /** Notes which variables there are in a list. */
  async #seen(list: RecipientListRecord, people: readonly NewRecipient[]): Promise<void> {
    const known = new Set(list.columns);
    const names = new Set(people.flatMap(({ variables }) => Object.keys(variables)));
    const fresh = [...names].filter((name) => !known.has(name)).slice(0, MAX_COLUMNS - known.size);
    if (fresh.length > 0)
      await this.#database
        .model(recipientListCollection)
        .updateOne({ _id: list._id }, { $addToSet: { columns: { $each: fresh } } });
  }

  /**
   * @throws ValidationError for what the list does not keep, and for a status that the number does not have;
   * ConflictError `version_conflict`
   */
  updateRecipient(
    scope: Scope,
    recipient: RecipientRecord,
    { variables, ...request }: z.output<typeof patchRecipientRequest>,
  ): Promise<RecipientRecord> {
    return scope.collection(recipientCollection).change(recipient, ['variables', 'status'], (current) => {
      const next = { ...request, variables: patchMap(current.variables ?? {}, variables) };
      const details = misplaced(current, next, ['body']);
      if (details.length > 0) throw new ValidationError(details);
      checkVariableCount(next.variables);
      const status = current.status ?? 'valid';
      if (request.status !== undefined && request.status !== status)
        if ([request.status, status].includes('invalid') || current.kind !== 'recipients')
          throw invalid(['body', 'status'], `cannot be changed from ${status} to ${request.status}`);
      const { name } = request;
      return Promise.resolve({ ...next, ...(name !== undefined && { words: nameWords(name) }) });
    });
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

  /**
   * Those of a list who are to be called, a page at a time: not those who have opted out.
   * @throws NotFoundError for a list that the project does not have, or that is none of people
   */
  async *people(scope: Scope, listId: string): AsyncGenerator<Person[], void, undefined> {
    const list = await scope.collection(recipientListCollection).get(listId);
    if (list.kind !== 'recipients') throw new NotFoundError();
    for await (const page of this.#pages(list))
      yield page
        .filter(({ status }) => status !== 'opted_out')
        .map(({ phone_number, status, name, external_id, timezone = null, variables = {} }) => ({
          ...{ phone_number, valid: status !== 'invalid', name, external_id, timezone, variables },
        }));
  }

  async *#lines(list: RecipientListRecord): AsyncGenerator<string> {
    const fixed = COLUMNS[list.kind];
    const variables = list.kind === 'recipients' ? (list.columns ?? []) : [];
    yield csvLine([...fixed, ...variables, 'created_at']);
    for await (const page of this.#pages(list))
      yield page
        .map((one) =>
          csvLine([
            ...fixed.map((column) => one[column] ?? null),
            ...variables.map((name) => one.variables?.[name] ?? null),
            one.created_at.toISOString(),
          ]),
        )
        .join('');
  }

  async *#pages(list: RecipientListRecord): AsyncGenerator<RecipientRecord[], void, undefined> {
    let after = '';
    for (;;) {
      const page = await this.#database
        .model(recipientCollection)
        .find({ list_id: list._id, phone_number: { $gt: after } })
        .sort({ phone_number: 1 })
        .limit(EXPORTED_AT_ONCE)
        .lean<RecipientRecord[]>();
      if (page.length > 0) yield page;
      if (page.length < EXPORTED_AT_ONCE) return;
      after = page.at(-1)!.phone_number;
    }
  }
}

/** What is known of somebody, with what is known now on top. */
function updated(
  before: Pick<RecipientRecord, 'name' | 'external_id' | 'reason' | 'timezone' | 'variables'>,
  now: NewRecipient,
) {
  const variables = Object.entries({ ...before.variables, ...now.variables });
  const name = now.name ?? before.name;
  return {
    ...{ name, words: nameWords(name) },
    external_id: now.external_id ?? before.external_id,
    reason: now.reason ?? before.reason,
    timezone: now.timezone ?? before.timezone ?? null,
    variables: Object.fromEntries(variables.slice(-MAX_VARIABLES)),
  };
}

/** What only people who are called have. */
function misplaced(
  { kind }: Pick<RecipientRecord, 'kind'>,
  { timezone, variables }: { timezone?: string | null | undefined; variables: Record<string, string> },
  loc: readonly (string | number)[],
): ValidationDetail[] {
  if (kind === 'recipients') return [];
  const fields = [
    ...(timezone == null ? [] : ['timezone']),
    ...(Object.keys(variables).length === 0 ? [] : ['variables']),
  ];
  return fields.map((field) => ({
    loc: [...loc, field],
    msg: 'is not kept in a suppression list',
    type: 'not_available',
  }));
}

function builtIn(what: string): ConflictError {
  return new ConflictError('invalid_state', `The do-not-call list of the org cannot be ${what}.`);
}
