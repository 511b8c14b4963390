import { parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { ConflictError, NotFoundError } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import { commonFilter, equalities, type AnyOf, type ListInput } from '../http/list-query.ts';
import { invalid } from '../http/validation.ts';
import { checkRoom } from '../tenancy/record-limit.ts';
import type { Access } from '../tenancy/access.ts';
import type { Scope } from '../tenancy/scope.ts';
import { orDuplicate } from '../storage/duplicate.ts';
import type { Database } from '../storage/database.ts';
import { defined } from '../storage/defined.ts';
import { inboundDeploymentCollection } from './inbound-deployment-model.ts';
import { phoneNumberCollection } from './phone-number-model.ts';
import type { PhoneNumberRecord } from './phone-number-model.ts';
import { telephonyAccountCollection } from './telephony-account-model.ts';

export interface ImportNumber {
  telephony_account_id: string;
  phone_number: string;
  label?: string | undefined;
  outbound_enabled?: boolean | undefined;
  daily_call_limit?: number | null | undefined;
}

export type NumberPatch = Pick<ImportNumber, 'label' | 'outbound_enabled' | 'daily_call_limit'>;

/** Numbers that a project already has at a carrier. */
export class PhoneNumberService {
  readonly #database: Database;
  readonly #clock: Clock;

  constructor({ database, clock }: { database: Database; clock: Clock }) {
    this.#database = database;
    this.#clock = clock;
  }

  list(scope: Scope, list: ListInput & AnyOf<PhoneNumberRecord, 'status' | 'provider' | 'country'>) {
    const { status, provider, country } = list;
    return scope
      .collection(phoneNumberCollection)
      .page({ ...commonFilter(list), ...equalities({ status, provider, country }) }, list);
  }

  /**
   * @throws ValidationError; ConflictError `duplicate` when the number is in use, here or elsewhere, `invalid_state`
   *   when the carrier has not confirmed the account
   */
  async import(access: Access, scope: Scope, request: ImportNumber): Promise<PhoneNumberRecord> {
    const account = await access
      .item(telephonyAccountCollection, request.telephony_account_id)
      .catch((error: unknown) => {
        if (error instanceof NotFoundError) return null;
        throw error;
      });
    const open = account?.item.project_ids ?? null;
    if (!account || account.item.org_id !== scope.orgId || (open && !open.includes(scope.projectId))) {
      throw invalid(
        ['body', 'telephony_account_id'],
        'Record not found in this project',
        'reference_not_found',
      );
    }
    if (account.item.status !== 'active') {
      throw new ConflictError(
        'invalid_state',
        `The telephony account is ${account.item.status}. Verify it first.`,
      );
    }
    const parsed = parsePhoneNumberFromString(request.phone_number);
    if (!parsed?.isValid() || !parsed.country) {
      throw invalid(['body', 'phone_number'], 'must be a valid number of its country');
    }
    await checkRoom(scope.collection(phoneNumberCollection), { status: 'active' });
    return orDuplicate(
      scope.collection(phoneNumberCollection).insert({
        _id: newId('phn', this.#clock.now()),
        telephony_account_id: account.item._id,
        provider: account.item.provider,
        phone_number: request.phone_number,
        active_number: request.phone_number,
        country: parsed.country,
        type: TYPES[parsed.getType() ?? ''] ?? 'local',
        label: request.label ?? '',
        origin: 'imported',
        capabilities: ['voice'],
        outbound_enabled: request.outbound_enabled ?? true,
        daily_call_limit: request.daily_call_limit ?? null,
        status: 'active',
        released_at: null,
      }),
      'The phone number is already in use.',
    );
  }

  async change(scope: Scope, number: PhoneNumberRecord, patch: NumberPatch): Promise<PhoneNumberRecord> {
    const set = defined(patch);
    return (
      (await scope.collection(phoneNumberCollection).update({ _id: number._id }, { $set: set })) ?? number
    );
  }

  /** Forgets an imported number. @throws ConflictError `resource_in_use` while an agent answers it */
  async release(scope: Scope, number: PhoneNumberRecord): Promise<void> {
    const bound = await this.boundTo(number._id);
    if (bound) {
      throw new ConflictError(
        'resource_in_use',
        'An inbound deployment uses the phone number. Delete the deployment first.',
        {
          refs: [{ type: 'inbound_deployment', id: bound._id, name: bound.name }],
        },
      );
    }
    const released = await scope
      .collection(phoneNumberCollection)
      .update(
        { _id: number._id, status: 'active' },
        { $set: { status: 'released', active_number: null, released_at: new Date(this.#clock.now()) } },
      );
    if (!released) throw new ConflictError('invalid_state', 'The phone number has already been released.');
  }

  /** The deployment that is bound to the number now. */
  boundTo(numberId: string) {
    return this.#database.model(inboundDeploymentCollection).findOne({ active_number_id: numberId }).lean();
  }

  find(numberId: string): Promise<PhoneNumberRecord | null> {
    return this.#database.model(phoneNumberCollection).findOne({ _id: numberId }).lean<PhoneNumberRecord>();
  }

  /** Those of these numbers, in this order, that calls may be made from; of no ids: all of the project, oldest first. */
  async callers(
    { orgId, projectId }: { orgId: string; projectId: string },
    ids: readonly string[],
  ): Promise<(PhoneNumberRecord & { daily_call_limit: number | null })[]> {
    const found = await this.#database
      .model(phoneNumberCollection)
      .find({
        ...{ org_id: orgId, project_id: projectId, status: 'active', outbound_enabled: { $ne: false } },
        ...(ids.length > 0 && { _id: { $in: [...ids] } }),
      })
      .sort({ created_at: 1, _id: 1 })
      .limit(100)
      .lean<PhoneNumberRecord[]>();
    if (ids.length > 0) found.sort((a, b) => ids.indexOf(a._id) - ids.indexOf(b._id));
    return found.map((number) => ({ ...number, daily_call_limit: number.daily_call_limit ?? null }));
  }

  /** The active number of an account. */
  findActive(accountId: string, phoneNumber: string): Promise<PhoneNumberRecord | null> {
    return this.#database
      .model(phoneNumberCollection)
      .findOne({ active_number: phoneNumber, telephony_account_id: accountId })
      .lean<PhoneNumberRecord>();
  }
}

const TYPES: Record<string, PhoneNumberRecord['type']> = {
  FIXED_LINE: 'local',
  FIXED_LINE_OR_MOBILE: 'local',
  MOBILE: 'mobile',
  TOLL_FREE: 'toll_free',
  UAN: 'national',
  SHARED_COST: 'national',
  VOIP: 'national',
};
