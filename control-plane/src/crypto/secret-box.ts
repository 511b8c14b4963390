import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';

/** One AES-256 key with the id that stored values name it by. */
export interface EncryptionKey {
  id: string;
  /** 32 bytes. */
  key: Uint8Array;
}

/**
 * Encrypts what must be readable again (provider and carrier credentials, webhook secrets): AES-256-GCM with a
 * random nonce. The first key encrypts, all of them decrypt: to rotate, put a new one in front.
 * @see NIST SP 800-38D
 */
export class SecretBox {
  readonly #keys: ReadonlyMap<string, Uint8Array>;
  readonly #current: EncryptionKey;

  constructor(keys: readonly EncryptionKey[]) {
    const [first] = keys;
    if (!first) throw new Error('At least one encryption key is required.');
    this.#current = first;
    this.#keys = new Map(keys.map(({ id, key }) => [id, key]));
  }

  /** @returns text that names its key: `v1.<key id>.<nonce, tag and ciphertext in base64url>` */
  encryptSecret(text: string): string {
    const nonce = randomBytes(12);
    const header = `v1.${this.#current.id}`;
    const cipher = createCipheriv('aes-256-gcm', this.#current.key, nonce).setAAD(Buffer.from(header));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return `${header}.${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')}`;
  }

  /** @throws Error when the key is not known or the text was changed */
  decryptSecret(stored: string): string {
    const [version, keyId = '', data = ''] = stored.split('.');
    const key = this.#keys.get(keyId);
    if (version !== 'v1' || !key)
      throw new Error(
        `The encryption key ${keyId} of a stored secret is missing. Add it back to ENCRYPTION_KEYS.`,
      );
    const bytes = Buffer.from(data, 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), { authTagLength: 16 })
      .setAAD(Buffer.from(`${version}.${keyId}`))
      .setAuthTag(bytes.subarray(12, 28));
    return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8');
  }

  /** A key of its own for `purpose`, the same in every process with these keys. */
  deriveKey(purpose: string): Buffer {
    return createHmac('sha256', this.#current.key).update(`parley:${purpose}`).digest();
  }
}

/** How a stored secret is read back. */
export interface MaskedSecret {
  set: boolean;
  last_four: string;
}

/** Short secrets show nothing: four characters of eight would be half of it. */
export function maskSecret(text: string): MaskedSecret {
  return { set: true, last_four: text.length >= 12 ? text.slice(-4) : '' };
}
