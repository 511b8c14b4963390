import { errors } from 'jose';
import { PARTICIPANT_TOKEN_LIFE_SECONDS } from '@parley/shared/contracts/admission';
import { UnauthorizedError } from '@parley/shared/errors/app-error';
import type { SigningKeys } from '../crypto/signing-keys.ts';

/** Audience of every token that opens media; API tokens have another one. */
export const MEDIA_AUDIENCE = 'parley:media';

/** How long after `exp` a claim made in time may still be repeated; whether one was made is in the database. */
const REPEAT_TOLERANCE_MS = 15 * 60 * 1000;

export interface TokenContext {
  keys: SigningKeys;
  issuer: string;
  nowMs: number;
}

/** Signs what a browser holds: permission to join one room, once, within ten minutes (RFC 7519, ES256). */
export async function signParticipantToken(
  claims: { sessionId: string; room: string; jti: string },
  { keys, issuer, nowMs }: TokenContext,
): Promise<{ token: string; expiresAt: Date }> {
  const iat = Math.floor(nowMs / 1000);
  const exp = iat + PARTICIPANT_TOKEN_LIFE_SECONDS;
  const token = await keys.sign({
    iss: issuer,
    aud: MEDIA_AUDIENCE,
    sub: claims.sessionId,
    room: claims.room,
    jti: claims.jti,
    typ: 'participant',
    iat,
    exp,
  });
  return { token, expiresAt: new Date(exp * 1000) };
}

/**
 * Checks signature, issuer, audience, kind and the bound room. A token that expired a moment ago passes: its claim may
 * be a repeated one, and the record of its `jti` decides that.
 * @throws UnauthorizedError `credential_invalid` for whatever is wrong with it
 */
export async function verifyParticipantToken(
  token: string,
  { keys, issuer, nowMs }: TokenContext,
): Promise<{ sessionId: string; room: string; jti: string }> {
  try {
    const { sub, jti, room, typ } = await keys.verify(token, {
      issuer,
      audience: MEDIA_AUDIENCE,
      now: new Date(nowMs - REPEAT_TOLERANCE_MS),
    });
    if (typ !== 'participant' || !sub || !jti || room !== `room_${sub}`) throw refused();
    return { sessionId: sub, room: `room_${sub}`, jti };
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError) throw refused();
    throw error;
  }
}

function refused(): UnauthorizedError {
  return new UnauthorizedError('credential_invalid', 'Invalid token.');
}
