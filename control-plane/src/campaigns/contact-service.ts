import { ConflictError } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import { isNamed, namedIn, nameWords } from '../composition/name-words.ts';
import { toE164 } from '../csv-imports/people-columns.ts';
import { commonFilter, equalities } from '../http/list-query.ts';
import type { AnyOf, ListInput } from '../http/list-query.ts';
import { patchMap } from '../http/patch-schema.ts';
import { checkVariableCount } from '../http/value-schemas.ts';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import type { Database } from '../storage/database.ts';
import { defined } from '../storage/defined.ts';
import { isDuplicateKey, orDuplicate } from '../storage/duplicate.ts';
import type { ListPage } from '../storage/list.ts';
import { newRecord } from '../storage/new-record.ts';
import type { Scope } from '../tenancy/scope.ts';
import type { CampaignCounters } from './campaign-counters.ts';
import type { CampaignRecord } from './campaign-model.ts';
import { FINISHED_CONTACTS, isFinished, WAITING_CONTACTS } from './campaign-states.ts';
import type { CampaignStore } from './campaign-store.ts';
import { attemptCollection, CONTACT_OUTCOMES, contactCollection } from './contact-model.ts';
import type { ContactRecord, SkipReason } from './contact-model.ts';
import type { Attempt, ContactPatch, NewContact } from './contact-schema.ts';
import type { ContactStore } from './contact-store.ts';

export const CONTACTS_PER_CAMPAIGN = 100_000;
const MAX_VARIABLES = 100;

/** Numbers that must not be called. */
export interface SuppressedNumbers {
  blocks(at: { orgId: string; projectId: string }, numbers: readonly string[]): Promise<ReadonlySet<string>>;
}

/** The part of a session that an attempt shows. */
export type CalledSession = StoredRecord & { status: string; started_at: Date | null };

/** Somebody who is to be made a contact. */
export type AddedPerson = NewContact & {
  /** Of the contact, where it may be stored again. */
  id?: string;
  /** Whether the number is E.164, where that is known. */
  valid?: boolean;
};

/** Somebody who was not made a contact. */
export interface SkippedContact {
  index: number;
  reason: SkipReason;
}

/** The contacts of campaigns. */
export class ContactService {
  readonly #database: Database;
  readonly #campaigns: CampaignStore;
  readonly #contacts: ContactStore;
  readonly #counters: CampaignCounters;
  readonly #suppressions: SuppressedNumbers;
  readonly #sessions: Collection<CalledSession>;
  readonly #clock: Clock;

  constructor(deps: {
    database: Database;
    campaigns: CampaignStore;
    contacts: ContactStore;
    counters: CampaignCounters;
    suppressions: SuppressedNumbers;
    sessions: Collection<CalledSession>;
    clock: Clock;
  }) {
    this.#database = deps.database;
    this.#campaigns = deps.campaigns;
    this.#contacts = deps.contacts;
    this.#counters = deps.counters;
    this.#suppressions = deps.suppressions;
    this.#sessions = deps.sessions;
    this.#clock = deps.clock;
  }

  async list(
    scope: Scope,
    campaign: CampaignRecord,
    {
      q,
      ...query
    }: ListInput &
      AnyOf<ContactRecord, 'status' | 'goal_status' | 'phone_number'> & { outcome?: string[] | undefined },
  ): Promise<ListPage<ContactRecord>> {
    const { status, goal_status, phone_number } = query;
    const outcome = CONTACT_OUTCOMES.filter((one) => query.outcome?.includes(one));
    const contacts = scope.collection(contactCollection);
    const ofCampaign = { campaign_id: campaign._id };
    const named = async (text: string) => {
      if (campaign.kind === 'batch') return namedIn(contacts, ofCampaign, text);
      // The search over the org is not to find them, and so they have no words.
      const [called] = await contacts.find(ofCampaign, { limit: 1 });
      return { _id: called && isNamed(called.name, text) ? called._id : null };
    };
    const filter = {
      ...commonFilter(query),
      ...equalities({ status, goal_status, phone_number, ...(query.outcome && { outcome }) }),
      ...ofCampaign,
      ...(q !== undefined && (await named(q))),
    };
    return contacts.page(filter, query);
  }

