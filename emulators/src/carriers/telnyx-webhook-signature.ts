import { createPrivateKey, createPublicKey, sign, type KeyObject } from 'node:crypto';

/** PKCS #8 of an Ed25519 key up to the 32 bytes of its seed (RFC 8410). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Headers of a webhook: Ed25519 over `timestamp|body`; carriers 3.5. @param timestamp Unix seconds */
export function signTelnyxWebhook(privateKey: KeyObject, timestamp: string, body: string) {
  return {
    'telnyx-timestamp': timestamp,
    'telnyx-signature-ed25519': sign(null, Buffer.from(`${timestamp}|${body}`), privateKey).toString(
      'base64',
    ),
  };
}

/** @param seed base64 of 32 bytes */
export function telnyxPrivateKey(seed: string): KeyObject {
  const key = Buffer.concat([PKCS8_PREFIX, Buffer.from(seed, 'base64')]);
  return createPrivateKey({ key, format: 'der', type: 'pkcs8' });
}

/** Base64 of 32 bytes, as the vendor's portal shows it. */
export function telnyxPublicKey(privateKey: KeyObject): string {
  const { x } = createPublicKey(privateKey).export({ format: 'jwk' });
  return Buffer.from(x!, 'base64url').toString('base64');
}
