import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Model } from 'mongoose';
import type { Clock } from '@parley/shared/time/clock';
import type { SecretBox } from '../crypto/secret-box.ts';
import type { Database } from '../storage/database.ts';
import { appAuthorizationCollection } from './app-connection-model.ts';
import type { AppAuthorizationRecord, AppConnectionRecord } from './app-connection-model.ts';

/** How long a user may take to agree. */
export const AUTHORIZATION_MS = 10 * 60_000;

/** `<id of the authorization>.<secret>`: 16 and 32 bytes. */
const STATE = /^([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/;

/** What an authorization is for, and what completes it. */
export interface TakenAuthorization {
  id: string;
  state: string;
  verifier: string;
  connectionId: string;
  orgId: string;
  userId: string;
}

/** The `state` of authorizations: each is good once, for the connection, org and user that it was made for. */
export class AppAuthorizationStates {
  readonly #authorizations: Model<AppAuthorizationRecord>;
  readonly #box: SecretBox;
  readonly #clock: Clock;

  constructor({ database, box, clock }: { database: Database; box: SecretBox; clock: Clock }) {
    this.#authorizations = database.model(appAuthorizationCollection);
    this.#box = box;
    this.#clock = clock;
  }

  /** @param verifier of PKCE, stored encrypted @returns the state and its id; the secret half is not stored */
  async make(
    { _id, org_id }: Pick<AppConnectionRecord, '_id' | 'org_id'>,
    userId: string,
    verifier: string,
  ): Promise<{ id: string; state: string }> {
    const id = randomBytes(16).toString('base64url');
    const secret = randomBytes(32).toString('base64url');
    await this.#authorizations.create({
      _id: id,
      org_id,
      connection_id: _id,
      user_id: userId,
      digest: digestOf(secret),
      verifier: this.#box.encryptSecret(verifier),
      expires_at: new Date(this.#clock.now() + AUTHORIZATION_MS),
    });
    return { id, state: `${id}.${secret}` };
  }

  /** It is gone with the first who asks, whatever comes of it. @returns null for one that is unknown, used or too old */
  async take(state: string): Promise<TakenAuthorization | null> {
    const [, id, secret] = STATE.exec(state) ?? [];
    if (id === undefined || secret === undefined) return null;
    const found = await this.#authorizations.findOneAndDelete({ _id: id }).lean<AppAuthorizationRecord>();
    if (!found || !isDigest(secret, found.digest)) return null;
    if (found.expires_at.getTime() <= this.#clock.now()) return null;
    return {
      id,
      state,
      verifier: this.#box.decryptSecret(found.verifier),
      connectionId: found.connection_id,
      orgId: found.org_id,
      userId: found.user_id,
    };
  }
}

function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

function isDigest(secret: string, digest: string): boolean {
  return timingSafeEqual(Buffer.from(digestOf(secret), 'hex'), Buffer.from(digest, 'hex'));
}
