// Prints a value for JWT_PRIVATE_KEYS: one private P-256 key (RFC 7517). Put a new one in front to rotate.
import { generateKeyPairSync, randomBytes } from 'node:crypto';

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
console.log(
  JSON.stringify([{ ...privateKey.export({ format: 'jwk' }), kid: randomBytes(6).toString('base64url') }]),
);
