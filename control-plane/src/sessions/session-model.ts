import type { IndexDefinition } from 'mongoose';
import type { CallMetrics, Usage } from '@parley/shared/contracts/call-events';
import {
  SESSION_STATUSES,
  type CarrierName,
  type Channel,
  type Direction,
  type SessionStatus,
} from '@parley/shared/contracts/session-values';
import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

export const REALTIME_AUDIO_FORMATS = ['pcm16_24000', 'pcmu_8000', 'pcma_8000'] as const;
export type RealtimeAudioFormat = (typeof REALTIME_AUDIO_FORMATS)[number];

/** The transport of a session that is written, not spoken. */
export const TEXT_TRANSPORT = 'text';

/** What one leg of a call used. */
export interface LegAccount {
  usage: Usage;
  agent_talk_ms: number;
  transfer_ms: number;
}

/** One conversation, from permission to its end. `_id` is a UUID v7. */
export interface SessionRecord extends StoredRecord {
  org_id: string;
  project_id: string;
  agent_id: string | null;
  /** The version it keeps to its end. */
  agent_version: number | null;
  channel: Channel;
  direction: Direction;
  provider: CarrierName | null;
  /** Open: `websocket`, `media_stream`, `text`. */
  transport: string;
  status: SessionStatus;
  llm_id: string;
  stt_id: string;
  tts_id: string;
  tts_voice_id: string | null;
  /** As agreed before the call: what the creator asked for and agent and project allow. */
  record: boolean;
  /** Whether what was said is kept after the analyses. */
  store_transcript: boolean;
  /** How long the agent's version lets it be kept, in days after its end; null: as project and org say. */
  retention_days: number | null;
  /** null = the agent's. */
  post_call_analysis_ids: string[] | null;
  variables: Record<string, string>;
  user_identifier: string | null;
  attempt_number: number;
  /** Fixed when a realtime session was minted. */
  audio: { input_format: RealtimeAudioFormat; output_format: RealtimeAudioFormat } | null;
  client_tools: boolean;
  /** Begun by a visitor of a public page: nothing is known of them, and nothing is remembered. */
  widget: boolean;
  /** The agent's call before the call; its answer joins `variables`. */
  pre_call: { state: 'running' | 'done' | 'failed'; deadline: Date } | null;

  from_number: string | null;
  to_number: string | null;
  /** Both numbers, for searching by either. Kept by the store. */
  numbers: string[];
  telephony_account_id: string | null;
  phone_number_id: string | null;
  inbound_deployment_id: string | null;
  campaign_id: string | null;
  contact_id: string | null;
  test_run_id: string | null;
  /** Of a test: `tool_mocks` of its plan as JSON, whose keys are the tenant's. */
  tool_mocks: string | null;
  carrier_call_id: string | null;
  carrier_cause: string | null;
  carrier_cost: string | null;
  /** When the carrier said that the call is over; without a report by soon after, the gateway is told. */
  carrier_ended_at: Date | null;
  /** A blind transfer under way at the carrier. */
  transfer: SessionTransfer | null;

  gateway_id: string | null;
  claim_id: string | null;
  /** -1 until somebody joined. */
  leg: number;
  /** By number of the leg, as each has reported. */
  legs?: Record<string, LegAccount>;
  claimed_at: Date | null;
  /** When media first flowed. */
  started_at: Date | null;
  ended_at: Date | null;
  ended_by: string | null;
  hangup_reason: string | null;
  failure_reason: string | null;
  language: string | null;
  message_count: number;
  duration_seconds: number | null;
  agent_duration_seconds: number | null;
  transfer_duration_seconds: number | null;
  avg_agent_latency_ms: number | null;
  avg_user_latency_ms: number | null;
  goal_status: string | null;
  answered_by: string | null;
  outcome: string | null;
  metrics: CallMetrics | null;
  usage: Usage | null;
  /** Id of the `call_ended` event that closed it. */
  report_id: string | null;
  closed_by: 'report' | 'reaper' | 'carrier' | 'api' | 'expiry' | null;
  post_call_status: 'pending' | 'running' | 'done' | 'failed' | 'skipped';
  post_call_finished_at: Date | null;
  recording_id: string | null;
  /** Scopes of `bus.slots` it holds a place in. */
  slot_scopes: string[];
  /** No unclaimed credential lives longer; with nobody joined the session expires then. */
  join_by: Date | null;
  /** Since when nobody holds the call, as the reaper saw it. */
  unheld_since: Date | null;
  erased_at: Date | null;
  /** To be erased as soon as it is over, or not erased to the end yet. */
  erase_at_end: boolean;
  /** It is over, and not all that follows has been done. */
  follow_up?: boolean;
}

