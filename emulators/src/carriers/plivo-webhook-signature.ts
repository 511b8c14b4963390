import { createHmac } from 'node:crypto';

/** Signature version 3 over a request with form fields; carriers 1.5. GET requests have none. */
export function signPlivoRequest(
  authToken: string,
  url: string,
  fields: Record<string, string>,
  nonce: string,
): string {
  const parsed = new URL(url);
  const query = [...parsed.searchParams]
    .sort(([a, x], [b, y]) => compare(a, b) || compare(x, y))
    .map(([key, value]) => `${key}=${value}`)
    .join('&');
  const form = Object.entries(fields)
    .sort(([a], [b]) => compare(a, b))
    .map(([key, value]) => key + value)
    .join('');
  let base = `${parsed.protocol}//${parsed.host}${parsed.pathname}`;
  if (query !== '' || form !== '') base += '?';
  base += query;
  if (query !== '' && form !== '') base += '.';
  base += form;
  return createHmac('sha256', authToken).update(`${base}.${nonce}`).digest('base64');
}

/** The upgrade is signed as a GET of the stream's address with `http` for `wss`, port and query kept. */
export function signPlivoUpgrade(authToken: string, streamUrl: string, nonce: string): string {
  return signPlivoRequest(authToken, streamUrl.replace(/^wss?:/, 'http:'), {}, nonce);
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
