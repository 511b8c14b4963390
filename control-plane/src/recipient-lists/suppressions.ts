import { createHash } from 'node:crypto';
import type { Model } from 'mongoose';
import { Batches, done } from '@parley/shared/async/batches';
import { newId } from '@parley/shared/ids/new-id';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import { doNotCallId, recipientCollection, recipientListCollection } from './recipient-list-model.ts';
import type { RecipientListRecord, RecipientRecord } from './recipient-list-model.ts';

/** Numbers that are asked for by one query. */
const MAX_BATCH = 500;

/** A number, and who wants to call it. */
interface CalledNumber {
  orgId: string;
  projectId: string;
  number: string;
}

/** Numbers that an org must not call. Asked wherever campaigns and start-calls dial. */
export class Suppressions {
  readonly #lists: Model<RecipientListRecord>;
  readonly #recipients: Model<RecipientRecord>;
  readonly #asked: Batches<CalledNumber, boolean>;

  constructor({ database }: { database: Database }) {
    this.#lists = database.model(recipientListCollection);
    this.#recipients = database.model(recipientCollection);
    this.#asked = new Batches({ maxBatch: MAX_BATCH, send: (numbers) => this.#look(numbers) });
  }

  /**
   * Those of `numbers` (E.164) that stand in the org's own list, or in a suppression list of the project.
   */
  async blocks(
    at: { orgId: string; projectId: string },
    numbers: readonly string[],
  ): Promise<ReadonlySet<string>> {
    const blocked = await Promise.all(numbers.map((number) => this.#asked.add({ ...at, number })));
    return new Set(numbers.filter((_, i) => blocked[i]));
  }

  /** Whether each stands in a list that holds for it. */
  async #look(numbers: readonly CalledNumber[]): Promise<PromiseSettledResult<boolean>[]> {
    const found = await this.#recipients.collection
      .find<Pick<RecipientRecord, 'org_id' | 'project_id' | 'phone_number'>>(
        {
          org_id: { $in: [...new Set(numbers.map(({ orgId }) => orgId))] },
          phone_number: { $in: [...new Set(numbers.map(({ number }) => number))] },
          kind: { $ne: 'recipients' },
        },
        { projection: { org_id: 1, project_id: 1, phone_number: 1 } },
      )
      .toArray();
    return numbers.map(({ orgId, projectId, number }) =>
      done(
        found.some(
          ({ org_id, project_id, phone_number }) =>
            org_id === orgId && phone_number === number && (project_id ?? projectId) === projectId,
        ),
      ),
    );
  }

  /** Makes sure that an org has its own list. @returns its id */
  async ensure(orgId: string): Promise<string> {
    const _id = doNotCallId(orgId);
    if (await this.#lists.exists({ _id })) return _id;
    try {
      const List = this.#lists;
      await new List({
        _id,
        org_id: orgId,
        project_id: null,
        name: 'Do not call',
        kind: 'suppression',
      }).save();
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
    return _id;
  }

  /**
   * The far end of a call has asked not to be called again: lists of people show it, too.
   * @param event told once or several times: it counts once
   */
  async addFromCall(session: SessionRecord, event: { id: string; reason: string }): Promise<void> {
    const phone_number = session.direction === 'inbound' ? session.from_number : session.to_number;
    if (phone_number === null || session.test_run_id !== null) return;
    await this.#add({
      _id: `rcp_${createHash('sha256').update(event.id).digest('hex').slice(0, 26)}`,
      org_id: session.org_id,
      phone_number,
      reason: event.reason,
      source: 'agent',
      added_by: session.agent_id,
      session_id: session._id,
    });
  }

  /**
   * The carrier tells of somebody who complains about a call: lists of people show it, too.
   * @param number E.164; one that is there already stays as it is
   */
  addComplainant(orgId: string, number: string): Promise<void> {
    return this.#add({
      _id: newId('rcp'),
      org_id: orgId,
      phone_number: number,
      reason: 'Complained about an unsolicited call.',
      source: 'carrier',
      added_by: null,
      session_id: null,
    });
  }

  async #add(
    entry: Pick<
      RecipientRecord,
      '_id' | 'org_id' | 'phone_number' | 'reason' | 'source' | 'added_by' | 'session_id'
    >,
  ): Promise<void> {
    const { org_id, phone_number } = entry;
    const list_id = await this.ensure(org_id);
    try {
      const Recipient = this.#recipients;
      await new Recipient({ ...entry, project_id: null, list_id, kind: 'suppression' }).save();
    } catch (error) {
      // The same event again, or a number that is there.
      if (!isDuplicateKey(error)) throw error;
    }
    await this.#recipients.updateMany(
      { org_id, phone_number, kind: 'recipients', status: 'valid' },
      { $set: { status: 'opted_out' } },
    );
  }
}
