import { randomBytes, timingSafeEqual } from 'node:crypto';
import { ForbiddenError, UnauthorizedError } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { AuditLog } from '../audit/audit-trail.ts';
import type { SecretBox } from '../crypto/secret-box.ts';
import type { Database } from '../storage/database.ts';
import { defined } from '../storage/defined.ts';
import { isDuplicateKey, orDuplicate } from '../storage/duplicate.ts';
import { normalEmail, sha256 } from './identity-common.ts';
import type { IdentityAction, Origin } from './identity-common.ts';
import { installationCollection, userCollection } from './identity-model.ts';
import type { InstallationFact, UserRecord } from './identity-model.ts';
import type { PasswordHasher } from './password.ts';
import { checkPassword } from './password-strength.ts';

const RESET_MS = 3_600_000;

/** Who starts an installation on their own machine and has not registered. */
const LOCAL_OWNER = { email: 'owner@localhost', name: 'Local owner' };

export interface NewUser {
  email: string;
  name: string;
  password: string;
}

/** Users: how they register, their profiles, and their passwords as they are stored. */
export class UserAccounts {
  readonly #database: Database;
  readonly #box: SecretBox;
  readonly #audit: AuditLog<IdentityAction>;
  readonly #passwords: PasswordHasher;
  readonly #clock: Clock;

  constructor(deps: {
    database: Database;
    box: SecretBox;
    audit: AuditLog<IdentityAction>;
    passwords: PasswordHasher;
    clock: Clock;
  }) {
    this.#database = deps.database;
    this.#box = deps.box;
    this.#audit = deps.audit;
    this.#passwords = deps.passwords;
    this.#clock = deps.clock;
  }

  /** What the operator gives to the first user; the same in every process of the installation. */
  setupCode(): string {
    return this.#box.deriveKey('setup-code').toString('base64url').slice(0, 20);
  }

  async hasUsers(): Promise<boolean> {
    return (await this.#firstUserId()) !== null;
  }

  async #firstUserId(): Promise<string | null> {
    const fact = await this.#database
      .model(installationCollection)
      .findOne({ _id: 'first_user' })
      .lean<InstallationFact>();
    return fact?.value ?? null;
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

  /** @throws ForbiddenError; ConflictError `duplicate` */
  async createFirstUser(
    user: NewUser & { setupCode: string | undefined },
    origin: Origin,
  ): Promise<UserRecord> {
    const id = newId('usr', this.#clock.now());
    await checkPassword(user.password, 'password');
    await this.#claimFirst(id, user.setupCode);
    return this.#createUser(id, user, origin);
  }

  /**
   * The person at the machine itself: the first user, or a new one, whose password nobody knows, in its place.
   * @param origin of who asks
   */
  async localOwner(origin: Origin): Promise<{ user: UserRecord; isNew: boolean }> {
    const first = await this.#firstUserId();
    if (first !== null) return { user: await this.user(first), isNew: false };
    const id = newId('usr', this.#clock.now());
    await this.#claimFirst(id, this.setupCode());
    const password = randomBytes(32).toString('base64url');
    const user = await this.#createUser(id, { ...LOCAL_OWNER, password }, origin);
    return { user, isNew: true };
  }

  /** @throws ConflictError `duplicate` */
  async createUser(user: NewUser, origin: Origin): Promise<UserRecord> {
    await checkPassword(user.password, 'password');
    return this.#createUser(newId('usr', this.#clock.now()), user, origin);
  }

  async #createUser(id: string, user: NewUser, origin: Origin): Promise<UserRecord> {
    const created = await orDuplicate(
      this.#database.model(userCollection).create({
        _id: id,
        email: normalEmail(user.email),
        name: user.name,
        password_hash: await this.#passwords.hash(user.password, origin.address),
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

  /** Takes as long for nobody as for somebody. */
  verifyPassword(user: UserRecord | null, password: string, origin: Origin): Promise<boolean> {
    return this.#passwords.verify(password, user?.password_hash ?? null, origin.address);
  }

  /** @throws ValidationError for a password that is guessed early */
  async setPassword(userId: string, password: string, origin: Origin): Promise<void> {
    await checkPassword(password, 'new_password');
    const password_hash = await this.#passwords.hash(password, origin.address);
    await this.#database
      .model(userCollection)
      .updateOne({ _id: userId }, { $set: { password_hash, reset_digest: null, reset_expires_at: null } });
  }

  /** @returns what lets its bearer choose a new password, once, within an hour */
  async createResetToken(userId: string): Promise<string> {
    const token = randomBytes(32).toString('base64url');
    await this.#database.model(userCollection).updateOne(
      { _id: userId },
      {
        $set: {
          reset_digest: sha256(token).toString('hex'),
          reset_expires_at: new Date(this.#clock.now() + RESET_MS),
        },
      },
    );
    return token;
  }

  /** @throws UnauthorizedError when the token is unknown, used or old */
  async redeemResetToken(token: string, password: string, origin: Origin): Promise<UserRecord> {
    const digest = sha256(token).toString('hex');
    const users = this.#database.model(userCollection);
    const live = { reset_digest: digest, reset_expires_at: { $gt: new Date(this.#clock.now()) } };
    if (!(await users.findOne(live).lean())) throw resetRefused();
    await checkPassword(password, 'new_password');
    const password_hash = await this.#passwords.hash(password, origin.address);
    const user = await users
      .findOneAndUpdate(live, { $set: { password_hash, reset_digest: null, reset_expires_at: null } })
      .lean<UserRecord>();
    if (!user) throw resetRefused();
    return user;
  }
}

function resetRefused(): UnauthorizedError {
  return new UnauthorizedError('unauthenticated', 'The link is invalid or has expired.');
}
