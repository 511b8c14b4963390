import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

export interface UserRecord extends StoredRecord {
  /** Lower case. */
  email: string;
  name: string;
  password_hash: string;
  locale: string;
  timezone: string;
  /** SHA-256 of a mailed token. */
  reset_digest: string | null;
  reset_expires_at: Date | null;
}

export const userCollection = defineCollection<UserRecord, 'none'>({
  name: 'users',
  tenancy: 'none',
  fields: {
    email: { type: String, required: true },
    name: { type: String, required: true },
    password_hash: { type: String, required: true },
    locale: { type: String, default: 'en-US' },
    timezone: { type: String, default: 'UTC' },
    reset_digest: { type: String, default: null },
    reset_expires_at: { type: Date, default: null },
  },
  indexes: [[{ email: 1 }, { unique: true }], [{ reset_digest: 1 }]],
});

/** One sign-in on one device. `_id` is the `sid` of its access tokens. */
export interface SignInRecord extends StoredRecord {
  user_id: string;
  expires_at: Date;
  ended_at: Date | null;
}

export const signInCollection = defineCollection<SignInRecord, 'none'>({
  name: 'sign_ins',
  tenancy: 'none',
  fields: {
    user_id: { type: String, required: true },
    expires_at: { type: Date, required: true },
    ended_at: { type: Date, default: null },
  },
  indexes: [[{ user_id: 1, ended_at: 1 }], [{ expires_at: 1 }, { expireAfterSeconds: 0 }]],
});

/** A refresh token. `_id` is its SHA-256; used ones are kept to notice when one comes again. */
export interface RefreshTokenRecord extends StoredRecord {
  sign_in_id: string;
  user_id: string;
  used_at: Date | null;
  /** The token that came after it, encrypted: until it was given out once more. */
  successor: string | null;
  expires_at: Date;
}

export const refreshTokenCollection = defineCollection<RefreshTokenRecord, 'none'>({
  name: 'refresh_tokens',
  tenancy: 'none',
  fields: {
    sign_in_id: { type: String, required: true },
    user_id: { type: String, required: true },
    used_at: { type: Date, default: null },
    successor: { type: String, default: null },
    expires_at: { type: Date, required: true },
  },
  indexes: [[{ expires_at: 1 }, { expireAfterSeconds: 0 }]],
});

/** Facts that exist once; `_id` names them. */
export interface InstallationFact extends StoredRecord {
  value: string;
}

export const installationCollection = defineCollection<InstallationFact, 'none'>({
  name: 'installation',
  tenancy: 'none',
  fields: { value: { type: String, required: true } },
});
