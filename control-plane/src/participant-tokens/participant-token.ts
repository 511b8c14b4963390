import { errors, jwtVerify, SignJWT, type CryptoKey, type JWTVerifyGetKey, type KeyObject } from 'jose';
import { PARTICIPANT_TOKEN_LIFE_SECONDS } from '@parley/shared/contracts/admission';
import { UnauthorizedError } from '@parley/shared/errors/app-error';

/** Audience of every token that opens media; API tokens have another one. */
export const MEDIA_AUDIENCE = 'parley:media';

/** How long after `exp` a claim made in time may still be repeated; whether it was is in the database. */
const REPEAT_TOLERANCE_SECONDS = 15 * 60;

export interface ParticipantSigningKey {
  kid: string;
  privateKey: CryptoKey | KeyObject;
}

/**
 * Signs what a browser holds: permission to join one room, once, within ten minutes (RFC 7519, ES256).
 * @returns the token, its `jti` and the end of its life
 */
export async function signParticipantToken(
  claims: { sessionId: string; room: string; jti: string },
  { key, issuer, nowMs }: { key: ParticipantSigningKey; issuer: string; nowMs: number },
): Promise<{ token: string; expiresAt: Date }> {
  const issuedAt = Math.floor(nowMs / 1000);
  const expires = issuedAt + PARTICIPANT_TOKEN_LIFE_SECONDS;
  const token = await new SignJWT({ room: claims.room, typ: 'participant' })
    .setProtectedHeader({ alg: 'ES256', kid: key.kid, typ: 'JWT' })
    .setIssuer(issuer)
    .setAudience(MEDIA_AUDIENCE)
    .setSubject(claims.sessionId)
    .setJti(claims.jti)
    .setIssuedAt(issuedAt)
    .setExpirationTime(expires)
    .sign(key.privateKey);
  return { token, expiresAt: new Date(expires * 1000) };
}

/**
 * Checks signature, issuer, audience, kind and the bound room. A token that has expired a moment ago passes: its
 * claim may be a repeated one, and the record of its `jti` decides that.
 * @throws UnauthorizedError `credential_invalid` for whatever is wrong with it
 */
export async function verifyParticipantToken(
  token: string,
  { getKey, issuer, nowMs }: { getKey: JWTVerifyGetKey; issuer: string; nowMs: number },
): Promise<{ sessionId: string; room: string; jti: string }> {
  try {
    const { payload } = await jwtVerify(token, getKey, {
      algorithms: ['ES256'],
      issuer,
      audience: MEDIA_AUDIENCE,
      currentDate: new Date(nowMs),
      clockTolerance: REPEAT_TOLERANCE_SECONDS,
      requiredClaims: ['sub', 'jti', 'exp'],
    });
    const { sub, jti, room, typ } = payload;
    if (typ !== 'participant' || typeof room !== 'string' || !sub || !jti || room !== `room_${sub}`)
      throw refused();
    return { sessionId: sub, room, jti };
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError) throw refused();
    throw error;
  }
}

function refused(): UnauthorizedError {
  return new UnauthorizedError('credential_invalid', 'The token is not valid.');
}
