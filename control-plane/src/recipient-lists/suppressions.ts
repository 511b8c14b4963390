import { createHash } from 'node:crypto';
import type { Model } from 'mongoose';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import { doNotCallId, recipientCollection, recipientListCollection } from './recipient-list-model.ts';
import type { RecipientListRecord, RecipientRecord } from './recipient-list-model.ts';

/** Numbers that an org must not call. Asked wherever campaigns and start-calls dial. */
export class Suppressions {
  readonly #lists: Model<RecipientListRecord>;
  readonly #recipients: Model<RecipientRecord>;

  constructor({ database }: { database: Database }) {
    this.#lists = database.model(recipientListCollection);
    this.#recipients = database.model(recipientCollection);
  }

  /**
   * Those of `numbers` (E.164) that stand in the org's own list, or in a suppression list of the project.
   * A transfer is no call of this kind: its target is a person the agent's makers have named.
   */
  async blocks(
    at: { orgId: string; projectId: string },
    numbers: readonly string[],
  ): Promise<ReadonlySet<string>> {
    if (numbers.length === 0) return new Set();
    const found = await this.#recipients
      .find({
        org_id: at.orgId,
        phone_number: { $in: [...numbers] },
        project_id: { $in: [null, at.projectId] },
        kind: { $ne: 'recipients' },
      })
      .select({ phone_number: 1 })
      .lean<Pick<RecipientRecord, 'phone_number'>[]>();
    return new Set(found.map(({ phone_number }) => phone_number));
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
    const list_id = await this.ensure(session.org_id);
    try {
      const Recipient = this.#recipients;
      await new Recipient({
        _id: `rcp_${createHash('sha256').update(event.id).digest('hex').slice(0, 26)}`,
        org_id: session.org_id,
        project_id: null,
        list_id,
        kind: 'suppression',
        phone_number,
        reason: event.reason,
        source: 'agent',
        added_by: session.agent_id,
        session_id: session._id,
      }).save();
    } catch (error) {
      // The same event again, or a number that is there.
      if (!isDuplicateKey(error)) throw error;
    }
    await this.#recipients.updateMany(
      { org_id: session.org_id, phone_number, kind: 'recipients', status: 'valid' },
      { $set: { status: 'opted_out' } },
    );
  }
}
