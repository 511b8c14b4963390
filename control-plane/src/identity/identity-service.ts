import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Bus } from '@parley/shared/bus/bus';
import { ForbiddenError, TooManyRequestsError, UnauthorizedError } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { AuditLog } from '../audit/audit-trail.ts';
import type { SecretBox } from '../crypto/secret-box.ts';
import type { SigningKeys } from '../crypto/signing-keys.ts';
import type { BackgroundWork } from '../lifecycle/background-work.ts';
import type { Database } from '../storage/database.ts';
import { defined } from '../storage/defined.ts';
import { isDuplicateKey, orDuplicate } from '../storage/duplicate.ts';
import { ExpiringCache } from '../storage/expiring-cache.ts';
import { DIRECTORY_TTL_MS } from '../tenancy/directory.ts';
import type { UserPrincipal } from '../tenancy/principal.ts';
import {
  installationCollection,
  refreshTokenCollection,
  signInCollection,
  userCollection,
} from './identity-model.ts';
import type { RefreshTokenRecord, SignInRecord, UserRecord } from './identity-model.ts';
import type { Mailer } from './mailer.ts';
import type { PasswordHasher } from './password.ts';

/** What it writes to the audit trail. */
export const IDENTITY_AUDIT = [
  'sign_in.registered',
  'sign_in.succeeded',
  'sign_in.failed',
  'sign_in.ended',
  'sign_in.token_reused',
  'password.changed',
  'password.reset',
] as const;

/** Audience of access tokens; those for media have another one. */
export const API_AUDIENCE = 'parley:api';

const ACCESS_SECONDS = 900;
const REFRESH_MS = 30 * 24 * 3_600_000;
const SIGN_IN_MS = 90 * 24 * 3_600_000;
const RESET_MS = 3_600_000;
const LOGIN_WINDOW_SECONDS = 900;
const LOGIN_FAILURES = 10;
/** Over all addresses: somebody guesses from many places. */
const LOGIN_FAILURES_PER_ACCOUNT = 100;

export interface Tokens {
  access_token: string;
  token_type: 'bearer';
  expires_in: number;
  refresh_token: string;
}

/** Where a request came from, for limits and the audit trail. */
export interface Origin {
  address: string;
}

/** Users and their sign-ins. */
export class IdentityService {
  readonly #database: Database;
  readonly #keys: SigningKeys;
  readonly #box: SecretBox;
  readonly #bus: Bus;
  readonly #audit: AuditLog<(typeof IDENTITY_AUDIT)[number]>;
  readonly #mailer: Mailer;
  readonly #passwords: PasswordHasher;
  readonly #background: BackgroundWork;
  readonly #clock: Clock;
  readonly #issuer: string;
  readonly #consoleUrl: string;
  readonly #signIns: ExpiringCache<SignInRecord | null>;

  constructor(deps: {
    database: Database;
    signingKeys: SigningKeys;
    box: SecretBox;
    bus: Bus;
    audit: AuditLog<(typeof IDENTITY_AUDIT)[number]>;
    mailer: Mailer;
    passwords: PasswordHasher;
    background: BackgroundWork;
    clock: Clock;
    issuer: string;
    consoleUrl: string;
  }) {
    this.#database = deps.database;
    this.#keys = deps.signingKeys;
    this.#box = deps.box;
    this.#bus = deps.bus;
    this.#audit = deps.audit;
    this.#mailer = deps.mailer;
    this.#passwords = deps.passwords;
    this.#background = deps.background;
    this.#clock = deps.clock;
    this.#issuer = deps.issuer;
    this.#consoleUrl = deps.consoleUrl;
    this.#signIns = new ExpiringCache({ clock: deps.clock, ttlMs: DIRECTORY_TTL_MS, maxEntries: 10_000 });
  }

  // The first user

  /** What the operator gives to the first user; the same in every process of the installation. */
  setupCode(): string {
    return this.#box.deriveKey('setup-code').toString('base64url').slice(0, 20);
  }

  async hasUsers(): Promise<boolean> {
    const fact = await this.#database.model(installationCollection).findOne({ _id: 'first_user' }).lean();
    return fact !== null;
  }