export interface SessionTransfer {
  transfer_id: string;
  to: string;
  caller_id: string | null;
  ring_timeout_seconds: number;
}

const text = { type: String, default: null };
const number = { type: Number, default: null };
const date = { type: Date, default: null };
const mixed = { type: Object, default: null };

/** Filters of the list that may fit few of very many sessions. A channel is filtered by its directions. */
const LISTED_BY = [
  'agent_id',
  'agent_version',
  'campaign_id',
  'direction',
  'goal_status',
  'language',
  'numbers',
  'provider',
  'status',
  'user_identifier',
] as const;

export const sessionCollection = defineCollection<SessionRecord, 'project'>({
  name: 'sessions',
  tenancy: 'project',
  fields: {
    agent_id: text,
    agent_version: number,
    channel: { type: String, required: true },
    direction: { type: String, required: true },
    provider: text,
    transport: { type: String, required: true },
    status: { type: String, enum: SESSION_STATUSES, required: true },
    llm_id: { type: String, required: true },
    stt_id: { type: String, required: true },
    tts_id: { type: String, required: true },
    tts_voice_id: text,
    record: { type: Boolean, default: true },
    store_transcript: { type: Boolean, default: true },
    retention_days: number,
    post_call_analysis_ids: { type: [String], default: null },
    // Keys are the tenant's: read and written whole, never by path.
    variables: { type: Object, default: {} },
    user_identifier: text,
    attempt_number: { type: Number, default: 1 },
    audio: mixed,
    client_tools: { type: Boolean, default: true },
    widget: { type: Boolean, default: false },
    pre_call: mixed,
    from_number: text,
    to_number: text,
    numbers: { type: [String], default: [] },
    telephony_account_id: text,
    phone_number_id: text,
    inbound_deployment_id: text,
    campaign_id: text,
    contact_id: text,
    test_run_id: text,
    tool_mocks: text,
    carrier_call_id: text,
    carrier_cause: text,
    carrier_cost: text,
    carrier_ended_at: date,
    transfer: mixed,
    gateway_id: text,
    claim_id: text,
    leg: { type: Number, default: -1 },
    legs: { type: Object },
    claimed_at: date,
    started_at: date,
    ended_at: date,
    ended_by: text,
    hangup_reason: text,
    failure_reason: text,
    language: text,
    message_count: { type: Number, default: 0 },
    duration_seconds: number,
    agent_duration_seconds: number,
    transfer_duration_seconds: number,
    avg_agent_latency_ms: number,
    avg_user_latency_ms: number,
    goal_status: text,
    answered_by: text,
    outcome: text,
    metrics: mixed,
    usage: mixed,
    report_id: text,
    closed_by: text,
    post_call_status: { type: String, default: 'pending' },
    post_call_finished_at: date,
    recording_id: text,
    slot_scopes: { type: [String], default: [] },
    join_by: date,
    unheld_since: date,
    erased_at: date,
    erase_at_end: { type: Boolean, default: false },
    follow_up: { type: Boolean },
  },
  indexes: [
    [{ org_id: 1, project_id: 1, created_at: -1, _id: -1 }],
    [{ org_id: 1, project_id: 1, updated_at: -1, _id: -1 }],
    [{ org_id: 1, project_id: 1, duration_seconds: -1, _id: -1 }],
    // Lists leave test runs out: with `test_run_id` in the index their totals are counted from its keys.
    [{ org_id: 1, project_id: 1, test_run_id: -1, created_at: -1, _id: -1 }],
    ...LISTED_BY.map((field): [IndexDefinition] => [
      { org_id: 1, project_id: 1, [field]: 1, test_run_id: 1, created_at: -1, _id: -1 },
    ]),
    [{ status: 1, _id: 1 }],
    // What retention has to erase.
    [{ org_id: 1, project_id: 1, erased_at: 1, ended_at: 1, _id: 1 }],
    [{ retention_days: 1, erased_at: 1, ended_at: 1, _id: 1 }],
    [{ erase_at_end: 1, _id: 1 }, { partialFilterExpression: { erase_at_end: true } }],
    [{ follow_up: 1, _id: 1 }, { partialFilterExpression: { follow_up: true } }],
    // One session for one call of one account, however often the carrier tells of it.
    [
      { telephony_account_id: 1, carrier_call_id: 1 },
      {
        unique: true,
        partialFilterExpression: {
          telephony_account_id: { $type: 'string' },
          carrier_call_id: { $type: 'string' },
        },
      },
    ],
  ],
});
