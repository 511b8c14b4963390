import { createHash, createHmac } from 'node:crypto';

/**
 * Signature of a webhook: SHA-1 over the URL exactly as requested and the sorted form fields; carriers 2.5. An upgrade
 * is signed as the `wss://` address of the stream, with no fields.
 */
export function signTwilioRequest(
  authToken: string,
  url: string,
  fields: Record<string, string> = {},
): string {
  const form = Object.keys(fields)
    .sort()
    .map((key) => key + fields[key]!)
    .join('');
  return createHmac('sha1', authToken)
    .update(url + form)
    .digest('base64');
}

/** A body that is no form is covered by its digest in the URL that is signed. @returns that URL */
export function withBodyDigest(url: string, body: string): string {
  const digest = createHash('sha256').update(body).digest('hex');
  return `${url}${url.includes('?') ? '&' : '?'}bodySHA256=${digest}`;
}
