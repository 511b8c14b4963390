import { randomBytes } from 'node:crypto';
import { UnauthorizedError } from '@parley/shared/errors/app-error';
import type { Clock } from '@parley/shared/time/clock';
import type { AuditLog } from '../audit/audit-trail.ts';
import type { SigningKeys } from '../crypto/signing-keys.ts';
import type { Database } from '../storage/database.ts';
import { ExpiringCache } from '../storage/expiring-cache.ts';
import { DIRECTORY_TTL_MS } from '../tenancy/directory.ts';
import type { UserPrincipal } from '../tenancy/principal.ts';
import type { SecretBox } from '../crypto/secret-box.ts';
import { sha256 } from './identity-common.ts';
import type { IdentityAction, Origin } from './identity-common.ts';
import { refreshTokenCollection, signInCollection } from './identity-model.ts';
import type { RefreshTokenRecord, SignInRecord, UserRecord } from './identity-model.ts';

/** Audience of access tokens; those for media have another one. */
const API_AUDIENCE = 'parley:api';

const ACCESS_SECONDS = 900;
const REFRESH_MS = 30 * 24 * 3_600_000;
/** How long after its rotation a token may come again, from a tab that did not hear of it. */
const GRACE_MS = 10_000;
const SIGN_IN_MS = 90 * 24 * 3_600_000;

export interface Tokens {
  access_token: string;
  token_type: 'bearer';
  expires_in: number;
  refresh_token: string;
}

/** Sign-ins and the tokens that stand for them. */
export class SignIns {
  readonly #database: Database;
  readonly #keys: SigningKeys;
  readonly #audit: AuditLog<IdentityAction>;
  readonly #clock: Clock;
  readonly #issuer: string;
  readonly #box: SecretBox;
  readonly #signIns: ExpiringCache<SignInRecord | null>;

  constructor(deps: {
    database: Database;
    signingKeys: SigningKeys;
    audit: AuditLog<IdentityAction>;
    clock: Clock;
    issuer: string;
    box: SecretBox;
  }) {
    this.#database = deps.database;
    this.#keys = deps.signingKeys;
    this.#audit = deps.audit;
    this.#clock = deps.clock;
    this.#issuer = deps.issuer;
    this.#box = deps.box;
    this.#signIns = new ExpiringCache({ clock: deps.clock, ttlMs: DIRECTORY_TTL_MS, maxEntries: 10_000 });
  }

  /** Starts a sign-in for a user whose identity is certain. */
  async start(user: UserRecord, origin: Origin): Promise<Tokens> {
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
    const refreshToken = newRefreshToken();
    await this.#store(signIn.toObject(), refreshToken);
    return this.#issue(signIn.toObject(), refreshToken);
  }

  async #issue(signIn: SignInRecord, refreshToken: string): Promise<Tokens> {
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
    return {
      access_token: accessToken,
      token_type: 'bearer',
      expires_in: ACCESS_SECONDS,
      refresh_token: refreshToken,
    };
  }

  async #store(signIn: SignInRecord, refreshToken: string): Promise<void> {
    await this.#database.model(refreshTokenCollection).create({
      _id: sha256(refreshToken).toString('hex'),
      sign_in_id: signIn._id,
      user_id: signIn.user_id,
      expires_at: new Date(Math.min(this.#clock.now() + REFRESH_MS, signIn.expires_at.getTime())),
    });
  }

  /**
   * Each refresh token is rotated once. One that comes again within ten seconds, as from a second tab, gets the same
   * successor once more, and is refused after that; one that comes later ends its whole sign-in.
   * @throws UnauthorizedError
   */
  async refresh(refreshToken: string, origin: Origin): Promise<Tokens> {
    const now = new Date(this.#clock.now());
    const digest = sha256(refreshToken).toString('hex');
    const tokens = this.#database.model(refreshTokenCollection);
    const successor = newRefreshToken();
    const claimed = await tokens
      .findOneAndUpdate(
        { _id: digest, used_at: null, expires_at: { $gt: now } },
        { $set: { used_at: now, successor: this.#box.encryptSecret(successor) } },
      )
      .lean<RefreshTokenRecord>();
    if (claimed) {
      const signIn = await this.#live(claimed, now);
      await this.#store(signIn, successor);
      return this.#issue(signIn, successor);
    }
    const rotatedSince = new Date(now.getTime() - GRACE_MS);
    const again = await tokens
      .findOneAndUpdate(
        { _id: digest, used_at: { $gt: rotatedSince }, successor: { $ne: null } },
        { $set: { successor: null } },
      )
      .lean<RefreshTokenRecord>();
    if (again?.successor) {
      return this.#issue(await this.#live(again, now), this.#box.decryptSecret(again.successor));
    }
    const known = await tokens.findOne({ _id: digest }).lean<RefreshTokenRecord>();
    if (known?.used_at && known.used_at <= rotatedSince) {
      await this.end({ _id: known.sign_in_id });
      await this.#audit.record({
        caller: known.user_id,
        address: origin.address,
        action: 'sign_in.token_reused',
        target: known.sign_in_id,
      });
    }
    throw new UnauthorizedError('unauthenticated', 'Invalid or expired refresh token. Sign in again.');
  }

  async #live(token: RefreshTokenRecord, now: Date): Promise<SignInRecord> {
    const signIn = await this.#database
      .model(signInCollection)
      .findOne({ _id: token.sign_in_id })
      .lean<SignInRecord>();
    if (!signIn || !isLive(signIn, now))
      throw new UnauthorizedError('unauthenticated', 'The sign-in has ended. Sign in again.');
    return signIn;
  }

  /** Unknown tokens are no error: the caller is signed out either way. */
  async logout(refreshToken: string, origin: Origin): Promise<void> {
    const digest = sha256(refreshToken).toString('hex');
    const known = await this.#database
      .model(refreshTokenCollection)
      .findOne({ _id: digest })
      .lean<RefreshTokenRecord>();
    if (!known) return;
    await this.end({ _id: known.sign_in_id });
    await this.#audit.record({
      caller: known.user_id,
      address: origin.address,
      action: 'sign_in.ended',
      target: known.sign_in_id,
    });
  }

  /** Ends one, or those of a user. */
  async end(which: { _id: string } | { user_id: string; except?: string }): Promise<void> {
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
}

function newRefreshToken(): string {
  return randomBytes(32).toString('base64url');
}

function isLive(signIn: SignInRecord, now: Date): boolean {
  return signIn.ended_at === null && signIn.expires_at > now;
}
