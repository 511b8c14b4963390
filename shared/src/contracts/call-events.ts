import { z } from 'zod';
import { audioEncodingSchema, timestampSchema } from './session-values.ts';
import { recordingResultSchema } from './recordings.ts';
import { turnSchema } from './turn.ts';

/** Media flows; the first event of each leg. */
export const callStartedData = z.object({
  answered_at: timestampSchema,
  carrier_call_id: z.string().optional(),
  stream_id: z.string().optional(),
  encoding: audioEncodingSchema,
  sample_rate: z.number().int(),
  /** Providers that are emulators: never empty without the operator being told. */
  emulated: z.array(z.string()),
});

export const transferData = z.object({
  transfer_id: z.string(),
  phase: z.enum(['begun', 'bridged', 'failed']),
  destination_id: z.string().optional(),
  code: z.string().optional(),
});

/** Asks the control plane to do something at the carrier, once per `command_id`. */
export const carrierCommandData = z.object({
  command_id: z.string(),
  action: z.enum(['hangup', 'transfer', 'send_dtmf']),
  args: z.object({
    digits: z.string().max(64).optional(),
    to: z.string().max(64).optional(),
    caller_id: z.string().max(64).optional(),
    ring_timeout_seconds: z.number().int().optional(),
    transfer_id: z.string().optional(),
  }),
});
export type CarrierCommandData = z.infer<typeof carrierCommandData>;

export const commandResultData = z.object({
  command_id: z.string(),
  ok: z.boolean(),
  code: z.string().optional(),
});

export const usageSchema = z.object({
  stt_seconds: z.number(),
  llm_input_tokens: z.number().int(),
  llm_output_tokens: z.number().int(),
  tts_characters: z.number().int(),
  carrier_seconds: z.number(),
});
export type Usage = z.infer<typeof usageSchema>;

/** A distribution of milliseconds over the turns of a call. */
export const latencyStatsSchema = z.object({
  count: z.number().int(),
  avg: z.number(),
  p50: z.number(),
  p90: z.number(),
  p95: z.number(),
  max: z.number(),
});

export const metricsSchema = z.object({
  turns: z.number().int(),
  turn_e2e_ms: latencyStatsSchema.nullable(),
  stt_final_ms: latencyStatsSchema.nullable(),
  llm_first_token_ms: latencyStatsSchema.nullable(),
  tts_first_audio_ms: latencyStatsSchema.nullable(),
  knowledge_ms: latencyStatsSchema.nullable(),
  tool_ms: latencyStatsSchema.nullable(),
  caller_reply_ms: latencyStatsSchema.nullable(),
});
export type CallMetrics = z.infer<typeof metricsSchema>;

/**
 * How a call ended and all that was said: complete in itself, so that a session can be closed, analysed and
 * delivered from it alone, whatever was lost before. At most `MAX_REPORT_BYTES` as JSON.
 */
export const callReportSchema = z.object({
  answered_at: timestampSchema.nullable(),
  ended_at: timestampSchema,
  ended_by: z.string(),
  hangup_reason: z.string().optional(),
  failure_reason: z.string().optional(),
  duration_ms: z.number().int(),
  agent_talk_ms: z.number().int(),
  transfer_ms: z.number().int(),
  turns: z.array(turnSchema),
  /** Older turns were left out to keep the bound; they are in their events. */
  turns_truncated: z.boolean().default(false),
  metrics: metricsSchema,
  usage: usageSchema,
  variables: z.record(z.string(), z.string()),
  language: z.string().nullable(),
  recording: recordingResultSchema.optional(),
  last_index: z.number().int(),
});
export type CallReport = z.infer<typeof callReportSchema>;

export const MAX_REPORT_BYTES = 1024 * 1024;

/** Data schemas of the events that move something. All other types are stored and shown as they are. */
export const EVENT_DATA = {
  call_started: callStartedData,
  turn: turnSchema,
  transfer: transferData,
  carrier_command: carrierCommandData,
  command_result: commandResultData,
  recording: recordingResultSchema,
  call_ended: callReportSchema,
} as const;

/** Types that are only stored and shown. Open: unknown ones are stored, not refused. */
export type PlainEventType =
  | 'turn_decision'
  | 'interruption'
  | 'tool_started'
  | 'tool_finished'
  | 'dtmf'
  | 'flow_node'
  | 'language'
  | 'knowledge'
  | 'guardrail'
  | 'answer_class'
  | 'warning'
  | 'error';

export type CallEventType = keyof typeof EVENT_DATA | PlainEventType;

/** Envelope of everything a gateway reports. `id` and `index` are given when it happens and kept over retries. */
export const callEventSchema = z.object({
  v: z.literal(1),
  id: z.string().regex(/^evt_[0-9a-z]{26}$/),
  session_id: z.uuid(),
  gateway_id: z.string(),
  claim_id: z.string(),
  /** Rises by one within a leg, from the plan's `first_event_index`. */
  index: z.number().int().min(0),
  at: timestampSchema,
  /** From `answered_at`. */
  offset_ms: z.number().int(),
  type: z.string().min(1).max(64),
  data: z.record(z.string(), z.unknown()),
});
export type CallEvent = z.infer<typeof callEventSchema>;

/** Events that are never dropped, however full the queue to the event log is. */
export const NEVER_DROPPED: ReadonlySet<string> = new Set([
  'call_started',
  'turn',
  'tool_finished',
  'recording',
  'call_ended',
  'transfer',
  'carrier_command',
  'command_result',
]);

/** Unsent events a gateway keeps; beyond, `turn_decision` is dropped first and counted. */
export const MAX_UNSENT_EVENTS = 10_000;