  /**
   * Makes people contacts who can be.
   * @throws ConflictError `invalid_state` for a campaign that is over, `limit_reached`
   */
  async add(
    campaign: CampaignRecord,
    people: readonly AddedPerson[],
  ): Promise<{ added: number; skipped: SkippedContact[] }> {
    checkOpen(campaign);
    const { fresh, skipped } = await this.#sorted(campaign, people);
    const { counted_batches } = await this.#checkRoom(campaign, fresh.length);
    const now = new Date(this.#clock.now());
    // Their order is that of the request.
    const ids = fresh.map(() => newId('cct', now.getTime())).sort();
    const records = fresh.map(({ person: { id, valid: _, ...person } }, n) =>
      newRecord(contactCollection, {
        _id: id ?? ids[n]!,
        ...{ org_id: campaign.org_id, project_id: campaign.project_id, campaign_id: campaign._id },
        ...person,
        words: nameWords(person.name),
        unique_number: campaign.deduplicate ? person.phone_number : null,
        status: 'pending',
        due_at: now,
        created_at: now,
      }),
    );
    try {
      const model = this.#database.model(contactCollection);
      if (records.length > 0) await model.insertMany(records, { ordered: false, lean: true });
      await this.#counters.countAdded(campaign._id, counted_batches, records);
    } catch (error) {
      // Another request was faster with some of them; the others are in.
      if (!isDuplicateKey(error)) throw error;
      const stored = await this.existing(records.map(({ _id }) => _id));
      for (const [n, { _id }] of records.entries())
        if (!stored.has(_id)) skipped.push({ index: fresh[n]!.index, reason: 'duplicate' });
      await this.#counters.count(campaign._id);
    }
    const after = await this.#campaigns.find(campaign._id);
    // It ended meanwhile: who is left is told so.
    if (after && isFinished(after.status)) await this.#campaigns.awaken(campaign._id);
    skipped.sort((a, b) => a.index - b.index);
    return { added: people.length - skipped.length, skipped };
  }

  /** Gives contacts that wait for a call what is known of them now. @returns how many of `people` they were */
  async update(campaign: CampaignRecord, people: readonly AddedPerson[]): Promise<number> {
    if (people.length === 0) return 0;
    const model = this.#database.model(contactCollection);
    const waiting = { campaign_id: campaign._id, status: { $in: WAITING_CONTACTS }, removed: false };
    const numbers = people.map((person) => numberOf(person) ?? '');
    const ids = people.flatMap(({ external_id }) => external_id ?? []);
    const known = await model
      .find({ ...waiting, $or: [{ unique_number: { $in: numbers } }, { external_id: { $in: ids } }] })
      .lean<ContactRecord[]>();
    const byNumber = new Map(known.map((contact) => [contact.unique_number, contact]));
    const byId = new Map(known.map((contact) => [contact.external_id, contact]));
    let updated = 0;
    for (const [n, { name, external_id, timezone, variables }] of people.entries()) {
      const contact = byNumber.get(numbers[n]!) ?? (external_id === null ? undefined : byId.get(external_id));
      if (!contact) continue;
      const merged = Object.entries({ ...contact.variables, ...variables }).slice(-MAX_VARIABLES);
      Object.assign(contact, {
        name: name ?? contact.name,
        timezone: timezone ?? contact.timezone,
        variables: Object.fromEntries(merged),
      });
      updated++;
    }
    const changes = known.map(({ _id, name, timezone, variables }) => ({
      updateOne: {
        filter: { ...waiting, _id },
        update: { $set: { name, words: nameWords(name), timezone, variables } },
      },
    }));
    if (changes.length > 0) await model.bulkWrite(changes, { ordered: false });
    return updated;
  }

  /** @throws ConflictError `invalid_state` unless it waits for a call, `duplicate`; ValidationError */
  async change(scope: Scope, contact: ContactRecord, patch: ContactPatch): Promise<ContactRecord> {
    const { variables, ...fields } = defined(patch);
    const change = scope.collection(contactCollection).change(contact, ['status', 'variables'], (current) => {
      checkWaiting(current);
      const next = patchMap(current.variables, variables);
      checkVariableCount(next);
      const { phone_number } = fields;
      const unique = current.unique_number !== null && phone_number !== undefined;
      return Promise.resolve({
        ...fields,
        variables: next,
        ...(fields.name !== undefined && { words: nameWords(fields.name) }),
        ...(unique && { unique_number: phone_number }),
      });
    });
    return orDuplicate(change, 'The campaign has a contact with this number or external_id.');
  }

  /** @throws ConflictError `invalid_state` unless it waits for a call */
  async delete(contact: ContactRecord): Promise<void> {
    const removed = await this.#contacts.remove({
      _id: contact._id,
      status: { $in: WAITING_CONTACTS },
    });
    if (removed === 0) throw notWaiting();
    await this.#counters.count(contact.campaign_id);
  }

  /** Its attempts, with the sessions that they are. */
  async attempts(scope: Scope, contact: ContactRecord, query: ListInput): Promise<ListPage<Attempt>> {
    const page = await scope
      .collection(attemptCollection)
      .page({ ...commonFilter(query), contact_id: contact._id }, query);
    const ids = page.items.map(({ session_id }) => session_id);
    const sessions = await scope
      .collection(this.#sessions)
      .find({ _id: { $in: ids } }, { limit: Math.max(1, ids.length) });
    const byId = new Map(sessions.map((session) => [session._id, session]));
    return {
      ...page,
      items: page.items.map((attempt) => {
        const session = byId.get(attempt.session_id);
        return {
          ...attempt,
          status: session?.status ?? 'queued',
          started_at: session?.started_at ?? null,
        };
      }),
    };
  }

  /** Forgets a person in a project. @returns how many contacts they were */
  async forgetSubject(scope: Scope, subject: string): Promise<number> {
    let forgotten = 0;
    for (const which of [{ phone_number: subject }, { external_id: subject }]) {
      for (;;) {
        const theirs = await scope
          .collection(contactCollection)
          .find({ ...which, removed: false }, { limit: 500 });
        if (theirs.length === 0) break;
        forgotten += await this.#contacts.remove({ _id: { $in: theirs.map(({ _id }) => _id) } });
        for (const campaignId of new Set(theirs.map(({ campaign_id }) => campaign_id)))
          await this.#counters.count(campaignId);
      }
    }
    return forgotten;
  }

  /**
   * Forgets what a session that is erased has left: of a contact that nobody will call again, who it was, too.
   * @param sessionId the last one of the contact
   */
  async forgetSession(sessionId: string): Promise<void> {
    for (const contact of await this.#contacts.find({ last_session_id: sessionId }, { limit: 10 })) {
      const campaign = await this.#campaigns.find(contact.campaign_id);
      const isOver = (!campaign || isFinished(campaign.status)) && FINISHED_CONTACTS.includes(contact.status);
      await this.#contacts.change(
        { _id: contact._id, last_session_id: sessionId },
        {
          goal_status: null,
          ...(isOver && {
            ...{ phone_number: null, unique_number: null, name: null, external_id: null, timezone: null },
            ...{ words: nameWords(null), variables: {} },
          }),
        },
      );
    }
  }

  /** Whom to add, and who is none to add, and why. */
  async #sorted(
    campaign: CampaignRecord,
    people: readonly AddedPerson[],
  ): Promise<{
    fresh: { index: number; person: AddedPerson }[];
    skipped: SkippedContact[];
  }> {
    const numbered = people.map((person) => ({ ...person, phone_number: numberOf(person) }));
    const numbers = numbered.flatMap(({ phone_number }) => phone_number ?? []);
    const at = { orgId: campaign.org_id, projectId: campaign.project_id };
    const externalIds = numbered.flatMap((one) => one.external_id ?? []);
    const [suppressed, known] = await Promise.all([
      campaign.skip_suppressed ? this.#suppressions.blocks(at, numbers) : new Set<string>(),
      this.#known(campaign, numbers, externalIds),
    ]);
    const fresh: { index: number; person: AddedPerson }[] = [];
    const skipped: SkippedContact[] = [];
    for (const [index, person] of numbered.entries()) {
      const { phone_number, external_id } = person;
      const isDouble =
        (campaign.deduplicate && phone_number !== null && known.numbers.has(phone_number)) ||
        (external_id !== null && known.externalIds.has(external_id));
      if (phone_number === null) skipped.push({ index, reason: 'invalid_number' });
      else if (isDouble) skipped.push({ index, reason: 'duplicate' });
      else if (suppressed.has(phone_number)) skipped.push({ index, reason: 'suppressed' });
      else {
        fresh.push({ index, person: { ...person, phone_number } });
        known.numbers.add(phone_number);
        if (external_id !== null) known.externalIds.add(external_id);
      }
    }
    return { fresh, skipped };
  }

  /** Those numbers and ids that the campaign has. */
  async #known(campaign: CampaignRecord, numbers: string[], externalIds: string[]) {
    const campaign_id = campaign._id;
    const model = this.#database.model(contactCollection);
    const [byNumber, byId] = await Promise.all([
      campaign.deduplicate
        ? model
            .find({ campaign_id, unique_number: { $in: numbers } })
            .select({ unique_number: 1 })
            .lean<{ unique_number: string }[]>()
        : [],
      externalIds.length > 0
        ? model
            .find({ campaign_id, external_id: { $in: externalIds } })
            .select({ external_id: 1 })
            .lean<{ external_id: string }[]>()
        : [],
    ]);
    return {
      numbers: new Set(byNumber.map(({ unique_number }) => unique_number)),
      externalIds: new Set(byId.map(({ external_id }) => external_id)),
    };
  }

  /** Those ids of contacts that there are. */
  async existing(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const found = await this.#database
      .model(contactCollection)
      .find({ _id: { $in: ids } })
      .select({ _id: 1 })
      .lean<{ _id: string }[]>();
    return new Set(found.map(({ _id }) => _id));
  }

  /** @returns the campaign as it is now */
  async #checkRoom(campaign: CampaignRecord, more: number): Promise<CampaignRecord> {
    const now = (await this.#campaigns.find(campaign._id)) ?? campaign;
    if (now.counters.total + more <= CONTACTS_PER_CAMPAIGN) return now;
    throw new ConflictError(
      'limit_reached',
      `A campaign has at most ${CONTACTS_PER_CAMPAIGN} contacts. Make another one.`,
    );
  }
}

/** @throws ConflictError `invalid_state` for a campaign that takes no further contacts */
export function checkOpen(campaign: Pick<CampaignRecord, 'status' | 'kind'>): void {
  if (isFinished(campaign.status))
    throw new ConflictError('invalid_state', 'The campaign is over: it takes no contacts.');
  if (campaign.kind === 'single')
    throw new ConflictError('invalid_state', 'The campaign is for one call: it takes no contacts.');
}

/** In E.164. */
function numberOf({ phone_number, valid }: AddedPerson): string | null {
  if (valid !== undefined) return valid ? phone_number : null;
  return toE164(phone_number) ?? null;
}

function checkWaiting({ status, removed }: Pick<ContactRecord, 'status' | 'removed'>): void {
  if (!WAITING_CONTACTS.includes(status) || removed) throw notWaiting();
}

function notWaiting(): ConflictError {
  return new ConflictError(
    'invalid_state',
    'Only a contact that waits for a call (pending, waiting_retry) can be changed or deleted.',
  );
}
