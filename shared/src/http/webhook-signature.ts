import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** In both directions: start-call, call-ended, and tools with `hmac`. */
export const SIGNATURE_HEADER = 'X-Webhook-Signature';
/** How far the time of a signature may be from ours. */
export const SIGNATURE_WINDOW_SECONDS = 300;

/** How many `v1` values are looked at: two secrets overlap in a rotation, more is an attempt at something. */
const MAX_SIGNATURES = 10;

/** `whsec_` and 32 random bytes as base64url. The whole string is the key. */
export function newWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString('base64url')}`;
}

/**
 * The header's value: `t=<unix seconds>,v1=<hex>` with HMAC-SHA256 of `<t>.<body>`, one `v1` per secret.
 * @param body exactly the bytes that are sent
 */
export function signWebhook(
  secrets: string | readonly string[],
  body: string | Uint8Array,
  nowMs: number,
): string {
  const t = String(Math.floor(nowMs / 1000));
  const list = typeof secrets === 'string' ? [secrets] : secrets;
  return [`t=${t}`, ...list.map((secret) => `v1=${digest(secret, body, t).toString('hex')}`)].join(',');
}

/** The form without time: `sha256=<hex>` with HMAC-SHA256 of the body alone. */
export function signWebhookBody(secret: string, body: string | Uint8Array): string {
  return `sha256=${digest(secret, body).toString('hex')}`;
}

/**
 * The secret as libraries of Standard Webhooks take it: they read what follows `whsec_` as base64, and the key is the
 * whole string. One key, both schemes.
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function standardWebhooksSecret(secret: string): string {
  return `whsec_${Buffer.from(secret, 'utf8').toString('base64')}`;
}

/**
 * The headers of Standard Webhooks: `v1,<base64>` with HMAC-SHA256 of `<id>.<t>.<body>`, one for each secret.
 * @param id the same for every attempt of one delivery
 */
export function standardWebhooksHeaders(
  secrets: readonly string[],
  id: string,
  body: string,
  nowMs: number,
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  const t = String(Math.floor(nowMs / 1000));
  return {
    'webhook-id': id,
    'webhook-timestamp': t,
    'webhook-signature': secrets
      .map((secret) => `v1,${digest(secret, body, `${id}.${t}`).toString('base64')}`)
      .join(' '),
  };
}

export type SignatureCheck =
  | { ok: true; form: 'timestamp' | 'body' }
  | {
      ok: false;
      code: 'missing_signature' | 'malformed_signature' | 'stale_signature' | 'signature_mismatch';
    };

/**
 * Compares in constant time. Which secret of `secrets` it was is not told.
 * @param header as received, absent included
 * @param body the raw bytes as received
 * @param options.allowBodyForm accept `sha256=…` as well, which proves nothing about when it was sent
 */
export function verifyWebhook(
  secrets: string | readonly string[],
  header: string | undefined,
  body: string | Uint8Array,
  nowMs: number,
  options: { allowBodyForm?: boolean } = {},
): SignatureCheck {
  if (header === undefined || header === '') return { ok: false, code: 'missing_signature' };
  const list = typeof secrets === 'string' ? [secrets] : secrets;
  const parts = header.split(',').map((part) => part.trim());

  const bodyForm = /^sha256=([0-9a-f]{64})$/i.exec(header.trim());
  if (bodyForm) {
    if (!options.allowBodyForm) return { ok: false, code: 'malformed_signature' };
    const given = Buffer.from(bodyForm[1]!, 'hex');
    const matches = list.map((secret) => timingSafeEqual(digest(secret, body), given));
    return matches.includes(true) ? { ok: true, form: 'body' } : { ok: false, code: 'signature_mismatch' };
  }

  const times = parts.flatMap((part) => /^t=(\d{1,12})$/.exec(part)?.[1] ?? []);
  const given = parts.flatMap((part) => /^v1=([0-9a-f]{64})$/i.exec(part)?.[1] ?? []);
  const [t] = times;
  if (t === undefined || times.length > 1 || given.length === 0 || given.length > MAX_SIGNATURES) {
    return { ok: false, code: 'malformed_signature' };
  }
  // The signature comes first: whether a time is stale is told only to who knows the secret.
  const matches = list.flatMap((secret) => {
    const expected = digest(secret, body, t);
    return given.map((hex) => timingSafeEqual(expected, Buffer.from(hex, 'hex')));
  });
  if (!matches.includes(true)) return { ok: false, code: 'signature_mismatch' };
  if (Math.abs(nowMs / 1000 - Number(t)) > SIGNATURE_WINDOW_SECONDS)
    return { ok: false, code: 'stale_signature' };
  return { ok: true, form: 'timestamp' };
}

function digest(secret: string, body: string | Uint8Array, t?: string): Buffer {
  const hmac = createHmac('sha256', secret);
  if (t !== undefined) hmac.update(`${t}.`);
  return hmac.update(body).digest();
}
