import type { CarrierName } from '@parley/shared/contracts/session-values';
import { AppError, ConflictError } from '@parley/shared/errors/app-error';
import type { Clock } from '@parley/shared/time/clock';
import type { CallbackSignatures } from '../carriers/callback-signatures.ts';
import type { CarrierComplaint, CarrierComplaints, ProofFile } from '../carriers/carrier-complaints.ts';
import { carrierFailure } from '../carriers/carrier-failure.ts';
import {
  CarrierError,
  CarrierProtocolError,
  type CarrierDocument,
  type CarrierRequest,
} from '../carriers/carrier.ts';
import { commonFilter, equalities, type AnyOf, type ListInput } from '../http/list-query.ts';
import type { ListPage } from '../storage/list.ts';
import type { Scope } from '../tenancy/scope.ts';
import type { ComplaintAccounts } from './complaint-accounts.ts';
import type { ComplaintFeed } from './complaint-feed.ts';
import type { ComplaintIntake } from './complaint-intake.ts';
import { COMPLAINT_TRANSITIONS, takesProof } from './complaint-states.ts';
import type { ProofDocuments } from './proof-documents.ts';
import { uccComplaintCollection, type UccComplaintRecord } from './ucc-complaint-model.ts';

/** Of the answer to a sync. */
const SYNC_ITEMS = 200;
/** A client waits for it. */
const SYNC_MS = 60_000;

/** Complaints about unsolicited calls: pulled from carriers, listed, and answered with proofs of consent. */
export class UccComplaintService {
  readonly #accounts: ComplaintAccounts;
  readonly #intake: ComplaintIntake;
  readonly #feed: ComplaintFeed;
  readonly #documents: ProofDocuments;
  readonly #signatures: CallbackSignatures;
  readonly #clock: Clock;

  constructor(deps: {
    accounts: ComplaintAccounts;
    intake: ComplaintIntake;
    feed: ComplaintFeed;
    documents: ProofDocuments;
    signatures: CallbackSignatures;
    clock: Clock;
  }) {
    this.#accounts = deps.accounts;
    this.#intake = deps.intake;
    this.#feed = deps.feed;
    this.#documents = deps.documents;
    this.#signatures = deps.signatures;
    this.#clock = deps.clock;
  }

  async list(
    scope: Scope,
    list: ListInput &
      AnyOf<UccComplaintRecord, 'status' | 'from_number' | 'to_number' | 'telephony_account_id'>,
  ): Promise<ListPage<UccComplaintRecord>> {
    const { status, from_number, to_number, telephony_account_id } = list;
    const asked = equalities({ status, from_number, to_number, telephony_account_id });
    return this.#page(scope, { ...commonFilter(list), ...asked }, list);
  }

  /**
   * Pulls the complaints of all accounts at the carrier that the scope may see. One that fails does not keep the others
   * from being pulled.
   * @returns the complaints of that carrier that are known then, those that changed last first
   * @throws AppError 502 `provider_error`, 504 `provider_timeout` when not all could be pulled
   */
  async sync(scope: Scope, carrier: CarrierName, signal: AbortSignal): Promise<ListPage<UccComplaintRecord>> {
    const accounts = await this.#accounts.seenBy(scope, carrier);
    const asked = accounts.filter(({ status }) => status !== 'disabled');
    const failure = await this.#feed.pull(asked, this.#clock.now() + SYNC_MS, signal);
    if (failure) throw carrierFailure(failure);
    return this.#page(scope, { provider: carrier }, { limit: SYNC_ITEMS, offset: 0, sort: '-updated_at' });
  }

  /**
   * Hands a proof of consent to the carrier.
   * @throws ConflictError `invalid_state` after a decision or the deadline; ValidationError for an address that leads to
   *   no proof; AppError 502 `provider_error`, 504 `provider_timeout`
   */
  async prove(
    scope: Scope,
    complaint: UccComplaintRecord,
    proof: { url: string } | { file: ProofFile },
    signal: AbortSignal,
  ): Promise<UccComplaintRecord> {
    const feed = await this.#openForProof(complaint);
    const url = 'url' in proof ? proof.url : null;
    const file = 'file' in proof ? proof.file : await this.#documents.fetch(proof.url, scope.orgId, signal);
    try {
      await feed.submitProof(complaint.reference_id, file, signal);
    } catch (error) {
      if (error instanceof CarrierError) throw carrierFailure(error);
      throw error;
    }
    return scope.collection(uccComplaintCollection).change(complaint, ['status'], ({ status }) =>
      Promise.resolve({
        status: COMPLAINT_TRANSITIONS[status].proof_taken,
        opt_in_proof_url: url,
        rejection_reason: null,
      }),
    );
  }

  /** @throws ForbiddenError for bad signatures; AppError 400 `bad_request` for what tells of no complaint */
  async takeCallback(
    carrierName: CarrierName,
    accountId: string,
    request: CarrierRequest,
  ): Promise<CarrierDocument> {
    const {
      carrier,
      account,
      request: signed,
    } = await this.#signatures.trust(carrierName, accountId, request);
    const feed = await this.#accounts.openComplaints(accountId);
    let told: CarrierComplaint | undefined;
    try {
      told = feed?.parseCallback(signed);
    } catch (error) {
      if (!(error instanceof CarrierProtocolError)) throw error;
      throw new AppError(400, 'bad_request', error.message, { cause: error });
    }
    if (told) await this.#intake.take(account, told, 'callback');
    return carrier.acknowledge();
  }

  /** @throws ConflictError */
  async #openForProof({
    status,
    deadline_at,
    telephony_account_id,
  }: UccComplaintRecord): Promise<CarrierComplaints> {
    if (deadline_at.getTime() <= this.#clock.now())
      throw new ConflictError('invalid_state', 'The deadline for a proof has passed.');
    if (!takesProof(status))
      throw new ConflictError(
        'invalid_state',
        `The complaint is ${status}: it takes a proof while it is pending or rejected.`,
      );
    const feed = await this.#accounts.openComplaints(telephony_account_id);
    if (feed) return feed;
    throw new ConflictError('invalid_state', 'The telephony account of the complaint has been deleted.');
  }

  /** Complaints belong to whom their account is open to. */
  async #page(
    scope: Scope,
    filter: Record<string, unknown>,
    list: ListInput,
  ): Promise<ListPage<UccComplaintRecord>> {
    const filters = [filter];
    if (scope.projects !== null) {
      const accounts = await this.#accounts.seenBy(scope);
      filters.push({ telephony_account_id: { $in: accounts.map(({ _id }) => _id) } });
    }
    return scope.collection(uccComplaintCollection).page({ $and: filters }, list, ['raw']);
  }
}
