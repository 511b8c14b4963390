import { createLocalJWKSet, exportJWK, importJWK, jwtVerify, SignJWT } from 'jose';
import type { CryptoKey, JSONWebKeySet, JWK, JWTPayload } from 'jose';

/**
 * ES256 keys for the tokens we give out (RFC 7518). The first signs; all of them verify, so a key can be replaced
 * while tokens of the old one still live.
 */
export class SigningKeys {
  readonly #privateKey: CryptoKey;
  readonly #keyId: string;
  readonly #publicSet: JSONWebKeySet;
  readonly #resolve: ReturnType<typeof createLocalJWKSet>;

  private constructor(privateKey: CryptoKey, keyId: string, publicSet: JSONWebKeySet) {
    this.#privateKey = privateKey;
    this.#keyId = keyId;
    this.#publicSet = publicSet;
    this.#resolve = createLocalJWKSet(publicSet);
  }

  /** @param jwks private P-256 keys with a `kid` each */
  static async from(jwks: readonly JWK[]): Promise<SigningKeys> {
    const [first] = jwks;
    if (!first?.kid) throw new Error('At least one signing key with a kid is required.');
    const privateKey = (await importJWK({ ...first, alg: 'ES256' }, 'ES256')) as CryptoKey;
    const keys = await Promise.all(jwks.map(toPublic));
    return new SigningKeys(privateKey, first.kid, { keys });
  }

  /** What `/.well-known/jwks.json` answers. */
  get publicSet(): JSONWebKeySet {
    return this.#publicSet;
  }

  /** `claims` are signed as they are: `iat`, `exp`, `iss`, `aud` and the rest come from the caller. */
  sign(claims: JWTPayload): Promise<string> {
    return new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', kid: this.#keyId, typ: 'JWT' })
      .sign(this.#privateKey);
  }

  /** @throws JOSEError (`ERR_JWT_EXPIRED`, `ERR_JWS_…`) */
  async verify(
    token: string,
    expected: { issuer: string; audience: string; now: Date },
  ): Promise<JWTPayload> {
    const { payload } = await jwtVerify(token, this.#resolve, {
      algorithms: ['ES256'],
      issuer: expected.issuer,
      audience: expected.audience,
      currentDate: expected.now,
      clockTolerance: 5,
      requiredClaims: ['sub', 'exp', 'iat'],
    });
    return payload;
  }
}

async function toPublic(jwk: JWK): Promise<JWK> {
  const { d: _private, ...publicPart } = jwk;
  const exported = await exportJWK(await importJWK({ ...publicPart, alg: 'ES256' }, 'ES256'));
  return { ...exported, kid: jwk.kid!, alg: 'ES256', use: 'sig' };
}
