/**
 * Whether an address may be called from here: https, or an origin that the operator has allowed. Where a name leads
 * is checked again at every call.
 */
export function isOutboundUrl(url: string, allow: readonly string[]): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, origin, username } = new URL(url);
  if (username !== '') return false;
  return protocol === 'https:' || allow.includes(origin);
}

export const OUTBOUND_URL_MESSAGE = 'must be an https address, or one that the operator allows';
