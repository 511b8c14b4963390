import { parsePhoneNumberFromString } from 'libphonenumber-js/min';
import { z } from 'zod';
import { carrierCallbackPath } from '@parley/shared/contracts/addresses';
import { CARRIERS, type CarrierName } from '@parley/shared/contracts/session-values';
import { ConflictError, ForbiddenError } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { AuditLog } from '../audit/audit-trail.ts';
import type { CarrierSource } from '../calls/carrier-commands.ts';
import type { AccountProblem } from '../carriers/account-problem.ts';
import type { CarrierComplaints } from '../carriers/carrier-complaints.ts';
import type { Carrier, CarrierOptions } from '../carriers/carrier.ts';
import { carriers } from '../carriers/carriers.ts';
import type { CalledAccount } from '../carriers/trusted-callback.ts';
import type { SecretBox } from '../crypto/secret-box.ts';
import { invalid, parseInput } from '../http/validation.ts';
import type { BackgroundWork } from '../lifecycle/background-work.ts';
import type { SessionAccounts } from '../sessions/session-choices.ts';
import type { Database } from '../storage/database.ts';
import { ExpiringCache } from '../storage/expiring-cache.ts';
import type { AnyOf, ListInput } from '../http/list-query.ts';
import { commonFilter, equalities } from '../http/list-query.ts';
import { checkRoom, RECORDS_PER_ORG } from '../tenancy/record-limit.ts';
import type { Directory } from '../tenancy/directory.ts';
import type { Principal } from '../tenancy/principal.ts';
import type { Scope } from '../tenancy/scope.ts';
import type { ComplaintAccounts } from '../ucc-complaints/complaint-accounts.ts';
import { checkAccount } from './account-check.ts';
import { AccountSpend } from './account-spend.ts';
import { phoneNumberCollection } from './phone-number-model.ts';
import { telephonyAccountCollection } from './telephony-account-model.ts';
import { accountLimits } from './telephony-account-record.ts';
import type { TelephonyAccountRecord } from './telephony-account-record.ts';

/** What it writes to the audit trail. */
export const TELEPHONY_AUDIT = ['credential.created', 'credential.changed', 'credential.deleted'] as const;

/** How late another process's change of an account may be seen. */
const KNOWN_MS = 1000;

/** How exactly it is known when a carrier's last callback came. */
const CALLED_EVERY_MS = 60_000;

/** Each is asked for at the carrier. */
const MAX_VERIFIED_NUMBERS = 10;

/** Where the carriers' APIs are, when it is not the vendors' own address. */
export type CarrierApiUrls = Partial<Record<CarrierName, string | undefined>>;

export interface AccountInput {
  name: string;
  provider: CarrierName;
  credentials: unknown;
  project_ids?: string[] | null | undefined;
  region?: string | null | undefined;
  allowed_countries?: string[] | null | undefined;
  max_concurrent_calls?: number | undefined;
  calls_per_second?: number | undefined;
  daily_spend_limit_amount?: string | null | undefined;
}

export type AccountPatch = {
  [K in keyof Omit<AccountInput, 'provider'>]?: AccountInput[K] | undefined;
} & { status?: 'active' | 'disabled' | undefined };

/** Accounts at carriers, and the signalling opened with them. */
export class TelephonyAccountService implements CarrierSource, ComplaintAccounts, SessionAccounts {
  readonly #database: Database;
  readonly #directory: Directory;
  readonly #box: SecretBox;
  readonly #audit: AuditLog<(typeof TELEPHONY_AUDIT)[number]>;
  readonly #clock: Clock;
  readonly #background: BackgroundWork;
  readonly #publicUrl: string;
  readonly #apiUrls: CarrierApiUrls;
  readonly #spend: AccountSpend;
  readonly #known: ExpiringCache<TelephonyAccountRecord | null>;
  /** Countries of an account's numbers. */
  readonly #countries: ExpiringCache<string[]>;
  /** What was opened with an account as it was read. */
  readonly #opened = new WeakMap<TelephonyAccountRecord, Carrier>();

