import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import type { Secret } from '@parley/shared/config/secret';
import { GATEWAY_HEADER, INTERNAL_PATHS } from '@parley/shared/contracts/addresses';
import {
  admissionCheckRequest,
  admissionCheckResponse,
  redeemRequest,
} from '@parley/shared/contracts/admission';
import { handOverRequest } from '@parley/shared/contracts/hand-over';
import { AppError, UnauthorizedError } from '@parley/shared/errors/app-error';
import { defineOperation, jsonBody, HttpResponse, streamBody, type Operation } from '../http/operation.ts';
import { invalid } from '../http/validation.ts';
import type { RecordingService } from '../recordings/recording-service.ts';
import type { AdmissionService } from './admission-service.ts';
import type { HandOvers } from './hand-overs.ts';

const GATEWAY_ID = /^gw_[A-Za-z0-9]{1,61}$/;
/** The largest recording: four hours of two channels at 48 kHz. */
const MAX_RECORDING_BYTES = 3_000_000_000;

/**
 * Options of all internal routes. Request bodies hold credentials, responses hold secrets: neither is ever logged.
 */
const COMMON = { tag: 'internal', access: 'internal', described: false, rateLimited: false } as const;

/** The internal routes, which gateways call on a listener of their own. */
export function admissionOperations({
  admissions,
  handOvers,
  recordings,
}: {
  admissions: AdmissionService;
  handOvers: HandOvers;
  recordings: RecordingService;
}): Operation[] {
  return [
    defineOperation({
      ...COMMON,
      id: 'checkAdmission',
      method: 'POST',
      path: INTERNAL_PATHS.check,
      summary: 'Check a credential before accepting a WebSocket upgrade',
      body: jsonBody(admissionCheckRequest),
      responses: {
        200: { description: 'The credential would be admitted.', schema: admissionCheckResponse },
      },
      handle: ({ body }) => admissions.check(body),
    }),
    defineOperation({
      ...COMMON,
      id: 'redeemAdmission',
      method: 'POST',
      path: INTERNAL_PATHS.redeem,
      summary: 'Claim a credential and get its session plan',
      body: jsonBody(redeemRequest),
      responses: { 200: { description: 'The session plan.', schema: z.unknown() } },
      handle: async ({ body }) =>
        new HttpResponse(200, await admissions.redeem(body), { 'Cache-Control': 'no-store' }),
    }),
    defineOperation({
      ...COMMON,
      id: 'handSessionOver',
      method: 'POST',
      path: INTERNAL_PATHS.handover('{session_id}') as '/internal/v1/sessions/{session_id}/handover',
      summary: 'Hand a running call over to another agent',
      body: jsonBody(handOverRequest),
      responses: { 200: { description: "The agent's part of a session plan.", schema: z.unknown() } },
      handle: async ({ params, body }) =>
        new HttpResponse(200, await handOvers.take(params.session_id, body), { 'Cache-Control': 'no-store' }),
    }),
    defineOperation({
      ...COMMON,
      id: 'uploadRecording',
      method: 'PUT',
      path: INTERNAL_PATHS.recording('{recording_id}') as '/internal/v1/recordings/{recording_id}',
      summary: 'Store the audio of a recording',
      body: streamBody(),
      responses: { 204: { description: 'The recording is stored, by this request or an earlier one.' } },
      handle: async ({ params, body, headers }) => {
        await recordings.upload(params.recording_id, body, announced(headers));
        return new HttpResponse(204, undefined);
      },
    }),
  ];
}

/** `Content-Length` and `Digest: sha-256=<base64>` (RFC 3230). */
function announced(headers: IncomingHttpHeaders): { sizeBytes: number; sha256: string } {
  const sizeBytes = Number(headers['content-length'] ?? NaN);
  if (!Number.isSafeInteger(sizeBytes))
    throw new AppError(411, 'length_required', 'The Content-Length header is required.');
  if (sizeBytes > MAX_RECORDING_BYTES)
    throw new AppError(413, 'too_large', 'The recording exceeds the size limit.');
  const digest = /(?:^|,)\s*sha-256=([A-Za-z0-9+/_-]{43}=?|[0-9a-f]{64})/i.exec(
    String(headers['digest'] ?? ''),
  )?.[1];
  if (digest === undefined) throw invalid(['header', 'digest'], 'must be sha-256=<base64>', 'missing');
  const sha256 = digest.length === 64 ? digest.toLowerCase() : Buffer.from(digest, 'base64').toString('hex');
  return { sizeBytes, sha256 };
}

/** Compares in a time that says nothing of the token. @returns the check of a gateway's request headers */
export function gatewayAuthentication(token: Secret) {
  const expected = digest(`Bearer ${token.reveal()}`);
  return (headers: Readonly<Record<string, string | string[] | undefined>>): void => {
    const given = headers['authorization'];
    const gateway = headers[GATEWAY_HEADER];
    const valid = timingSafeEqual(digest(typeof given === 'string' ? given : ''), expected);
    if (!valid || typeof gateway !== 'string' || !GATEWAY_ID.test(gateway)) throw new UnauthorizedError();
  };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest();
}
