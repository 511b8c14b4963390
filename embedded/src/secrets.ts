import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { carrierEmulators } from '@parley/emulators/carriers/carrier-emulators';
import { CARRIERS, carrierSchema, type CarrierName } from '@parley/shared/contracts/session-values';
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
  carriers: z.partialRecord(carrierSchema, z.record(z.string(), z.string())),
});

export type EmbeddedSecrets = z.infer<typeof secretsSchema> & {
  carriers: Record<CarrierName, Record<string, string>>;
};

/** The installation's own secrets: made on the first start, kept in a file that only its user can read. */
export function loadSecrets(file: string): EmbeddedSecrets {
  if (existsSync(file)) {
    const kept = secretsSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
    const secrets = withCarriers(kept);
    if (CARRIERS.some((name) => !kept.carriers[name])) saveSecrets(file, secrets);
    return secrets;
  }
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const secrets = withCarriers({
    encryption_keys: `k${sortableId().slice(0, 10)}:${randomBytes(32).toString('base64')}`,
    jwt_private_keys: JSON.stringify([
      { ...privateKey.export({ format: 'jwk' }), kid: `k${sortableId().slice(0, 10)}` },
    ]),
    internal_token: randomBytes(32).toString('base64url'),
    demonstration_key: null,
    carriers: {},
  });
  saveSecrets(file, secrets);
  return secrets;
}

/** With an account at each emulated carrier, also at one that has come since the file was written. */
function withCarriers(secrets: z.infer<typeof secretsSchema>): EmbeddedSecrets {
  const accounts = CARRIERS.map(
    (name) => [name, secrets.carriers[name] ?? carrierEmulators[name].newAccount()] as const,
  );
  return {
    ...secrets,
    carriers: Object.fromEntries(accounts) as EmbeddedSecrets['carriers'],
  };
}

export function saveSecrets(file: string, secrets: EmbeddedSecrets): void {
  writePrivateFile(file, JSON.stringify(secrets, null, 2));
}
