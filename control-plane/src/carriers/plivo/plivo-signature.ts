import { createHmac } from 'node:crypto';
import type { CarrierRequest } from '../carrier.ts';
import { timingSafeTextEqual } from '../timing-safe.ts';

/*
 * Plivo's signature V3: base64(HMAC-SHA256(auth token, base + "." + nonce)). V1 and V2 leave the body out and are
 * refused: taking them as a fallback would let anybody forge one.
 */

/** Whether the callback was signed with this account's token. */
export function verifyPlivoWebhook(request: CarrierRequest, authToken: string): boolean {
  const fields =
    request.method === 'POST' && isForm(request)
      ? new URLSearchParams(request.body.toString('utf8'))
      : undefined;
  return matches(signatureBase(request.url, fields), request.headers, authToken);
}

/**
 * Whether the upgrade for a media stream was signed with this account's token. On live calls the stream's `wss://`
 * is replaced by `http://`; older texts of the vendor sign `wss://`, and one of its SDKs `https://`.
 */
export function verifyPlivoUpgrade(
  url: string,
  headers: Readonly<Record<string, string | undefined>>,
  authToken: string,
): boolean {
  const rest = url.replace(/^[a-z]+:\/\//i, '');
  let valid = false;
  for (const scheme of ['http', 'wss', 'https']) {
    valid = matches(signatureBase(`${scheme}://${rest}`, undefined), headers, authToken) || valid;
  }
  return valid;
}

/** The text that is signed, without the nonce. */
export function signatureBase(url: string, fields: URLSearchParams | undefined): string {
  const mark = url.indexOf('?');
  const address = mark === -1 ? url : url.slice(0, mark);
  const query = mark === -1 ? [] : sorted(new URLSearchParams(url.slice(mark + 1).split('#')[0]));
  const form = fields ? sorted(fields) : [];
  const queryText = query.map(([key, value]) => `${key}=${value}`).join('&');
  const formText = form.map(([key, value]) => `${key}${value}`).join('');
  if (query.length === 0 && form.length === 0) return address;
  if (form.length === 0) return `${address}?${queryText}`;
  return query.length === 0 ? `${address}?${formText}` : `${address}?${queryText}.${formText}`;
}

function sorted(params: URLSearchParams): [string, string][] {
  return [...params].sort(([aKey, aValue], [bKey, bValue]) => compare(aKey, bKey) || compare(aValue, bValue));
}

/** Byte order, not the locale's. */
function compare(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a, 'utf8'), Buffer.from(b, 'utf8'));
}

function matches(
  base: string,
  headers: Readonly<Record<string, string | undefined>>,
  authToken: string,
): boolean {
  const nonce = headers['x-plivo-signature-v3-nonce'];
  // The second header is signed with the main account's token, where a sub-account owns the call.
  const given = [headers['x-plivo-signature-v3'], headers['x-plivo-signature-ma-v3']];
  if (!nonce) return false;
  const expected = createHmac('sha256', authToken).update(`${base}.${nonce}`, 'utf8').digest('base64');
  let valid = false;
  for (const header of given) {
    for (const signature of (header ?? '').split(',')) {
      valid = timingSafeTextEqual(signature.trim(), expected) || valid;
    }
  }
  return valid;
}

function isForm(request: CarrierRequest): boolean {
  return /^application\/x-www-form-urlencoded\b/i.test(request.headers['content-type'] ?? '');
}
