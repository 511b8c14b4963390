import { createHash } from 'node:crypto';

/** What identity writes to the audit trail. */
export const IDENTITY_AUDIT = [
  'sign_in.registered',
  'sign_in.succeeded',
  'sign_in.failed',
  'sign_in.ended',
  'sign_in.token_reused',
  'password.changed',
  'password.reset',
] as const;

export type IdentityAction = (typeof IDENTITY_AUDIT)[number];

/** Where a request came from, for limits and the audit trail. */
export interface Origin {
  address: string;
}

/** Addresses are compared in lower case. */
export function normalEmail(email: string): string {
  return email.trim().toLowerCase();
}

/** SHA-256 of the UTF-8 text: what is stored of secrets that are long and random. */
export function sha256(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest();
}
