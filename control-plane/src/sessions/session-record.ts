import type { FlowState } from '@parley/shared/contracts/flow-state';
import type { CallMetrics, CallReport } from '@parley/shared/contracts/call-events';
import type { Usage } from '@parley/shared/contracts/usage';
import type { CarrierName, Channel, Direction, SessionStatus } from '@parley/shared/contracts/session-values';
import type { StoredRecord } from '../storage/collection.ts';
import type { ReplyLatencies } from './reply-latencies.ts';
import type { SessionTreatment } from './session-treatment.ts';

export const REALTIME_AUDIO_FORMATS = ['pcm16_24000', 'pcmu_8000', 'pcma_8000'] as const;
export type RealtimeAudioFormat = (typeof REALTIME_AUDIO_FORMATS)[number];

/** The transport of a text-only session. */
export const TEXT_TRANSPORT = 'text';

/** Usage of one leg. */
export interface LegAccount {
  usage: Usage;
  agent_talk_ms: number;
  transfer_ms: number;
  hand_overs?: CallReport['hand_overs'];
}

/**
 * How far an outbound call has come on its way to the carrier. `claimed`: a process has taken it up; `sent`: its request
 * leaves or has left; `known`: the carrier has the call; `uncertain`: nobody knows whether it has; `gone`: there is nothing
 * more to do for it.
 */
export const DIAL_STATES = ['waiting', 'claimed', 'sent', 'known', 'uncertain', 'gone'] as const;
export type DialState = (typeof DIAL_STATES)[number];

/** The order in which calls that wait are dialled. */
export const DIAL_PRIORITIES = { transfer: 0, single: 1, campaign: 2 } as const;
export type DialKind = keyof typeof DIAL_PRIORITIES;

/** The dialling of an outbound session. */
export interface SessionDial {
  /** Names the request at the carrier; new each time that it is taken up. */
  id: string | null;
  state: DialState;
  kind: DialKind;
  priority: number;
  /** Whose wish it is; `api` and `webhook` have a limit of their own. */
  source: 'api' | 'webhook' | 'campaign' | 'transfer';
  /** Of `number_ids`, the number that is shown, and the account that it is at. */
  account_id: string;
  number_id: string;
  /** Numbers that may be shown. */
  number_ids: string[];
  queued_at: Date;
  not_before: Date;
  /** When it has been dialable and not dialled for too long; null, of earlier versions: it may wait. */
  give_up_at: Date | null;
  /** The process that has taken it up, and until when nobody else does. */
  owner: string | null;
  lease_until: Date | null;
  /** How often it was taken up. */
  tries: number;
  sent_at: Date | null;
  /** When the carrier is to be asked what became of it. */
  look_up_at: Date | null;
  answered_at: Date | null;
  ring_timeout_seconds: number;
  /** JSON; null: at any time. */
  calling_hours: string | null;
  contact_timezone: string | null;
  /** What the carrier calls the request, where that is not the call's id. */
  carrier_request_id: string | null;
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
  /** Days after its end that the agent's version lets the session be kept; null: as project and org say. */
  retention_days: number | null;
  /** null = the agent's. */
  post_call_analysis_ids: string[] | null;
  variables: Record<string, string>;
  /** Names of those that the request before the call, tools or the flow have given. Records of earlier versions have none. */
  trusted_variables?: string[];
  /** What it has otherwise than its agent, as JSON (`Overrides`). */
  overrides: string | null;
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
  /** What the list is searched by. Kept by the store. */
  words: string[];
  /** The words of its transcript, for searching. Records of earlier versions have none. */
  said?: string[];
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
  /** Of a session that is dialled here. */
  dial: SessionDial | null;
  /** A blind transfer under way at the carrier. */
  transfer: SessionTransfer | null;
  /** Of an inbound call that no agent takes. Records of earlier versions have none. */
  treatment?: SessionTreatment | null;
  /**
   * Of a call to whom a caller is to be transferred to: the caller's session. Such a session is in no list. Records of earlier
   * versions have neither.
   */
  parent_session_id?: string | null;
  consult?: SessionConsult | null;
  /** The last call to whom this caller was to be transferred to. */
  consult_id?: string | null;
  /** Where the call stands in the flow of the agent that speaks. */
  flow_state?: FlowState | null;
  /** Agents that the call was handed over to, in order; the session stays its first one's. */
  hand_overs?: HandOver[];

  gateway_id: string | null;
  claim_id: string | null;
  /** Number of the present leg; -1 until somebody has joined. */
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
  /** Of each reply, as the call's report tells. Records of earlier versions have none. */
  reply_latencies?: ReplyLatencies | null;
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
  /** Buckets of `bus.slots` in which the session holds a slot. */
  slot_scopes: string[];
  /** No unclaimed credential lives longer; with nobody joined the session expires then. */
  join_by: Date | null;
  /** Since when no gateway has held the call, as the reaper saw it. */
  unheld_since: Date | null;
  erased_at: Date | null;
  /** Whether the session must be erased once it is over, or its erasure is unfinished. */
  erase_at_end: boolean;
  /** Whether the session is over and steps that follow are still to be done. */
  follow_up?: boolean;
}

/** Another agent took the call over. */
export interface HandOver {
  handover_id: string;
  agent_id: string;
  version: number;
  /** Number of the leg in which it took the call over; those of earlier versions have none. */
  leg?: number;
  /** Number of the first turn that may be this agent's. */
  from_index: number;
  /** What its model is told instead of earlier turns; absent: it is told them. */
  summary?: string;
  /** Variables that the agent before has not passed on, as they were then. */
  hidden_variables?: readonly (readonly [name: string, value: string])[];
}

/**
 * How far a call has come to whom a caller is to be transferred to. `dialling`: nobody has answered; `briefing`: somebody has
 * and is told of the caller; `bridging`: they take the caller, and the carrier connects the two; `bridged`: it has; `over`.
 */
export const CONSULT_STATES = ['dialling', 'briefing', 'bridging', 'bridged', 'over'] as const;
export type ConsultState = (typeof CONSULT_STATES)[number];

/** A call to whom a caller is to be transferred to, of which the caller's session is the parent. */
export interface SessionConsult {
  state: ConsultState;
  extension: string | null;
  /** Said to who answers; empty once it is over. */
  brief: string;
}

export interface SessionTransfer {
  transfer_id: string;
  to: string;
  caller_id: string | null;
  ring_timeout_seconds: number;
  /** In the config of the agent that speaks. */
  destination_id?: string | null;
  /** Keys that are pressed when the other side has answered. */
  extension?: string | null;
  /** What came of it, where the carrier tells while the caller waits. */
  outcome?: 'answered' | 'failed';
}
