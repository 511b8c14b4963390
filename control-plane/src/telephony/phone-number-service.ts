import { parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { ConflictError, NotFoundError, type ErrorRef } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { AuditLog } from '../audit/audit-trail.ts';
import {
  NUMBER_TYPES,
  type AvailableNumber,
  type CarrierNumbers,
  type NumberSearch,
} from '../carriers/carrier-numbers.ts';
import { CarrierError, type Carrier } from '../carriers/carrier.ts';
import { commonFilter, equalities, type AnyOf, type ListInput } from '../http/list-query.ts';
import { invalid } from '../http/validation.ts';
import { checkRoom } from '../tenancy/record-limit.ts';
import type { Access } from '../tenancy/access.ts';
import type { Principal } from '../tenancy/principal.ts';
import type { Scope } from '../tenancy/scope.ts';
import { orDuplicate } from '../storage/duplicate.ts';
import type { Database } from '../storage/database.ts';
import { defined } from '../storage/defined.ts';
import { CarrierFailure } from './carrier-failure.ts';
import { inboundDeploymentCollection } from './inbound-deployment-model.ts';
import type { InboundDeploymentRecord } from './inbound-deployment-model.ts';
import { CHECK_MS, type NumberProvisioning } from './number-provisioning.ts';
import { phoneNumberCollection } from './phone-number-model.ts';
import type { PhoneNumberRecord } from './phone-number-model.ts';
import { telephonyAccountCollection } from './telephony-account-model.ts';
import type { TelephonyAccountRecord } from './telephony-account-record.ts';

/** What it writes to the audit trail. */
export const NUMBER_AUDIT = ['phone_number.bought', 'phone_number.released'] as const;

/** Of the numbers that a search for one gives, it is one of the first. */
const LOOK_AMONG = 20;

export interface NewNumber {
  telephony_account_id: string;
  phone_number: string;
  label?: string | undefined;
  outbound_enabled?: boolean | undefined;
  daily_call_limit?: number | null | undefined;
}

export type NumberPatch = Pick<NewNumber, 'label' | 'outbound_enabled' | 'daily_call_limit'> & {
  project_id?: string | undefined;
};

/** Who asks for something that the audit trail tells. */
export interface NumberCaller {
  caller: Principal;
  address: string;
}

/** Wallets: `Wallets`. */
export interface NumberFunds {
  /** @throws PaymentRequiredError where a prepaid wallet has nothing, or not as much */
  requireFunds(orgId: string, least?: { amount: string; currency: string }): Promise<void>;
}

/** What holds a number in place besides deployments, such as campaigns that are not over: at most 20. */
export type NumberUses = (scope: Scope, numberId: string) => Promise<ErrorRef[]>;

/** Numbers of projects: searched, bought, imported, moved, and given back. */
export class PhoneNumberService {
  readonly #database: Database;
  readonly #accounts: { open(accountId: string): Promise<Carrier | null> };
  readonly #provisioning: NumberProvisioning;
  readonly #funds: NumberFunds;
  readonly #uses: NumberUses;
  readonly #audit: AuditLog<(typeof NUMBER_AUDIT)[number]>;
  readonly #clock: Clock;

  constructor(deps: {
    database: Database;
    accounts: { open(accountId: string): Promise<Carrier | null> };
    provisioning: NumberProvisioning;
    funds: NumberFunds;
    uses: NumberUses;
    audit: AuditLog<(typeof NUMBER_AUDIT)[number]>;
    clock: Clock;
  }) {
    this.#database = deps.database;
    this.#accounts = deps.accounts;
    this.#provisioning = deps.provisioning;
    this.#funds = deps.funds;
    this.#uses = deps.uses;
    this.#audit = deps.audit;
    this.#clock = deps.clock;
  }

  list(scope: Scope, list: ListInput & AnyOf<PhoneNumberRecord, 'status' | 'provider' | 'country'>) {
    const { status, provider, country } = list;
    return scope
      .collection(phoneNumberCollection)
      .page({ ...commonFilter(list), ...equalities({ status, provider, country }) }, list);
  }

  /** What the carrier of an account sells. @throws ValidationError; ConflictError; CarrierFailure */
  async available(
    access: Access,
    scope: Scope,
    accountId: string,
    search: NumberSearch,
  ): Promise<AvailableNumber[]> {
    const account = await this.#account(access, scope, accountId, 'query');
    const numbers = await this.#numbers(account);
    return orFailure(numbers.search(search));
  }

  /**
   * Takes a number over that the account has, and sets its webhooks to ours.
   * @throws ValidationError; ConflictError `duplicate` when the number is in use, here or elsewhere, `invalid_state`
   *   when the carrier has not confirmed the account, or knows no such number of it; CarrierFailure
   */
  async import(access: Access, scope: Scope, request: NewNumber): Promise<PhoneNumberRecord> {
    const { account, fields } = await this.#prepare(access, scope, request);
    const numbers = await this.#numbers(account);
    const number = await this.#insert(scope, { ...fields, origin: 'imported' });
    try {
      await numbers.configure(number.phone_number, this.#provisioning.webhooks(number));
    } catch (error) {
      // Nothing is left of it; a process that died here leaves it to be finished.
      await this.#database.model(phoneNumberCollection).deleteOne({ _id: number._id });
      if (error instanceof CarrierError && error.status === 404)
        throw new ConflictError('invalid_state', 'The telephony account has no such number at its carrier.');
      throw error instanceof CarrierError ? new CarrierFailure(error) : error;
    }
    const set = { status: 'active', due_at: new Date(this.#clock.now() + CHECK_MS) } as const;
    return (
      (await scope.collection(phoneNumberCollection).update({ _id: number._id }, { $set: set })) ?? number
    );
  }

  /**
   * Orders a number of those that are for sale. What comes of it shows in its state.
   * @throws as `import`; PaymentRequiredError; ConflictError `conflict` when the carrier does not sell it
   */
  async buy(access: Access, scope: Scope, request: NewNumber, by: NumberCaller): Promise<PhoneNumberRecord> {
    const { account, fields } = await this.#prepare(access, scope, request);
    const numbers = await this.#numbers(account);
    await this.#funds.requireFunds(scope.orgId);
    const offer = await this.#offer(numbers, fields);
    if (!offer) throw new ConflictError('conflict', 'The carrier does not sell this number (any more).');
    const { setupAmount: amount, monthlyAmount: monthly_amount, currency } = offer;
    if (amount !== null && currency !== null)
      await this.#funds.requireFunds(scope.orgId, { amount, currency });
    const number = await this.#insert(scope, {
      ...{ ...fields, origin: 'bought', monthly_amount, currency },
      type: offer.type ?? fields.type,
    });
    const entry = { orgId: scope.orgId, action: 'phone_number.bought', target: number._id } as const;
    await this.#audit.record({ ...entry, ...by });
    this.#provisioning.wake();
    return number;
  }

  /**
   * @param access of the caller: a number moves only to a project that they may change
   * @throws ConflictError `resource_in_use`, `invalid_state`; ValidationError `reference_not_found`
   */
  async change(
    access: Access,
    scope: Scope,
    number: PhoneNumberRecord,
    patch: NumberPatch,
  ): Promise<PhoneNumberRecord> {
    const { project_id: projectId, ...rest } = patch;
    const moves = projectId !== undefined && projectId !== number.project_id;
    if (moves) await this.#checkMove(access, scope, number, projectId);
    const set = { ...defined(rest), ...(moves && { project_id: projectId }) };
    // Behind the checks, and of the project that they were made for.
    const changed = await this.#database
      .model(phoneNumberCollection)
      .findOneAndUpdate(
        { _id: number._id, org_id: scope.orgId, project_id: number.project_id },
        { $set: set },
        { returnDocument: 'after' },
      )
      .lean<PhoneNumberRecord>();
    if (!changed) throw new ConflictError('conflict', 'The phone number was changed meanwhile. Retry.');
    return changed;
  }

  /**
   * Gives a number back that was bought, in a while; forgets one that was imported, at once.
   * @returns the number while it is being released; null when it is forgotten
   * @throws ConflictError `resource_in_use`, `invalid_state`; CarrierFailure
   */
  async release(
    scope: Scope,
    number: PhoneNumberRecord,
    by: NumberCaller,
  ): Promise<PhoneNumberRecord | null> {
    await this.#checkUnused(scope, number);
    if (number.status !== 'active' && number.status !== 'suspended')
      throw new ConflictError('invalid_state', `The phone number is ${number.status}.`);
    if (number.origin === 'imported') await this.#clear(number);
    const now = new Date(this.#clock.now());
    const set =
      number.origin === 'bought'
        ? { status: 'releasing', due_at: now, status_reason: null }
        : { status: 'released', active_number: null, released_at: now, due_at: null };
    const changed = await scope
      .collection(phoneNumberCollection)
      .update({ _id: number._id, status: { $in: ['active', 'suspended'] } }, { $set: set as object });
    if (!changed) throw new ConflictError('invalid_state', 'The phone number has already been released.');
    const entry = { orgId: scope.orgId, action: 'phone_number.released', target: number._id } as const;
    await this.#audit.record({ ...entry, ...by });
    if (number.origin === 'imported') return null;
    this.#provisioning.wake();
    return changed;
  }

  /** The deployment of the number: the active one, else one that is paused. */
  async boundTo(numberId: string): Promise<InboundDeploymentRecord | null> {
    const [bound] = await this.#database
      .model(inboundDeploymentCollection)
      .find({ phone_number_id: numberId })
      .sort({ status: 1, created_at: -1 })
      .limit(1)
      .lean<InboundDeploymentRecord[]>();
    return bound ?? null;
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

  /** The number of an account that calls come to. */
  findActive(accountId: string, phoneNumber: string): Promise<PhoneNumberRecord | null> {
    return this.#database
      .model(phoneNumberCollection)
      .findOne({ active_number: phoneNumber, telephony_account_id: accountId })
      .lean<PhoneNumberRecord>();
  }

  async #prepare(access: Access, scope: Scope, request: NewNumber) {
    const account = await this.#account(access, scope, request.telephony_account_id, 'body');
    const parsed = parsePhoneNumberFromString(request.phone_number);
    if (!parsed?.isValid() || !parsed.country)
      throw invalid(['body', 'phone_number'], 'must be a valid number of its country');
    await checkRoom(scope.collection(phoneNumberCollection), { active_number: { $ne: null } });
    const type = TYPES[parsed.getType() ?? ''] ?? 'local';
    const { phone_number, label = '', outbound_enabled = true, daily_call_limit = null } = request;
    const { _id: telephony_account_id, provider } = account;
    const { country } = parsed;
    const ofAccount = { telephony_account_id, provider, phone_number, country, type };
    return { account, fields: { ...ofAccount, label, outbound_enabled, daily_call_limit } };
  }

  #insert(
    scope: Scope,
    fields: Pick<
      PhoneNumberRecord,
      | 'telephony_account_id'
      | 'provider'
      | 'phone_number'
      | 'label'
      | 'outbound_enabled'
      | 'daily_call_limit'
      | 'country'
      | 'type'
      | 'origin'
      | 'monthly_amount'
      | 'currency'
    >,
  ): Promise<PhoneNumberRecord> {
    const now = this.#clock.now();
    return orDuplicate(
      scope.collection(phoneNumberCollection).insert({
        _id: newId('phn', now),
        ...fields,
        active_number: fields.phone_number,
        capabilities: ['voice'],
        status: 'provisioning',
        // An import is finished by its request; by the provisioning only when the process died.
        due_at: new Date(fields.origin === 'bought' ? now : now + IMPORT_MS),
        released_at: null,
      }),
      'The phone number is already in use.',
    );
  }

  /** @throws ValidationError `reference_not_found`; ConflictError `invalid_state` */
  async #account(
    access: Access,
    scope: Scope,
    accountId: string,
    where: 'query' | 'body',
  ): Promise<TelephonyAccountRecord> {
    const account = await access.item(telephonyAccountCollection, accountId).catch((error: unknown) => {
      if (error instanceof NotFoundError) return null;
      throw error;
    });
    const open = account?.item.project_ids ?? null;
    const projectId = scope.projectIdOrNull;
    const isForeign = open !== null && projectId !== null && !open.includes(projectId);
    if (!account || account.item.org_id !== scope.orgId || isForeign)
      throw invalid(
        [where, 'telephony_account_id'],
        'Record not found in this project',
        'reference_not_found',
      );
    const { status } = account.item;
    if (status !== 'active')
      throw new ConflictError('invalid_state', `The telephony account is ${status}. Verify it first.`);
    return account.item;
  }

  async #numbers(account: TelephonyAccountRecord): Promise<CarrierNumbers> {
    const numbers = (await this.#accounts.open(account._id))?.numbers;
    if (!numbers)
      throw invalid(
        ['body', 'telephony_account_id'],
        'is of a carrier whose numbers are set up by hand',
        'not_available',
      );
    return numbers;
  }

  /** The number as it is for sale, with its price. */
  async #offer(
    numbers: CarrierNumbers,
    { phone_number, country, type }: Pick<PhoneNumberRecord, 'phone_number' | 'country' | 'type'>,
  ): Promise<AvailableNumber | undefined> {
    // How a carrier files a number is its own affair: the likely kind comes first.
    for (const kind of new Set([type, ...NUMBER_TYPES])) {
      const search = { country, type: kind, areaCode: null, contains: phone_number, limit: LOOK_AMONG };
      const found = await orFailure(numbers.search(search));
      const offer = found.find(({ phoneNumber }) => phoneNumber === phone_number);
      if (offer) return offer;
    }
    return undefined;
  }

  async #checkMove(
    access: Access,
    scope: Scope,
    number: PhoneNumberRecord,
    projectId: string,
  ): Promise<void> {
    await this.#checkUnused(scope, number);
    const target = await access.projectFromBody(projectId, { orgId: scope.orgId, role: 'admin' });
    await this.#account(access, target, number.telephony_account_id, 'body');
    await checkRoom(target.collection(phoneNumberCollection), { active_number: { $ne: null } });
  }

  /** @throws ConflictError `resource_in_use` */
  async #checkUnused(scope: Scope, number: PhoneNumberRecord): Promise<void> {
    const bound = await this.boundTo(number._id);
    const refs = [
      ...(bound ? [{ type: 'inbound_deployment', id: bound._id, name: bound.name }] : []),
      ...(await this.#uses(scope, number._id)),
    ];
    if (refs.length === 0) return;
    throw new ConflictError(
      'resource_in_use',
      'The phone number is in use. Delete or end what uses it first.',
      { refs },
    );
  }

  /** Webhooks of a number that is forgotten; an account that the carrier refuses keeps nobody from forgetting. */
  async #clear(number: PhoneNumberRecord): Promise<void> {
    const carrier = await this.#accounts.open(number.telephony_account_id);
    try {
      await carrier?.numbers?.clear(number.phone_number, this.#provisioning.webhooks(number));
    } catch (error) {
      if (!(error instanceof CarrierError)) throw error;
      if (error.code !== 'auth' && error.code !== 'refused') throw new CarrierFailure(error);
    }
  }
}

/** How long the request of an import may take before it counts as dead. */
const IMPORT_MS = 120_000;

async function orFailure<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof CarrierError ? new CarrierFailure(error) : error;
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
