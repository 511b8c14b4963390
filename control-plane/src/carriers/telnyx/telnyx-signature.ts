import { createPublicKey, verify, type KeyObject } from 'node:crypto';
import type { CarrierRequest } from '../carrier.ts';

/** SubjectPublicKeyInfo of an Ed25519 key up to the 32 bytes of the key itself (RFC 8410). */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

/** Older and younger callbacks than this are refused. */
const TOLERANCE_SECONDS = 300;

/**
 * Whether the callback was signed for this account: Ed25519 over `timestamp|body`. The URL is not covered, so whoever
 * handles the callback must see that the call belongs to the account of the path.
 */
export function verifyTelnyxWebhook(
  request: CarrierRequest,
  { publicKey, nowMs }: { publicKey: string; nowMs: number },
): boolean {
  const signature = Buffer.from(request.headers['telnyx-signature-ed25519'] ?? '', 'base64');
  const timestamp = request.headers['telnyx-timestamp'] ?? '';
  // A GET's query is not covered either: anybody could write one around an empty body.
  if (request.method !== 'POST' || signature.length !== 64 || !/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(nowMs / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return false;
  const key = publicKeyOf(publicKey);
  if (!key) return false;
  return verify(null, Buffer.concat([Buffer.from(`${timestamp}|`), request.body]), key, signature);
}

/** @returns undefined when the text is no base64 of 32 bytes */
export function publicKeyOf(base64: string): KeyObject | undefined {
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length !== 32) return undefined;
  return createPublicKey({ key: Buffer.concat([SPKI_PREFIX, bytes]), format: 'der', type: 'spki' });
}
