import type { Model } from 'mongoose';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { CarrierComplaint } from '../carriers/carrier-complaints.ts';
import type { SecretBox } from '../crypto/secret-box.ts';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import type { ComplaintAccount } from './complaint-accounts.ts';
import { proofDeadline } from './complaint-deadline.ts';
import { COMPLAINT_TRANSITIONS, toldEvent, type ComplaintState } from './complaint-states.ts';
import { uccComplaintCollection, type UccComplaintRecord } from './ucc-complaint-model.ts';

/** The org's own list of numbers that are not called: `Suppressions`. */
export interface DoNotCallList {
  /** @param number E.164; one that is there already stays as it is */
  addComplainant(orgId: string, number: string): Promise<void>;
}

/** Two who write the same complaint take turns; more than so many never are. */
const MAX_ATTEMPTS = 20;
const E164 = /^\+[1-9]\d{6,14}$/;

/** What carriers tell of complaints becomes records, however often and by whatever way it is told. */
export class ComplaintIntake {
  readonly #complaints: Model<UccComplaintRecord>;
  readonly #doNotCall: DoNotCallList;
  readonly #box: SecretBox;
  readonly #clock: Clock;

  constructor(deps: { database: Database; doNotCall: DoNotCallList; box: SecretBox; clock: Clock }) {
    this.#complaints = deps.database.model(uccComplaintCollection);
    this.#doNotCall = deps.doNotCall;
    this.#box = deps.box;
    this.#clock = deps.clock;
  }

  /** A complaint as the carrier lists it, or as its callback tells of it. */
  async take(
    account: Pick<ComplaintAccount, '_id' | 'org_id' | 'provider'>,
    told: CarrierComplaint,
    by: 'list' | 'callback',
  ): Promise<void> {
    const of = { telephony_account_id: account._id, reference_id: told.referenceId };
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const known = await this.#complaints.findOne(of).lean<UccComplaintRecord>();
      // Before it is stored: if this process dies in between, the carrier is asked again. Once an admin has taken the
      // number off the list, the same complaint does not put it back.
      const complainant = told.toNumber !== known?.to_number ? told.toNumber : null;
      if (complainant !== null && E164.test(complainant))
        await this.#doNotCall.addComplainant(account.org_id, complainant);
      const done = known ? await this.#change(known, told, by) : await this.#insert(account, told, by);
      if (done) return;
    }
    throw new Error('The complaint was changed by others again and again.');
  }

  /** Those whose deadline has passed without a proof. */
  async expire(): Promise<void> {
    await this.#complaints.updateMany(
      { status: 'pending', deadline_at: { $lte: new Date(this.#clock.now()) } },
      { $set: { status: COMPLAINT_TRANSITIONS.pending.deadline_passed } },
    );
  }

  /** @returns false when somebody else was faster */
  async #insert(
    account: Pick<ComplaintAccount, '_id' | 'org_id' | 'provider'>,
    told: CarrierComplaint,
    by: 'list' | 'callback',
  ): Promise<boolean> {
    const now = this.#clock.now();
    const deadline = told.deadlineAt ?? proofDeadline(now);
    try {
      const Complaint = this.#complaints;
      await new Complaint({
        _id: newId('ucc', now),
        org_id: account.org_id,
        telephony_account_id: account._id,
        provider: account.provider,
        reference_id: told.referenceId,
        ...toldFields(told),
        status: this.#next('pending', told, deadline),
        deadline_at: deadline,
        raw: this.#seal(told.raw),
        ...this.#callback(told, by),
      }).save();
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  /** @returns false when somebody else was faster */
  async #change(
    known: UccComplaintRecord,
    told: CarrierComplaint,
    by: 'list' | 'callback',
  ): Promise<boolean> {
    const deadline_at = told.deadlineAt ?? known.deadline_at;
    const next: Partial<UccComplaintRecord> = {
      ...Object.fromEntries(Object.entries(toldFields(told)).filter(([, value]) => value !== null)),
      status: this.#next(known.status, told, deadline_at),
      deadline_at,
      ...(!this.#holds(known.raw, told.raw) && { raw: this.#seal(told.raw) }),
      ...this.#callback(told, by),
    };
    const set = Object.fromEntries(
      Object.entries(next).filter(([name, value]) => !isSame(known[name as keyof UccComplaintRecord], value)),
    );
    if (Object.keys(set).length === 0) return true;
    const { _id, status, updated_at } = known;
    const { matchedCount } = await this.#complaints.updateOne({ _id, status, updated_at }, { $set: set });
    return matchedCount === 1;
  }

  #next(status: ComplaintState, told: CarrierComplaint, deadline: Date): ComplaintState {
    const event = toldEvent(told.status);
    const next = event ? COMPLAINT_TRANSITIONS[status][event] : status;
    return deadline.getTime() <= this.#clock.now() ? COMPLAINT_TRANSITIONS[next].deadline_passed : next;
  }

  #callback(told: CarrierComplaint, by: 'list' | 'callback'): Partial<UccComplaintRecord> {
    if (by === 'list') return {};
    return { last_callback_status: told.status, last_callback_at: new Date(this.#clock.now()) };
  }

  #seal(raw: CarrierComplaint['raw']): string | null {
    return Object.keys(raw).length === 0 ? null : this.#box.encryptSecret(JSON.stringify(raw));
  }

  #holds(sealed: string | null, raw: CarrierComplaint['raw']): boolean {
    if (sealed === null) return Object.keys(raw).length === 0;
    return this.#box.decryptSecret(sealed) === JSON.stringify(raw);
  }
}

function toldFields(told: CarrierComplaint) {
  return {
    from_number: told.fromNumber,
    to_number: told.toNumber,
    initiation_date: told.initiationDate,
    complaint_category: told.category,
    call_uuid: told.callUuid,
    opt_in_proof_url: told.proofUrl,
    rejection_reason: told.rejectionReason,
  };
}

function isSame(one: unknown, other: unknown): boolean {
  return one instanceof Date && other instanceof Date ? one.getTime() === other.getTime() : one === other;
}
