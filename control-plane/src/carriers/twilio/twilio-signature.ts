import { createHash, createHmac } from 'node:crypto';
import type { CarrierRequest } from '../carrier.ts';
import { timingSafeTextEqual } from '../timing-safe.ts';

/* Twilio's signature: base64(HMAC-SHA1(primary auth token, URL as requested + sorted form fields)). */

/** Whether the callback was signed with this account's primary token. */
export function verifyTwilioWebhook(request: CarrierRequest, authToken: string): boolean {
  if (request.method === 'GET') return matches(request.url, '', request.headers, authToken);
  if (/^application\/x-www-form-urlencoded\b/i.test(request.headers['content-type'] ?? '')) {
    const fields = new URLSearchParams(request.body.toString('utf8'));
    return matches(request.url, fieldsText(fields), request.headers, authToken);
  }
  // Bodies of another type are covered by a digest in the signed URL.
  const given = new URL(request.url).searchParams.get('bodySHA256');
  const actual = createHash('sha256').update(request.body).digest('hex');
  if (request.body.length > 0 && !timingSafeTextEqual(given ?? '', actual)) return false;
  return matches(request.url, '', request.headers, authToken);
}

/** @param url `wss://…` as in the document; `https://` does not verify */
export function verifyTwilioUpgrade(
  url: string,
  headers: Readonly<Record<string, string | undefined>>,
  authToken: string,
): boolean {
  return matches(url, '', headers, authToken);
}

function fieldsText(fields: URLSearchParams): string {
  let text = '';
  for (const key of [...new Set(fields.keys())].sort()) {
    for (const value of [...new Set(fields.getAll(key))].sort()) text += key + value;
  }
  return text;
}

function matches(
  url: string,
  suffix: string,
  headers: Readonly<Record<string, string | undefined>>,
  authToken: string,
): boolean {
  const given = headers['x-twilio-signature'];
  if (!given) return false;
  let valid = false;
  // As requested, and without the port: the vendor has been seen to leave it out.
  for (const candidate of new Set([url, withoutPort(url)])) {
    const expected = createHmac('sha1', authToken)
      .update(candidate + suffix, 'utf8')
      .digest('base64');
    valid = timingSafeTextEqual(given, expected) || valid;
  }
  return valid;
}

function withoutPort(url: string): string {
  return url.replace(/^([a-z]+:\/\/[^/?#]*?):\d+(?=[/?#]|$)/i, '$1');
}
