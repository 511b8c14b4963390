import type { Role } from './roles.ts';

/** The caller of a request, after the credential was checked. */
export type Principal = KeyPrincipal | UserPrincipal;

/** A project API key: exactly one org and one project. */
export interface KeyPrincipal {
  readonly auth: 'api_key';
  readonly api_key_id: string;
  readonly org_id: string;
  readonly project_id: string;
  readonly role: Exclude<Role, 'owner'>;
  /** Expiry of the key; keys it creates expire no later. */
  readonly expires_at: Date | null;
}

/** A signed-in user; what it may do is read from its memberships. */
export interface UserPrincipal {
  readonly auth: 'jwt';
  readonly user_id: string;
  /** The sign-in behind the access token. */
  readonly sign_in_id: string;
}

/** `key_…` or `usr_…`, for `created_by` and the audit trail. */
export function principalId(principal: Principal): string {
  return principal.auth === 'api_key' ? principal.api_key_id : principal.user_id;
}
