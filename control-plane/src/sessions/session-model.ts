import type { IndexDefinition, IndexOptions } from 'mongoose';
import { SESSION_STATUSES } from '@parley/shared/contracts/session-values';
import { defineCollection } from '../storage/collection.ts';
import type { SessionRecord } from './session-record.ts';

const text = { type: String, default: null };
const number = { type: Number, default: null };
const date = { type: Date, default: null };
const mixed = { type: Object, default: null };

/** Filters of the list that may fit few of very many sessions. A channel is filtered by its directions. */
const LISTED_BY = ['agent_id', 'agent_version', 'direction', 'provider', 'status'] as const;
/** The same of texts that most sessions do not have, or not before their end: those that have none are in no such index. */
const LISTED_BY_TEXT = [
  'campaign_id',
  'failure_reason',
  'goal_status',
  'hangup_reason',
  'language',
  'numbers',
  'outcome',
  'said',
  'user_identifier',
  'words',
] as const;

/** An index of sessions by a field, in the order of the list, by which totals are counted, too. */
function listedBy(field: string): Record<string, 1 | -1> {
  return {
    ...{ org_id: 1, project_id: 1, [field]: 1, test_run_id: 1, parent_session_id: 1 },
    ...{ created_at: -1, _id: -1 },
  };
}

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
    trusted_variables: { type: [String], default: [] },
    overrides: text,
    user_identifier: text,
    attempt_number: { type: Number, default: 1 },
    audio: mixed,
    client_tools: { type: Boolean, default: true },
    widget: { type: Boolean, default: false },
    pre_call: mixed,
    from_number: text,
    to_number: text,
    numbers: { type: [String], default: [] },
    words: { type: [String], default: [] },
    said: { type: [String], default: [] },
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
    dial: mixed,
    transfer: mixed,
    treatment: mixed,
    parent_session_id: text,
    consult: mixed,
    consult_id: text,
    flow_state: mixed,
    hand_overs: { type: [Object], default: [] },
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
    reply_latencies: mixed,
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
    // Lists leave out test runs and calls to whom callers are transferred to: with both fields in an index their totals are
    // counted from its keys.
    [{ org_id: 1, project_id: 1, test_run_id: 1, parent_session_id: 1, duration_seconds: -1, _id: -1 }],
    [{ org_id: 1, project_id: 1, test_run_id: -1, parent_session_id: 1, created_at: -1, _id: -1 }],
    ...LISTED_BY.map((field): [IndexDefinition] => [listedBy(field)]),
    ...LISTED_BY_TEXT.map((field): [IndexDefinition, IndexOptions] => [
      listedBy(field),
      // A comparison: of a query for a text, MongoDB does not see that it implies a `$type`.
      { name: `listed_by_${field}`, partialFilterExpression: { [field]: { $gt: '' } } },
    ]),
    [{ status: 1, _id: 1 }],
    // What retention has to erase.
    [{ org_id: 1, project_id: 1, erased_at: 1, ended_at: 1, _id: 1 }],
    [{ retention_days: 1, erased_at: 1, ended_at: 1, _id: 1 }],
    // What waits to be dialled, and what is on its way; and whose callback this is.
    [
      { 'dial.state': 1, 'dial.priority': 1, org_id: 1, 'dial.not_before': 1, _id: 1 },
      { partialFilterExpression: { 'dial.state': { $type: 'string' } } },
    ],
    [{ 'dial.id': 1 }, { partialFilterExpression: { 'dial.id': { $type: 'string' } } }],
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
  droppedIndexes: LISTED_BY_TEXT.map((field) => Object.entries(listedBy(field)).flat().join('_')),
});
