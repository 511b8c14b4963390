import { z } from 'zod';

/** Carriers whose media streams and signalling are spoken. */
export const CARRIERS = ['plivo', 'twilio', 'telnyx'] as const;
export const carrierSchema = z.enum(CARRIERS);
export type CarrierName = z.infer<typeof carrierSchema>;

/** Providers of speech and language models that are spoken to. The local voice is always there, so it comes last. */
export const PROVIDERS = ['deepgram', 'openai_compatible', 'elevenlabs', 'flite'] as const;
export const providerSchema = z.enum(PROVIDERS);
export type ProviderName = z.infer<typeof providerSchema>;

export const channelSchema = z.enum(['web', 'telephony']);
export type Channel = z.infer<typeof channelSchema>;

export const directionSchema = z.enum(['web', 'inbound', 'outbound']);
export type Direction = z.infer<typeof directionSchema>;

export const SESSION_STATUSES = [
  'created',
  'queued',
  'dialing',
  'ringing',
  'in_progress',
  'transferring',
  'transferred',
  'ended',
  'failed',
  'expired',
  'cancelled',
] as const;
export type SessionStatus = (typeof SESSION_STATUSES)[number];
/** Nothing leaves these. */
export const TERMINAL_STATUSES: readonly SessionStatus[] = ['ended', 'failed', 'expired', 'cancelled'];
/** Media may flow, or is about to. */
export const LIVE_STATUSES: readonly SessionStatus[] = ['in_progress', 'transferring', 'transferred'];

/** Who ended a call. Open on the wire: readers accept other words. */
export const ENDED_BY = ['caller', 'agent', 'api', 'system', 'carrier', 'transfer_target'] as const;
export type EndedBy = (typeof ENDED_BY)[number];

/** Why a call that worked came to its end. */
export const HANGUP_REASONS = [
  'caller_hangup',
  'agent_hangup',
  'api_hangup',
  'silence',
  'max_duration',
  'voicemail',
  'transferred',
  'budget',
  'consent_refused',
  'carrier_hangup',
  'shutdown',
  'outside_hours',
  'overflow',
  'blocked',
] as const;
export type HangupReason = (typeof HANGUP_REASONS)[number];

/** Why a call did not work. */
export const FAILURE_REASONS = [
  'no_answer',
  'busy',
  'rejected',
  'invalid_number',
  'blocked',
  'outside_hours',
  'queue_timeout',
  'insufficient_balance',
  'carrier_error',
  'media_timeout',
  'stt_error',
  'llm_error',
  'tts_error',
  'flow_loop',
  'missing_variable',
  'internal',
] as const;
export type FailureReason = (typeof FAILURE_REASONS)[number];

/**
 * How a call ended, as one value: the same words label the metric, the event and the record.
 * Exactly one of `hangup_reason` and `failure_reason` is set.
 */
export interface CallEndReason {
  ended_by: EndedBy;
  hangup_reason?: HangupReason;
  failure_reason?: FailureReason;
}

/** Sample encodings on a wire; `pcm16` is signed 16-bit little-endian. */
export const audioEncodingSchema = z.enum(['pcmu', 'pcma', 'pcm16']);

/** RFC 3339 in UTC with milliseconds. */
export const timestampSchema = z.iso.datetime({ offset: true });

/** What a memory of a caller may be. */
export const MEMORY_KINDS = ['fact', 'preference', 'summary', 'open_item'] as const;
export type MemoryKind = (typeof MEMORY_KINDS)[number];