  /**
   * Takes the place of the first user, once in the life of an installation.
   * @throws ForbiddenError without the right setup code, or when somebody else has it
   */
  async #claimFirst(userId: string, setupCode: string | undefined): Promise<void> {
    const given = sha256(setupCode ?? '');
    if (!timingSafeEqual(given, sha256(this.setupCode()))) {
      throw new ForbiddenError(
        'setup_code_required',
        'The first registration requires the setup code, which is printed when the service starts.',
      );
    }
    try {
      await this.#database.model(installationCollection).create({ _id: 'first_user', value: userId });
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      throw new ForbiddenError('forbidden', 'The first user of this installation has already registered.');
    }
  }

  // Users

  /** @throws ForbiddenError; ConflictError `duplicate` */
  async createFirstUser(
    user: NewUser & { setupCode: string | undefined },
    origin: Origin,
  ): Promise<UserRecord> {
    const id = newId('usr', this.#clock.now());
    await this.#claimFirst(id, user.setupCode);
    return this.#createUser(id, user, origin);
  }

  /** @throws ConflictError `duplicate` */
  createUser(user: NewUser, origin: Origin): Promise<UserRecord> {
    return this.#createUser(newId('usr', this.#clock.now()), user, origin);
  }

  async #createUser(id: string, user: NewUser, origin: Origin): Promise<UserRecord> {
    const created = await orDuplicate(
      this.#database.model(userCollection).create({
        _id: id,
        email: normalEmail(user.email),
        name: user.name,
        password_hash: await this.#passwords.hash(user.password),
      }),
      'An account with this e-mail address already exists.',
    );
    await this.#audit.record({
      caller: id,
      address: origin.address,
      action: 'sign_in.registered',
      target: id,
    });
    return created.toObject();
  }

  async user(userId: string): Promise<UserRecord> {
    const user = await this.#database.model(userCollection).findOne({ _id: userId }).lean<UserRecord>();
    if (!user) throw new UnauthorizedError();
    return user;
  }

  userByEmail(email: string): Promise<UserRecord | null> {
    return this.#database
      .model(userCollection)
      .findOne({ email: normalEmail(email) })
      .lean<UserRecord>();
  }

  /** Names and addresses of members. */
  async users(userIds: readonly string[]): Promise<Map<string, UserRecord>> {
    const users = await this.#database
      .model(userCollection)
      .find({ _id: { $in: userIds } })
      .limit(userIds.length)
      .lean<UserRecord[]>();
    return new Map(users.map((user) => [user._id, user]));
  }

  async updateProfile(
    userId: string,
    change: Partial<Record<'name' | 'locale' | 'timezone', string | undefined>>,
  ): Promise<UserRecord> {
    const sent = defined(change);
    const user = await this.#database
      .model(userCollection)
      .findOneAndUpdate({ _id: userId }, { $set: sent }, { returnDocument: 'after' })
      .lean<UserRecord>();
    if (!user) throw new UnauthorizedError();
    return user;
  }

  // Signing in and out

  /** @throws UnauthorizedError, the same for a wrong address and a wrong password; TooManyRequestsError */
  async login(email: string, password: string, origin: Origin): Promise<Tokens> {
    const account = sha256(normalEmail(email)).toString('hex').slice(0, 32);
    const limits = [
      { bucket: `login:${account}:${origin.address}`, limit: LOGIN_FAILURES },
      { bucket: `login:${account}`, limit: LOGIN_FAILURES_PER_ACCOUNT },
    ];
    for (const { bucket, limit } of limits) {
      const { count, resetAt } = await this.#bus.rates.hit(bucket, LOGIN_WINDOW_SECONDS, 0);
      if (count >= limit) {
        const seconds = Math.max(1, Math.ceil((resetAt - this.#clock.now()) / 1000));
        throw new TooManyRequestsError('rate_limited', 'Too many failed sign-ins. Try again later.', seconds);
      }
    }
    const user = await this.userByEmail(email);
    if (!(await this.#passwords.verify(password, user?.password_hash ?? null)) || !user) {
      for (const { bucket } of limits) await this.#bus.rates.hit(bucket, LOGIN_WINDOW_SECONDS, 1);
      await this.#audit.record({
        caller: 'anonymous',
        address: origin.address,
        action: 'sign_in.failed',
        target: user?._id ?? 'unknown',
      });
      throw new UnauthorizedError('unauthenticated', 'Incorrect e-mail address or password.');
    }
    return this.signIn(user, origin);
  }

  /** Starts a sign-in for a user whose identity is certain. */
  async signIn(user: UserRecord, origin: Origin): Promise<Tokens> {
    const now = this.#clock.now();
    const signIn = await this.#database.model(signInCollection).create({
      _id: `sid_${randomBytes(16).toString('hex')}`,
      user_id: user._id,
      expires_at: new Date(now + SIGN_IN_MS),
    });
    await this.#audit.record({
      caller: user._id,
      address: origin.address,
      action: 'sign_in.succeeded',
      target: signIn._id,
    });
    return this.#issue(signIn.toObject());
  }

  async #issue(signIn: SignInRecord): Promise<Tokens> {
    const now = this.#clock.now();
    const issuedAt = Math.floor(now / 1000);
    const accessToken = await this.#keys.sign({
      iss: this.#issuer,
      aud: API_AUDIENCE,
      sub: signIn.user_id,
      sid: signIn._id,
      typ: 'access',
      iat: issuedAt,
      exp: issuedAt + ACCESS_SECONDS,
    });
    const refreshToken = randomBytes(32).toString('base64url');
    await this.#database.model(refreshTokenCollection).create({
      _id: sha256(refreshToken).toString('hex'),
      sign_in_id: signIn._id,
      user_id: signIn.user_id,
      expires_at: new Date(Math.min(now + REFRESH_MS, signIn.expires_at.getTime())),
    });
    return {
      access_token: accessToken,
      token_type: 'bearer',
      expires_in: ACCESS_SECONDS,
      refresh_token: refreshToken,
    };
  }

  /** Each refresh token works once; one that comes again ends its whole sign-in. @throws UnauthorizedError */
  async refresh(refreshToken: string, origin: Origin): Promise<Tokens> {
    const now = new Date(this.#clock.now());
    const digest = sha256(refreshToken).toString('hex');
    const tokens = this.#database.model(refreshTokenCollection);
    const claimed = await tokens
      .findOneAndUpdate({ _id: digest, used_at: null, expires_at: { $gt: now } }, { $set: { used_at: now } })
      .lean<RefreshTokenRecord>();
    if (!claimed) {
      const known = await tokens.findOne({ _id: digest }).lean<RefreshTokenRecord>();
      if (known?.used_at) {
        await this.#end({ _id: known.sign_in_id });
        await this.#audit.record({
          caller: known.user_id,
          address: origin.address,
          action: 'sign_in.token_reused',
          target: known.sign_in_id,
        });
      }
      throw new UnauthorizedError('unauthenticated', 'Invalid or expired refresh token. Sign in again.');
    }
    const signIn = await this.#database
      .model(signInCollection)
      .findOne({ _id: claimed.sign_in_id })
      .lean<SignInRecord>();
    if (!signIn || !isLive(signIn, now))
      throw new UnauthorizedError('unauthenticated', 'The sign-in has ended. Sign in again.');
    return this.#issue(signIn);
  }

  /** Unknown tokens are no error: the caller is signed out either way. */
  async logout(refreshToken: string, origin: Origin): Promise<void> {
    const digest = sha256(refreshToken).toString('hex');
    const known = await this.#database
      .model(refreshTokenCollection)
      .findOne({ _id: digest })
      .lean<RefreshTokenRecord>();
    if (!known) return;
    await this.#end({ _id: known.sign_in_id });
    await this.#audit.record({
      caller: known.user_id,
      address: origin.address,
      action: 'sign_in.ended',
      target: known.sign_in_id,
    });
  }

  async #end(which: { _id: string } | { user_id: string; except?: string }): Promise<void> {
    const filter =
      '_id' in which
        ? { _id: which._id, ended_at: null }
        : { user_id: which.user_id, ended_at: null, ...(which.except && { _id: { $ne: which.except } }) };
    const model = this.#database.model(signInCollection);
    // Others are forgotten by the cache itself, seconds later.
    const ending = await model.find(filter).select({ _id: 1 }).limit(1000).lean<{ _id: string }[]>();
    await model.updateMany(filter, { $set: { ended_at: new Date(this.#clock.now()) } });
    for (const { _id } of ending) this.#signIns.forget(_id);
  }

  /** @throws UnauthorizedError `token_expired`, `unauthenticated` */
  async authenticate(token: string): Promise<UserPrincipal> {
    const now = new Date(this.#clock.now());
    let claims;
    try {
      claims = await this.#keys.verify(token, { issuer: this.#issuer, audience: API_AUDIENCE, now });
    } catch (cause) {
      const expired = cause instanceof Error && 'code' in cause && cause.code === 'ERR_JWT_EXPIRED';
      throw expired
        ? new UnauthorizedError('token_expired', 'The access token has expired.', { cause })
        : new UnauthorizedError('unauthenticated', 'Invalid token.', { cause });
    }
    const { sub, sid, typ } = claims;
    if (typ !== 'access' || typeof sid !== 'string' || typeof sub !== 'string') throw new UnauthorizedError();
    const signIn = await this.#signIns.get(sid, () =>
      this.#database.model(signInCollection).findOne({ _id: sid }).lean<SignInRecord>(),
    );
    if (!signIn || signIn.user_id !== sub || !isLive(signIn, now)) {
      throw new UnauthorizedError('unauthenticated', 'The sign-in has ended. Sign in again.');
    }
    return { auth: 'jwt', user_id: sub, sign_in_id: sid };
  }

  // Passwords

  /** Ends the user's other sign-ins. @throws UnauthorizedError when the current password is wrong */
  async changePassword(caller: UserPrincipal, current: string, next: string, origin: Origin): Promise<void> {
    const user = await this.user(caller.user_id);
    if (!(await this.#passwords.verify(current, user.password_hash))) {
      throw new UnauthorizedError('unauthenticated', 'Incorrect current password.');
    }
    const password_hash = await this.#passwords.hash(next);
    await this.#database
      .model(userCollection)
      .updateOne({ _id: user._id }, { $set: { password_hash, reset_digest: null, reset_expires_at: null } });
    await this.#end({ user_id: user._id, except: caller.sign_in_id });
    await this.#audit.record({
      caller,
      address: origin.address,
      action: 'password.changed',
      target: user._id,
    });
  }

  /** Mails a link that works for an hour. Says nothing about whether the account exists, not even by its time. */
  forgotPassword(email: string, origin: Origin): void {
    this.#background.run('a password reset e-mail could not be sent', async () => {
      const account = sha256(normalEmail(email)).toString('hex').slice(0, 32);
      const { count } = await this.#bus.rates.hit(`forgot:${account}:${origin.address}`, 3600);
      if (count > 5) return;
      const user = await this.userByEmail(email);
      if (!user) return;
      const token = randomBytes(32).toString('base64url');
      await this.#database.model(userCollection).updateOne(
        { _id: user._id },
        {
          $set: {
            reset_digest: sha256(token).toString('hex'),
            reset_expires_at: new Date(this.#clock.now() + RESET_MS),
          },
        },
      );
      await this.#mailer.send({
        to: user.email,
        subject: 'Choose a new password',
        text: `Choose a new password within an hour:\n${this.#consoleUrl}/reset-password?token=${token}\n`,
      });
    });
  }

  /** Ends all sign-ins of the user. @throws UnauthorizedError when the token is unknown, used or old */
  async resetPassword(token: string, password: string, origin: Origin): Promise<void> {
    const digest = sha256(token).toString('hex');
    const users = this.#database.model(userCollection);
    const live = { reset_digest: digest, reset_expires_at: { $gt: new Date(this.#clock.now()) } };
    if (!(await users.findOne(live).lean())) throw resetRefused();
    const password_hash = await this.#passwords.hash(password);
    const user = await users
      .findOneAndUpdate(live, { $set: { password_hash, reset_digest: null, reset_expires_at: null } })
      .lean<UserRecord>();
    if (!user) throw resetRefused();
    await this.#end({ user_id: user._id });
    await this.#audit.record({
      caller: user._id,
      address: origin.address,
      action: 'password.reset',
      target: user._id,
    });
  }
}

export interface NewUser {
  email: string;
  name: string;
  password: string;
}

/** Addresses are compared in lower case. */
export function normalEmail(email: string): string {
  return email.trim().toLowerCase();
}

function isLive(signIn: SignInRecord, now: Date): boolean {
  return signIn.ended_at === null && signIn.expires_at > now;
}

function resetRefused(): UnauthorizedError {
  return new UnauthorizedError('unauthenticated', 'The link is invalid or has expired.');
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest();
}