  constructor(deps: {
    database: Database;
    directory: Directory;
    box: SecretBox;
    audit: AuditLog<(typeof TELEPHONY_AUDIT)[number]>;
    clock: Clock;
    background: BackgroundWork;
    publicUrl: string;
    apiUrls: CarrierApiUrls;
  }) {
    this.#database = deps.database;
    this.#directory = deps.directory;
    this.#box = deps.box;
    this.#audit = deps.audit;
    this.#clock = deps.clock;
    this.#background = deps.background;
    this.#publicUrl = deps.publicUrl;
    this.#apiUrls = deps.apiUrls;
    this.#spend = new AccountSpend(deps);
    this.#known = new ExpiringCache({ clock: deps.clock, ttlMs: KNOWN_MS, maxEntries: 1000 });
    this.#countries = new ExpiringCache({ clock: deps.clock, ttlMs: KNOWN_MS, maxEntries: 1000 });
  }

  list(scope: Scope, list: ListInput & AnyOf<TelephonyAccountRecord, 'provider' | 'status'>) {
    return scope
      .collection(telephonyAccountCollection)
      .page({ ...commonFilter(list), ...equalities({ provider: list.provider, status: list.status }) }, list);
  }

  async create(
    scope: Scope,
    caller: Principal | string,
    address: string,
    input: AccountInput,
  ): Promise<TelephonyAccountRecord> {
    refuseRegion(input.region);
    await this.#checkProjects(scope, input.project_ids);
    const credentials = this.#seal(input.provider, input.credentials);
    await checkRoom(scope.collection(telephonyAccountCollection), {}, 'org');
    const account = await scope.collection(telephonyAccountCollection).insert({
      _id: newId('tel', this.#clock.now()),
      name: input.name,
      provider: input.provider,
      project_ids: input.project_ids ?? null,
      credentials,
      allowed_countries: input.allowed_countries ?? null,
      ...accountLimits(input),
      daily_spend_limit_amount: input.daily_spend_limit_amount ?? null,
      status: 'unverified',
      last_verified_at: null,
      last_error: null,
    });
    await this.#record(scope, caller, address, 'credential.created', account._id);
    return account;
  }

  /** @throws ConflictError `invalid_state` for `active` while the carrier has not confirmed the credentials */
  async change(
    scope: Scope,
    caller: Principal | string,
    address: string,
    account: TelephonyAccountRecord,
    patch: AccountPatch,
  ): Promise<TelephonyAccountRecord> {
    const { credentials, status, region, ...rest } = patch;
    refuseRegion(region);
    await this.#checkProjects(scope, patch.project_ids);
    const sealed = credentials === undefined ? null : this.#seal(account.provider, credentials);
    const basis = ['status', 'last_verified_at', 'last_error'] as const;
    const changed = await scope.collection(telephonyAccountCollection).change(account, basis, (current) => {
      const fresh = sealed !== null && { credentials: sealed, last_verified_at: null, last_error: null };
      const next = { ...current, ...fresh };
      return Promise.resolve({ ...rest, ...fresh, status: nextStatus(next, status, sealed !== null) });
    });
    this.#known.forget(account._id);
    if (sealed !== null) await this.#record(scope, caller, address, 'credential.changed', account._id);
    return changed;
  }

  /** @throws ConflictError `resource_in_use` while numbers are active */
  async delete(
    scope: Scope,
    caller: Principal | string,
    address: string,
    account: TelephonyAccountRecord,
  ): Promise<void> {
    const numbers = await this.#database
      .model(phoneNumberCollection)
      .find({ telephony_account_id: account._id, active_number: { $ne: null } })
      .limit(20)
      .lean();
    if (numbers.length > 0) {
      throw new ConflictError('resource_in_use', 'The account has phone numbers. Release them first.', {
        refs: numbers.map((number) => ({
          type: 'phone_number',
          id: number._id,
          name: number.phone_number,
        })),
      });
    }
    await scope.collection(telephonyAccountCollection).delete({ _id: account._id });
    this.#known.forget(account._id);
    await this.#record(scope, caller, address, 'credential.deleted', account._id);
  }

  /** Asks the carrier whether the credentials are good, and what else keeps calls from arriving. */
  async verify(
    scope: Scope,
    account: TelephonyAccountRecord,
  ): Promise<{ ok: boolean; error?: string; problems: AccountProblem[] }> {
    const numbers = await this.#database
      .model(phoneNumberCollection)
      .find({ telephony_account_id: account._id, status: 'active' })
      .sort({ _id: 1 })
      .limit(MAX_VERIFIED_NUMBERS)
      .lean();
    const { error, problems } = await checkAccount(
      carriers[account.provider].open(...this.#opening(account)),
      {
        publicUrl: this.#publicUrl,
        apiIsOwn: this.#apiUrls[account.provider] !== undefined,
        voiceUrl: `${this.#publicUrl}${carrierCallbackPath(account.provider, 'voice', account._id)}`,
        numbers: numbers.map(({ phone_number }) => phone_number),
      },
    );
    // Only a refusal says something of the credentials; an unreachable carrier does not.
    const status = error === null ? 'active' : error === 'auth' ? 'invalid' : account.status;
    const verdict = { last_error: error, last_verified_at: new Date(this.#clock.now()) };
    // Not if the credentials are others by now. A disabled account stays so, and may be activated later.
    await scope
      .collection(telephonyAccountCollection)
      .update(
        { _id: account._id, credentials: account.credentials, status: account.status },
        { $set: { ...verdict, status: account.status === 'disabled' ? 'disabled' : status } },
      );
    this.#known.forget(account._id);
    const [first] = problems;
    return { ok: first === undefined, ...(first && { error: first.code }), problems };
  }

  /** As it is now, or was within the last second. */
  find(accountId: string): Promise<TelephonyAccountRecord | null> {
    return this.#known.get(accountId, () => this.#database.read(telephonyAccountCollection, accountId));
  }

  /** A callback of the carrier has come, and its signature was right: `last_callback_at` tells of it. */
  called(account: CalledAccount): void {
    const now = this.#clock.now();
    const last = account.last_callback_at;
    if (last && now - last.getTime() < CALLED_EVERY_MS) return;
    const minute = new Date(now - (now % CALLED_EVERY_MS));
    account.last_callback_at = minute;
    this.#background.run("the time of a carrier's callback could not be recorded", () =>
      this.#database
        .model(telephonyAccountCollection)
        .updateOne({ _id: account._id }, { $set: { last_callback_at: minute } }, { timestamps: false }),
    );
  }

  /** Whether calls may be dialled by an account, and how many. */
  async limitsOf(accountId: string): Promise<
    | (Pick<Required<TelephonyAccountRecord>, 'status' | 'max_concurrent_calls' | 'calls_per_second'> & {
        /** When it may spend again, ms since the epoch; null: it may now. */
        spentUntil: number | null;
      })
    | null
  > {
    const account = await this.find(accountId);
    if (!account) return null;
    const spentUntil = await this.#spend.reachedUntil(account);
    return { status: account.status, ...accountLimits(account), spentUntil };
  }

  /** @inheritdoc */
  async open(accountId: string): Promise<Carrier | null> {
    const account = await this.find(accountId);
    return account && this.#toCarrier(account);
  }

  /** @inheritdoc */
  seenBy(scope: Scope, provider?: CarrierName): Promise<TelephonyAccountRecord[]> {
    return scope
      .collection(telephonyAccountCollection)
      .find(equalities({ provider }), { limit: RECORDS_PER_ORG });
  }

  /** @inheritdoc */
  withFeed({ after, limit }: { after: string; limit: number }): Promise<TelephonyAccountRecord[]> {
    const provider = { $in: CARRIERS.filter((name) => carriers[name].complaints !== undefined) };
    return this.#database
      .model(telephonyAccountCollection)
      .find({ provider, status: 'active', _id: { $gt: after } })
      .sort({ _id: 1 })
      .limit(limit)
      .lean<TelephonyAccountRecord[]>();
  }

  /** @inheritdoc */
  async openComplaints(accountId: string): Promise<CarrierComplaints | null> {
    const account = await this.find(accountId);
    if (!account) return null;
    return carriers[account.provider].complaints?.open(...this.#opening(account)) ?? null;
  }

  /** @inheritdoc */
  async mayCall(accountId: string, number: string): Promise<boolean> {
    const account = await this.find(accountId);
    if (!account || (await this.#spend.reachedUntil(account)) !== null) return false;
    return this.#allowsCountryOf(account, number);
  }

  /** Whether the number is in a country that calls of the account may go to, whatever it has spent today. */
  async allowsCountryOf(accountId: string, number: string): Promise<boolean> {
    const account = await this.find(accountId);
    return account !== null && this.#allowsCountryOf(account, number);
  }

  /** @inheritdoc */
  async defaultFor(orgId: string, projectId: string): Promise<{ id: string; provider: CarrierName } | null> {
    const project = await this.#directory.project(projectId);
    const usable = await this.#database
      .model(telephonyAccountCollection)
      .find({
        org_id: orgId,
        project_ids: { $in: [null, projectId] },
        status: 'active',
      })
      .sort({ created_at: 1 })
      .limit(200)
      .lean<TelephonyAccountRecord[]>();
    const account =
      usable.find((candidate) => candidate._id === project?.default_telephony_account_id) ?? usable[0];
    return account ? { id: account._id, provider: account.provider } : null;
  }

  async #allowsCountryOf(
    { _id, allowed_countries }: TelephonyAccountRecord,
    number: string,
  ): Promise<boolean> {
    const country = parsePhoneNumberFromString(number)?.country;
    if (!country) return false;
    if (allowed_countries) return allowed_countries.includes(country);
    const own = await this.#countries.get(_id, () =>
      this.#database
        .model(phoneNumberCollection)
        .distinct('country', { telephony_account_id: _id, status: 'active' }),
    );
    return own.includes(country);
  }

  #toCarrier(account: TelephonyAccountRecord): Carrier {
    const known = this.#opened.get(account);
    if (known) return known;
    const [credentials, options] = this.#opening(account);
    const onUnauthorized = () => this.#background.run('account not marked', () => this.#refused(account));
    const carrier = carriers[account.provider].open(credentials, { ...options, onUnauthorized });
    this.#opened.set(account, carrier);
    return carrier;
  }

  /** The carrier refuses in use what it has confirmed before. Not if the credentials are others by now. */
  async #refused({ _id, credentials }: TelephonyAccountRecord): Promise<void> {
    await this.#database
      .model(telephonyAccountCollection)
      .updateOne({ _id, credentials, status: 'active' }, { $set: { status: 'invalid', last_error: 'auth' } });
    this.#known.forget(_id);
  }

  /** What a carrier's descriptor opens an account with. */
  #opening({
    credentials,
    provider,
  }: TelephonyAccountRecord): [credentials: unknown, options: CarrierOptions] {
    const values: unknown = JSON.parse(this.#box.decryptSecret(credentials));
    return [values, { clock: this.#clock, apiBaseUrl: this.#apiUrls[provider] }];
  }

  #seal(provider: CarrierName, credentials: unknown): string {
    const schema = z.object({ credentials: carriers[provider].credentials });
    const parsed = parseInput(schema, { credentials }, 'body');
    return this.#box.encryptSecret(JSON.stringify(parsed.credentials));
  }

  async #checkProjects(scope: Scope, ids: readonly string[] | null | undefined): Promise<void> {
    if (!ids) {
      if (ids === null && scope.projects !== null) {
        throw new ForbiddenError(
          'forbidden',
          'Only a user with access to the whole org can share an account with all projects.',
        );
      }
      return;
    }
    for (const [index, id] of ids.entries()) {
      const project = await this.#directory.project(id);
      if (project?.org_id !== scope.orgId || !scope.sees(id)) {
        throw invalid(['body', 'project_ids', index], 'Project not found in the org', 'reference_not_found');
      }
    }
  }

  async #record(
    scope: Scope,
    caller: Principal | string,
    address: string,
    action: (typeof TELEPHONY_AUDIT)[number],
    target: string,
  ): Promise<void> {
    await this.#audit.record({ orgId: scope.orgId, caller, address, action, target });
  }
}

/** @throws ValidationError `not_available` */
function refuseRegion(region: string | null | undefined): void {
  if (region == null) return;
  throw invalid(
    ['body', 'region'],
    'is not supported in this version: use null, for the region that the carrier takes by itself',
    'not_available',
  );
}

/** @throws ConflictError `invalid_state` */
function nextStatus(
  account: Pick<TelephonyAccountRecord, 'status' | 'last_verified_at' | 'last_error'>,
  asked: 'active' | 'disabled' | undefined,
  newCredentials: boolean,
): TelephonyAccountRecord['status'] {
  if (asked === 'disabled') return asked;
  if (asked === 'active') {
    if (account.last_verified_at !== null && account.last_error === null) return asked;
    throw new ConflictError(
      'invalid_state',
      'The carrier has not confirmed the credentials of the account. Verify it first.',
    );
  }
  return newCredentials && account.status !== 'disabled' ? 'unverified' : account.status;
}
