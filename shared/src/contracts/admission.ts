import { createHash } from 'node:crypto';
import { z } from 'zod';
import { audioEncodingSchema, carrierSchema, timestampSchema } from './session-values.ts';

/** A carrier's stream ticket: 32 random bytes, base64url. */
export const TICKET_PATTERN = /^[A-Za-z0-9_-]{43}$/;
/** A realtime token: `ek_` and 32 random bytes, base64url. */
export const REALTIME_TOKEN_PATTERN = /^ek_[A-Za-z0-9_-]{43}$/;

/** Life of a ticket that no dial carries, in seconds. */
export const TICKET_LIFE_SECONDS = 60;
/** Life of a participant token, in seconds. */
export const PARTICIPANT_TOKEN_LIFE_SECONDS = 600;

/** How tickets and tokens are stored and asked for. */
export function credentialDigest(credential: string): string {
  return createHash('sha256').update(credential, 'utf8').digest('hex');
}

export const credentialKindSchema = z.enum(['ticket', 'realtime', 'participant']);
export type CredentialKind = z.infer<typeof credentialKindSchema>;

/** A project's API key, as clients of `/v1/realtime` may send it. */
export const API_KEY_PATTERN = /^sk-svc-[0-9A-Za-z]{40}$/;

const digestSchema = z.string().regex(/^[0-9a-f]{64}$/);

/** Asked before 101. Changes nothing. `path` (with the ticket, as dialled) is what the carrier signed. */
export const admissionCheckRequest = z.object({
  kind: credentialKindSchema,
  digest: digestSchema,
  carrier: carrierSchema.optional(),
  path: z.string().max(4096).optional(),
  /** Lower-case names; only those the carrier's signature needs. */
  signature_headers: z.record(z.string().max(64), z.string().max(2048)).optional(),
});
export type AdmissionCheckRequest = z.infer<typeof admissionCheckRequest>;

export const admissionCheckResponse = z.object({ session_id: z.uuid(), expires_at: timestampSchema });
export type AdmissionCheckResponse = z.infer<typeof admissionCheckResponse>;

/**
 * Claims the credential for one socket and asks for the plan. The same `claim_id` may ask again and gets the same
 * answer. `digest` for tickets and realtime tokens, `token` for participant JWTs. An API key (`token`) mints a session
 * with `agent_id` and claims it.
 */
export const redeemRequest = z
  .object({
    kind: z.enum([...credentialKindSchema.options, 'api_key']),
    digest: digestSchema.optional(),
    agent_id: z.string().max(64).optional(),
    token: z.string().max(4096).optional(),
    claim_id: z.string().min(8).max(64),
    gateway_id: z.string().min(4).max(64),
    start: z.object({
      carrier: carrierSchema.optional(),
      carrier_call_id: z.string().max(256).optional(),
      stream_id: z.string().max(256).optional(),
      encoding: audioEncodingSchema,
      sample_rate: z.number().int().min(8000).max(48_000),
    }),
    /** Browser's `Origin`, for credentials bound to one. */
    origin: z.string().max(512).optional(),
  })
  .refine(
    ({ kind, token, digest, agent_id }) => {
      if (kind === 'api_key') return token !== undefined && agent_id !== undefined;
      return kind === 'participant' ? token !== undefined : digest !== undefined;
    },
    { message: 'token for participants, token and agent_id for API keys, digest otherwise' },
  );
export type RedeemRequest = z.infer<typeof redeemRequest>;

/** Body of every refusal on the internal API. */
export const internalError = z.object({ code: z.string(), detail: z.string() });
export type InternalErrorCode =
  | 'credential_invalid'
  | 'signature_invalid'
  | 'in_use'
  | 'session_over'
  | 'call_id_mismatch'
  | 'limit'
  | 'origin_refused'
  | 'agent_refused'
  | 'insufficient_balance';
