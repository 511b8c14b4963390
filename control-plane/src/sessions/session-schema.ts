import { z } from 'zod';
import {
  carrierSchema,
  channelSchema,
  directionSchema,
  ENDED_BY,
  FAILURE_REASONS,
  HANGUP_REASONS,
  SESSION_STATUSES,
} from '@parley/shared/contracts/session-values';
import { idSchema } from '../http/operation.ts';
import { toolMocks } from '../http/tool-mock-schema.ts';
import { e164, variablesSchema } from '../http/value-schemas.ts';
import { roomName } from './session-plan.ts';
import type { SessionRecord } from './session-record.ts';
import { REALTIME_AUDIO_FORMATS } from './session-record.ts';

/** What a session is made with. Unknown fields are ignored. */
export const createSessionBody = z
  .object({
    org_id: idSchema('org').nullish(),
    project_id: idSchema('prj').nullish(),
    llm_id: z.string().max(128).nullish(),
    stt_id: z.string().max(128).nullish(),
    tts_id: z.string().max(128).nullish(),
    agent_id: idSchema('agt').nullish(),
    post_call_analysis_ids: z.array(idSchema('ana')).max(20).nullish(),
    variables: variablesSchema.nullish(),
    channel: channelSchema.default('web'),
    provider: carrierSchema.nullish(),
    record: z.boolean().default(true),
  })
  .meta({ id: 'CreateSessionBody' });
export type CreateSessionBody = z.output<typeof createSessionBody>;

const timestamp = z.iso.datetime();
const nullableText = z.string().nullable();

