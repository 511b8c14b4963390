import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { sortableId } from '@parley/shared/ids/new-id';
import { writePrivateFile } from './data-folder.ts';

const secretsSchema = z.object({
  /** `id:base64` of 32 bytes, as `ENCRYPTION_KEYS` takes it. */
  encryption_keys: z.string(),
  /** A JSON array of private JWKs, as `JWT_PRIVATE_KEYS` takes it. */
  jwt_private_keys: z.string(),
  internal_token: z.string(),
  /** The demonstration's API key; null until the first start made it. */
  demonstration_key: z.string().nullable(),
  /** Accounts at the emulated carriers, kept so that their signatures stay valid over restarts. */
  carriers: z.object({
    plivo: z.object({ auth_id: z.string(), auth_token: z.string() }),
    twilio: z.object({ account_sid: z.string(), auth_token: z.string() }),
    /** `private_key`: base64 of the 32 bytes of an Ed25519 seed; the carrier's own, who signs with it. */
    telnyx: z.object({ api_key: z.string(), private_key: z.string() }),
  }),
});

export type EmbeddedSecrets = z.infer<typeof secretsSchema>;

/** The installation's own secrets: made on the first start, kept in a file that only its user can read. */
export function loadSecrets(file: string): EmbeddedSecrets {
  if (existsSync(file)) return secretsSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const secrets: EmbeddedSecrets = {
    encryption_keys: `k${sortableId().slice(0, 10)}:${randomBytes(32).toString('base64')}`,
    jwt_private_keys: JSON.stringify([
      { ...privateKey.export({ format: 'jwk' }), kid: `k${sortableId().slice(0, 10)}` },
    ]),
    internal_token: randomBytes(32).toString('base64url'),
    demonstration_key: null,
    carriers: {
      plivo: {
        auth_id: `MAEMULATED${randomBytes(5).toString('hex').toUpperCase()}`,
        auth_token: randomBytes(20).toString('hex'),
      },
      twilio: {
        account_sid: `AC${randomBytes(16).toString('hex')}`,
        auth_token: randomBytes(16).toString('hex'),
      },
      telnyx: {
        api_key: `KEYEMULATED${randomBytes(16).toString('hex')}`,
        private_key: randomBytes(32).toString('base64'),
      },
    },
  };
  saveSecrets(file, secrets);
  return secrets;
}

export function saveSecrets(file: string, secrets: EmbeddedSecrets): void {
  writePrivateFile(file, JSON.stringify(secrets, null, 2));
}
