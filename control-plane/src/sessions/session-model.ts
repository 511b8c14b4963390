import { Schema, type Connection, type Model } from 'mongoose';
import type { CallMetrics, Usage } from '@parley/shared/contracts/call-events';
import {
  CARRIERS,
  SESSION_STATUSES,
  type CarrierName,
  type Channel,
  type Direction,
  type SessionStatus,
} from '@parley/shared/contracts/session-values';

export type RealtimeAudioFormat = 'pcm16_24000' | 'pcmu_8000' | 'pcma_8000';

/** One conversation, from permission to its end. */
export interface Session {
  /** UUID v7. */
  _id: string;
  orgId: string;
  projectId: string;
  agentId: string | null;
  /** The version it keeps to its end. */
  agentVersion: number | null;
  channel: Channel;
  direction: Direction;
  provider: CarrierName | null;
  transport: string;
  status: SessionStatus;
  llmId: string;
  sttId: string;
  ttsId: string;
  ttsVoiceId: string | null;
  /** As agreed before the call: what the creator asked for and the agent allows. */
  record: boolean;
  /** null = the agent's. */
  postCallAnalysisIds: string[] | null;
  variables: Record<string, string>;
  userIdentifier: string | null;
  attemptNumber: number;
  /** Fixed when a realtime session was minted. */
  audio: { inputFormat: RealtimeAudioFormat; outputFormat: RealtimeAudioFormat } | null;
  clientTools: boolean;
  preCall: { state: 'running' | 'done' | 'failed'; deadline: Date } | null;

  fromNumber: string | null;
  toNumber: string | null;
  telephonyAccountId: string | null;
  phoneNumberId: string | null;
  inboundDeploymentId: string | null;
  campaignId: string | null;
  contactId: string | null;
  testRunId: string | null;
  carrierCallId: string | null;
  carrierCause: string | null;
  carrierCost: string | null;
  /** When the carrier said that the call is over; no report by then means that the gateway is told. */
  carrierEndedAt: Date | null;
  /** A blind transfer under way at the carrier. */
  transfer: { transferId: string; to: string; callerId: string | null; ringTimeoutSeconds: number } | null;

  gatewayId: string | null;
  claimId: string | null;
  /** -1 until somebody joined. */
  leg: number;
  answeredAt: Date | null;
  startedAt: Date | null;
  endedAt: Date | null;
  endedBy: string | null;
  hangupReason: string | null;
  failureReason: string | null;
  language: string | null;
  messageCount: number;
  durationSeconds: number | null;
  agentDurationSeconds: number | null;
  transferDurationSeconds: number | null;
  avgAgentLatencyMs: number | null;
  avgUserLatencyMs: number | null;
  goalStatus: string | null;
  answeredBy: string | null;
  outcome: string | null;
  metrics: CallMetrics | null;
  usage: Usage | null;
  /** Id of the `call_ended` event that closed it. */
  reportId: string | null;
  closedBy: 'report' | 'reaper' | 'carrier' | 'api' | 'expiry' | null;
  postCall: { status: 'pending' | 'running' | 'done' | 'failed' | 'skipped'; finishedAt: Date | null };
  recordingId: string | null;
  /** Scopes of `bus.slots` it holds a place in. */
  slotScopes: string[];
  /** No unclaimed credential lives longer: with nobody joined, the session expires then. */
  joinBy: Date | null;
  erasedAt: Date | null;
  /** To erase as soon as it is over. */
  eraseAtEnd: boolean;
  createdAt: Date;
  updatedAt: Date;
}

const nullableString = { type: String, default: null };
const nullableNumber = { type: Number, default: null };
const nullableDate = { type: Date, default: null };

const sessionSchema = new Schema<Session>(
  {
    _id: { type: String, required: true },
    orgId: { type: String, required: true },
    projectId: { type: String, required: true },
    agentId: nullableString,
    agentVersion: nullableNumber,
    channel: { type: String, enum: ['web', 'telephony'], required: true },
    direction: { type: String, enum: ['web', 'inbound', 'outbound'], required: true },
    provider: { type: String, enum: [...CARRIERS, null], default: null },
    transport: { type: String, required: true },
    status: { type: String, enum: SESSION_STATUSES, required: true },
    llmId: { type: String, required: true },
    sttId: { type: String, required: true },
    ttsId: { type: String, required: true },
    ttsVoiceId: nullableString,
    record: { type: Boolean, default: true },
    postCallAnalysisIds: { type: [String], default: null },
    // Keys are the tenant's and may hold dots and dollars: read and written whole.
    variables: { type: Schema.Types.Mixed, default: {} },
    userIdentifier: nullableString,
    attemptNumber: { type: Number, default: 1 },
    audio: { type: Schema.Types.Mixed, default: null },
    clientTools: { type: Boolean, default: true },
    preCall: { type: Schema.Types.Mixed, default: null },
    fromNumber: nullableString,
    toNumber: nullableString,
    telephonyAccountId: nullableString,
    phoneNumberId: nullableString,
    inboundDeploymentId: nullableString,
    campaignId: nullableString,
    contactId: nullableString,
    testRunId: nullableString,
    carrierCallId: nullableString,
    carrierCause: nullableString,
    carrierCost: nullableString,
    carrierEndedAt: nullableDate,
    transfer: { type: Schema.Types.Mixed, default: null },
    gatewayId: nullableString,
    claimId: nullableString,
    leg: { type: Number, default: -1 },
    answeredAt: nullableDate,
    startedAt: nullableDate,
    endedAt: nullableDate,
    endedBy: nullableString,
    hangupReason: nullableString,
    failureReason: nullableString,
    language: nullableString,
    messageCount: { type: Number, default: 0 },
    durationSeconds: nullableNumber,
    agentDurationSeconds: nullableNumber,
    transferDurationSeconds: nullableNumber,
    avgAgentLatencyMs: nullableNumber,
    avgUserLatencyMs: nullableNumber,
    goalStatus: nullableString,
    answeredBy: nullableString,
    outcome: nullableString,
    metrics: { type: Schema.Types.Mixed, default: null },
    usage: { type: Schema.Types.Mixed, default: null },
    reportId: nullableString,
    closedBy: nullableString,
    postCall: { type: Schema.Types.Mixed, default: { status: 'pending', finishedAt: null } },
    recordingId: nullableString,
    slotScopes: { type: [String], default: [] },
    joinBy: nullableDate,
    erasedAt: nullableDate,
    eraseAtEnd: { type: Boolean, default: false },
    createdAt: { type: Date, required: true },
    updatedAt: { type: Date, required: true },
  },
  { collection: 'sessions', versionKey: false, minimize: false },
);

sessionSchema.index({ projectId: 1, createdAt: -1 });
sessionSchema.index({ agentId: 1, createdAt: -1 });
sessionSchema.index({ status: 1, joinBy: 1 });
// One session for one call of one account, however often the carrier tells of it.
sessionSchema.index(
  { telephonyAccountId: 1, carrierCallId: 1 },
  { unique: true, partialFilterExpression: { carrierCallId: { $type: 'string' } } },
);

export type SessionModel = Model<Session>;

export function sessionModel(connection: Connection): SessionModel {
  return connection.model<Session>('Session', sessionSchema);
}
