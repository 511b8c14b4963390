import { parseAllowEntry } from '@parley/shared/http/allow-list';
import { isPublicUrl } from '@parley/shared/http/safe-fetch';

/**
 * Whether an address may be called from here: https at what is not known to be private, or an origin that the operator
 * has allowed. Where a name leads, and for whom an origin is allowed, is checked again at every call.
 */
export function isOutboundUrl(url: string, allow: readonly string[]): boolean {
  if (!URL.canParse(url)) return false;
  const { origin, username, password } = new URL(url);
  if (username !== '' || password !== '') return false;
  return isPublicUrl(url) || allow.some((entry) => parseAllowEntry(entry).origin === origin);
}

export const OUTBOUND_URL_MESSAGE =
  'must be an https address on the public internet, or one that the operator allows';