/** Values of an open enumeration, for the description. */
function listed(values: readonly string[]): string {
  return `${values.map((value) => `\`${value}\``).join(', ')}. Values may be added.`;
}

const sessionFields = {
  session_id: z.uuid(),
  org_id: z.string(),
  project_id: z.string(),
  channel: z.string(),
  direction: directionSchema,
  provider: nullableText,
  transport: z.string(),
  room_name: nullableText,
  status: z.string().meta({ description: listed(SESSION_STATUSES) }),
  llm_id: z.string(),
  stt_id: z.string(),
  tts_id: z.string(),
  created_at: timestamp,
  started_at: timestamp.nullable(),
  ended_at: timestamp.nullable(),
  user_identifier: nullableText,
  ended_by: z
    .string()
    .nullable()
    .meta({ description: listed(ENDED_BY) }),
  failure_reason: z
    .string()
    .nullable()
    .meta({ description: listed(FAILURE_REASONS) }),
  hangup_reason: z
    .string()
    .nullable()
    .meta({ description: listed(HANGUP_REASONS) }),
  language: nullableText,
  message_count: z.number().int(),
  duration_seconds: z.number().nullable(),
  agent_duration_seconds: z.number().nullable(),
  transfer_duration_seconds: z.number().nullable(),
  avg_agent_latency_ms: z.number().nullable(),
  avg_user_latency_ms: z.number().nullable(),
  attempt_number: z.number().int(),
  goal_status: nullableText,
  agent_id: nullableText,
  ws_url: nullableText,
  token: nullableText.meta({
    description: 'Short-lived participant JWT; only in the response that created it.',
  }),
  media_ws_url: nullableText,
  ws_ticket: nullableText.meta({ description: 'Single-use ticket; only in the response that created it.' }),
};

/** A session as it is answered: exactly these fields. */
export const sessionSchema = z.object(sessionFields).meta({ id: 'CreateSessionOut' });
export type SessionResponse = z.output<typeof sessionSchema>;

const detailSchema = z.object({
  agent_version: z.number().int().nullable(),
  agents: z
    .array(
      z.object({
        agent_id: z.string(),
        version: z.number().int(),
        from_index: z.number().int().meta({
          description: "Number (`index`) of the first turn of the transcript that may be this agent's.",
        }),
      }),
    )
    .meta({
      description: 'The agents that have held the call, in order: one, unless it was handed over.',
    }),
  from_number: nullableText,
  to_number: nullableText,
  telephony_account_id: nullableText,
  phone_number_id: nullableText,
  campaign_id: nullableText,
  contact_id: nullableText,
  inbound_deployment_id: nullableText,
  test_run_id: nullableText,
  parent_session_id: nullableText,
  answered_by: nullableText,
  outcome: nullableText,
  variables: z.record(z.string(), z.string()),
  post_call: z.object({ status: z.string(), finished_at: timestamp.nullable() }),
  recording_id: nullableText,
});

export const sessionDetailSchema = z
  .object({ ...sessionFields, detail: detailSchema })
  .meta({ id: 'SessionDetail' });

/** A session of a list; with `detail` where that was asked for. */
export const listedSessionSchema = z
  .object({
    ...sessionFields,
    detail: detailSchema.optional().meta({ description: 'Only where it was asked for.' }),
  })
  .meta({ id: 'ListedSession' });

/** Where clients open their sockets. */
export interface SessionAddresses {
  realtimeWsUrl: string;
  mediaWsUrl(carrier: NonNullable<SessionRecord['provider']>): string;
}

/** What a list reads of a session. */
export type ListedSession = Pick<SessionRecord, (keyof SessionResponse & keyof SessionRecord) | '_id'>;

export function toSessionResponse(
  session: ListedSession,
  addresses: SessionAddresses,
  credentials: { token?: string; ws_ticket?: string } = {},
): SessionResponse {
  return {
    session_id: session._id,
    org_id: session.org_id,
    project_id: session.project_id,
    channel: session.channel,
    direction: session.direction,
    provider: session.provider,
    transport: session.transport,
    room_name: roomName(session),
    status: session.status,
    llm_id: session.llm_id,
    stt_id: session.stt_id,
    tts_id: session.tts_id,
    created_at: session.created_at.toISOString(),
    started_at: session.started_at?.toISOString() ?? null,
    ended_at: session.ended_at?.toISOString() ?? null,
    user_identifier: session.user_identifier,
    ended_by: session.ended_by,
    failure_reason: session.failure_reason,
    hangup_reason: session.hangup_reason,
    language: session.language,
    message_count: session.message_count,
    duration_seconds: session.duration_seconds,
    agent_duration_seconds: session.agent_duration_seconds,
    transfer_duration_seconds: session.transfer_duration_seconds,
    avg_agent_latency_ms: session.avg_agent_latency_ms,
    avg_user_latency_ms: session.avg_user_latency_ms,
    attempt_number: session.attempt_number,
    goal_status: session.goal_status,
    agent_id: session.agent_id,
    ws_url: session.channel === 'web' ? addresses.realtimeWsUrl : null,
    token: credentials.token ?? null,
    media_ws_url:
      session.channel === 'telephony' && session.provider ? addresses.mediaWsUrl(session.provider) : null,
    ws_ticket: credentials.ws_ticket ?? null,
  };
}

/** Fields that nothing of a session's detail is made of: its longest. */
export const UNDETAILED = [
  ...([
    'metrics',
    'reply_latencies',
    'usage',
    'legs',
    'pre_call',
    'tool_mocks',
    'numbers',
    'words',
    'said',
    'flow_state',
  ] as const),
] as const satisfies readonly (keyof SessionRecord)[];

function agentsOf({
  agent_id,
  agent_version,
  hand_overs,
}: Pick<SessionRecord, 'agent_id' | 'agent_version' | 'hand_overs'>) {
  const own =
    agent_id === null || agent_version === null ? [] : [{ agent_id, version: agent_version, from_index: 0 }];
  return [
    ...own,
    ...(hand_overs ?? []).map(({ agent_id, version, from_index }) => ({ agent_id, version, from_index })),
  ];
}

export function toSessionDetail(
  session: Omit<SessionRecord, (typeof UNDETAILED)[number]>,
  addresses: SessionAddresses,
): z.input<typeof sessionDetailSchema> {
  return {
    ...toSessionResponse(session, addresses),
    detail: {
      agent_version: session.agent_version,
      agents: agentsOf(session),
      from_number: session.from_number,
      to_number: session.to_number,
      telephony_account_id: session.telephony_account_id,
      phone_number_id: session.phone_number_id,
      campaign_id: session.campaign_id,
      contact_id: session.contact_id,
      inbound_deployment_id: session.inbound_deployment_id,
      test_run_id: session.test_run_id,
      parent_session_id: session.parent_session_id ?? null,
      answered_by: session.answered_by,
      outcome: session.outcome,
      variables: session.variables,
      post_call: {
        status: session.post_call_status,
        finished_at: session.post_call_finished_at?.toISOString() ?? null,
      },
      recording_id: session.recording_id,
    },
  };
}

/** A new credential for a session that is not over. */
export const sessionTokenSchema = z
  .union([
    z.object({ ws_url: z.string(), token: nullableText, expires_at: timestamp }),
    z.object({ media_ws_url: z.string(), ws_ticket: nullableText, expires_at: timestamp }),
  ])
  .meta({ id: 'SessionToken' });

/** An event into a live session. */
export const sessionEventBody = z.strictObject({
  name: z.string().min(1).max(64),
  variables: variablesSchema.optional(),
  say: z.string().min(1).max(2000).optional(),
});
/** Where the caller of a live session is to be brought. */
export const transferBody = z
  .strictObject({
    destination_id: z.string().min(1).max(64).optional().meta({
      description: '`id` of a destination of the agent that speaks, or of a node of its flow.',
    }),
    phone_number: e164.optional().meta({
      description:
        'Instead of a destination: somebody who is called, is told in two sentences who the caller is and what they want, and takes the call with the key 1 or a yes (`warm`).',
    }),
  })
  .refine(
    ({ destination_id, phone_number }) => (destination_id === undefined) !== (phone_number === undefined),
    {
      path: ['destination_id'],
      message: 'is needed, or phone_number; not both',
    },
  )
  .meta({ id: 'TransferSessionRequest' });
export type TransferBody = z.output<typeof transferBody>;

export const sessionCommandSchema = z
  .object({
    command_id: z.string().meta({
      description: 'That of the event `command_result`, which tells whether the gateway has done it.',
    }),
  })
  .meta({ id: 'SessionCommand' });

export type SessionEventBody = z.output<typeof sessionEventBody>;

/** `POST /v1/realtime/sessions`. */
export const mintBody = z.strictObject({
  agent_id: idSchema('agt'),
  agent_version: z.number().int().min(1).max(1_000_000_000).nullish().meta({
    description: "A version to talk to, such as the newest. Without it: as the agent's traffic is shared.",
  }),
  variables: variablesSchema.nullish(),
  user_identifier: z.string().min(1).max(255).nullish(),
  post_call_analysis_ids: z.array(idSchema('ana')).max(20).nullish(),
  record: z.boolean().default(true),
  client_tools: z.boolean().default(true),
  tool_mocks: toolMocks.default([]).meta({
    description: 'Answers in place of tools of the agent, which are not called: for whoever tries it.',
  }),
  input_format: z.enum(REALTIME_AUDIO_FORMATS).default('pcm16_24000'),
  output_format: z.enum(REALTIME_AUDIO_FORMATS).default('pcm16_24000'),
  expires_in_seconds: z.number().int().min(10).max(7200).default(600),
});
export type MintBody = z.output<typeof mintBody>;

const sdkAudioFormat = z
  .object({ type: z.string(), rate: z.number().optional() })
  .nullish()
  .transform((format) => {
    if (format?.type === 'audio/pcmu') return 'pcmu_8000' as const;
    if (format?.type === 'audio/pcma') return 'pcma_8000' as const;
    return 'pcm16_24000' as const;
  });

/** `POST /v1/realtime/client_secrets`, as the stock SDKs send it; unknown fields are ignored. */
export const clientSecretBody = z.object({
  session: z.object({
    model: idSchema('agt'),
    audio: z
      .object({
        input: z.object({ format: sdkAudioFormat }).nullish(),
        output: z.object({ format: sdkAudioFormat }).nullish(),
      })
      .nullish(),
  }),
  expires_after: z.object({ seconds: z.number().int().min(10).max(7200).default(600) }).nullish(),
});
export type ClientSecretBody = z.output<typeof clientSecretBody>;

export const clientSecretSchema = z.object({
  value: nullableText.meta({ description: 'The token. Null in a replay of the response.' }),
  expires_at: z.number().int().meta({ description: 'Unix seconds.' }),
  session: z.looseObject({ type: z.string(), object: z.string(), id: z.string(), model: z.string() }),
});

export const erasureBody = z
  .strictObject({
    subject: z.string().min(1).max(255).meta({
      description: 'A phone number or a `user_identifier`.',
      example: '+14155550100',
    }),
  })
  .meta({ id: 'ErasePersonRequest' });

const count = z.number().int().min(0);
export const erasureSchema = z
  .object({ sessions: count, recordings: count, memories: count, rows: count, contacts: count })
  .meta({ id: 'Erasure' });
