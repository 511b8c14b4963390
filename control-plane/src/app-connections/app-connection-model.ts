import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';
import type { AppName } from './app-catalog.ts';

export const CONNECTION_STATUSES = ['pending', 'connected', 'expired', 'error', 'revoked'] as const;
export type AppConnectionStatus = (typeof CONNECTION_STATUSES)[number];

/** What a connection holds of a vendor's. */
export type AppSecrets =
  | { type: 'api_key'; api_key: string }
  | {
      type: 'oauth2';
      access_token: string;
      /** Null: the vendor gave none. */
      refresh_token: string | null;
    };

/** An org's account at an app. */
export interface AppConnectionRecord extends StoredRecord {
  org_id: string;
  /** Null: every project of the org. */
  project_id: string | null;
  app: AppName;
  name: string;
  auth_type: 'oauth2' | 'api_key';
  status: AppConnectionStatus;
  account_label: string | null;
  scopes: string[];
  /** When the access token ends; it is renewed by itself. */
  expires_at: Date | null;
  last_error: string | null;
  /** `AppSecrets` as JSON, encrypted; null while there are none. */
  secrets: string | null;
  /** Until when one process has the leave to renew the access token. */
  renewing_until: Date | null;
  /** Id of the authorization that may complete it; null: none is under way. */
  authorization: string | null;
}

export const appConnectionCollection = defineCollection<AppConnectionRecord, 'shared'>({
  name: 'app_connections',
  tenancy: 'shared',
  fields: {
    app: { type: String, required: true },
    name: { type: String, required: true },
    auth_type: { type: String, required: true },
    status: { type: String, required: true },
    account_label: { type: String, default: null },
    scopes: { type: [String], default: [] },
    expires_at: { type: Date, default: null },
    last_error: { type: String, default: null },
    secrets: { type: String, default: null },
    renewing_until: { type: Date, default: null },
    authorization: { type: String, default: null },
  },
  indexes: [[{ org_id: 1, created_at: -1, _id: -1 }]],
});

/** An authorization that a user has begun. `_id` is the first half of its `state`. */
export interface AppAuthorizationRecord extends StoredRecord {
  org_id: string;
  connection_id: string;
  user_id: string;
  /** SHA-256 of the second half of its `state`, hex. */
  digest: string;
  /** PKCE (RFC 7636), encrypted. */
  verifier: string;
  /** MongoDB deletes it some time after this, so reads check it. */
  expires_at: Date;
}

export const appAuthorizationCollection = defineCollection<AppAuthorizationRecord, 'org'>({
  name: 'app_authorizations',
  tenancy: 'org',
  fields: {
    connection_id: { type: String, required: true },
    user_id: { type: String, required: true },
    digest: { type: String, required: true },
    verifier: { type: String, required: true },
    expires_at: { type: Date, required: true },
  },
  indexes: [[{ expires_at: 1 }, { expireAfterSeconds: 0 }]],
});

/** A token that the vendor is still to be told to revoke, for a day at most: the org may be gone by then. */
export interface AppRevocationRecord extends StoredRecord {
  org_id: string;
  app: AppName;
  /** The token, encrypted. */
  token: string;
  attempts: number;
  due_at: Date;
  /** When it is given up. */
  expires_at: Date;
}

export const appRevocationCollection = defineCollection<AppRevocationRecord, 'none'>({
  name: 'app_revocations',
  tenancy: 'none',
  fields: {
    org_id: { type: String, required: true },
    app: { type: String, required: true },
    token: { type: String, required: true },
    attempts: { type: Number, required: true },
    due_at: { type: Date, required: true },
    expires_at: { type: Date, required: true },
  },
  indexes: [[{ due_at: 1 }], [{ expires_at: 1 }, { expireAfterSeconds: 0 }]],
});
