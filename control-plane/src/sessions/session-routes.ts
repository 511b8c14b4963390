import { z } from 'zod';
import {
  carrierSchema,
  channelSchema,
  directionSchema,
  FAILURE_REASONS,
  HANGUP_REASONS,
  SESSION_STATUSES,
  type Channel,
  type Direction,
} from '@parley/shared/contracts/session-values';
import {
  anyOf,
  commonFilter,
  equalities,
  listOf,
  listQuery,
  queryBoolean,
  queryInteger,
  queryTime,
  toPage,
  type ListInput,
} from '../http/list-query.ts';
import { invalid } from '../http/validation.ts';
import { defineOperation, idSchema, jsonBody, HttpResponse, type Operation } from '../http/operation.ts';
import type { AuditLog } from '../audit/audit-trail.ts';
import { inProject } from '../tenancy/target.ts';
import type { SessionControl } from './session-control.ts';
import type { SessionCreation } from './session-creation.ts';
import type { SessionCredentials } from './session-credentials.ts';
import type { SessionErasure } from './session-erasure.ts';
import {
  clientSecretBody,
  clientSecretSchema,
  createSessionBody,
  erasureBody,
  erasureSchema,
  mintBody,
  listedSessionSchema,
  sessionDetailSchema,
  sessionCommandSchema,
  sessionEventBody,
  sessionSchema,
  sessionTokenSchema,
  transferBody,
  toSessionDetail,
  toSessionResponse,
  UNDETAILED,
  type ListedSession,
} from './session-schema.ts';
import { sessionCollection } from './session-model.ts';
import type { SessionRecord } from './session-record.ts';
import { sessionTarget } from './session-target.ts';
import { searchedWords } from './session-words.ts';
import { saying, transcriptQuery } from './transcript-search.ts';
import { mintedSchema } from './session-token.ts';

/** What it writes to the audit trail. */
export const SESSION_AUDIT = ['session.erased', 'person.erased'] as const;

const TAG = 'Sessions';
const NO_STORE = { 'Cache-Control': 'no-store' };

const duration = queryInteger(0, 10_000_000).optional();

const query = listQuery({
  sortable: ['duration_seconds'],
  filters: {
    status: anyOf(z.enum(SESSION_STATUSES)).optional(),
    channel: anyOf(channelSchema).optional(),
    direction: anyOf(directionSchema).optional(),
    provider: anyOf(carrierSchema).optional(),
    agent_id: anyOf(idSchema('agt')).optional(),
    agent_version: queryInteger(1, 1_000_000_000).optional(),
    campaign_id: anyOf(idSchema('cmp')).optional(),
    phone_number: anyOf(z.string().regex(/^\+[1-9]\d{6,14}$/)).optional(),
    user_identifier: anyOf(z.string().min(1).max(255)).optional(),
    language: anyOf(z.string().min(2).max(35)).optional(),
    goal_status: anyOf(z.string().min(1).max(40)).optional(),
    test_run_id: anyOf(idSchema('trn')).optional(),
    started_after: queryTime.optional(),
    started_before: queryTime.optional(),
    failure_reason: anyOf(z.enum(FAILURE_REASONS)).optional().meta({
      description: 'Only sessions that failed for this reason; several: for one of them.',
    }),
    hangup_reason: anyOf(z.enum(HANGUP_REASONS)).optional().meta({
      description: 'Only sessions that ended so; several: in one of these ways.',
    }),
    outcome: anyOf(z.string().min(1).max(500)).optional().meta({
      description: 'Only sessions with this outcome; several: with one of them.',
    }),
    min_duration_seconds: duration.meta({ description: 'Only sessions of so many seconds or more.' }),
    max_duration_seconds: duration.meta({ description: 'Only sessions of so many seconds or less.' }),
    detail: queryBoolean.optional().meta({
      description:
        'Whether each session comes with its `detail`: numbers, version, outcome, variables and more.',
    }),
    q: z
      .string()
      .min(1)
      .max(100)
      .refine((text) => searchedWords(text).length > 0, 'must have a letter or a digit')
      .optional()
      .meta({
        description:
          "A telephone number or its end, four digits or more, in any notation; or words of the caller's " +
          '`user_identifier`, or of the variables `name` and `external_id` that the session was made with, all of which ' +
          'must occur. Upper and lower case are the same.',
      }),
    transcript: transcriptQuery.optional(),
  },
});

const DIRECTIONS: Record<Channel, readonly Direction[]> = {
  web: ['web'],
  telephony: ['inbound', 'outbound'],
};

function directionsOf(channels: readonly Channel[]): Direction[] {
  return channels.flatMap((channel) => DIRECTIONS[channel]);
}

/** Fields that a list does not show: most of a record, and its longest. */
const UNLISTED = [
  ...[
    'variables',
    'metrics',
    'usage',
    'legs',
    'slot_scopes',
    'pre_call',
    'tool_mocks',
    'numbers',
    'words',
    'said',
  ],
  ...['agent_version', 'store_transcript', 'retention_days', 'post_call_analysis_ids', 'client_tools'],
  ...['from_number', 'to_number', 'telephony_account_id', 'phone_number_id', 'inbound_deployment_id'],
  ...['campaign_id', 'contact_id', 'test_run_id', 'carrier_call_id', 'carrier_cause', 'carrier_cost'],
  ...['carrier_ended_at', 'transfer', 'gateway_id', 'claim_id', 'leg', 'claimed_at', 'answered_by'],
  ...['report_id', 'closed_by', 'post_call_status', 'post_call_finished_at', 'recording_id', 'join_by'],
  ...['unheld_since', 'erased_at', 'erase_at_end', 'follow_up', 'tts_voice_id', 'widget', 'audio', 'outcome'],
] as const satisfies readonly Exclude<keyof SessionRecord, keyof ListedSession>[];

/** No session starts before it is made, nor later than this after it. */
const LONGEST_WAIT_MS = 8 * 24 * 3_600_000;

/** A range of starts, and the range of creations it implies: lists are read in the order of creation. */
function startedBetween(list: ListInput, after: Date | undefined, before: Date | undefined) {
  if (!after && !before) return {};
  const { created_after, created_before } = list;
  const earliest = [created_after, after && new Date(after.getTime() - LONGEST_WAIT_MS)];
  const latest = [created_before, before];
  const from = Math.max(...earliest.map((time) => time?.getTime() ?? -Infinity));
  const until = Math.min(...latest.map((time) => time?.getTime() ?? Infinity));
  return {
    started_at: { ...(after && { $gte: after }), ...(before && { $lt: before }) },
    created_at: {
      ...(Number.isFinite(from) && { $gte: new Date(from) }),
      ...(Number.isFinite(until) && { $lt: new Date(until) }),
    },
  };
}

/** A range of durations, both ends included. @throws ValidationError */
function lasting(least: number | undefined, most: number | undefined) {
  if (least === undefined && most === undefined) return {};
  if (least !== undefined && most !== undefined && least > most)
    throw invalid(['query', 'max_duration_seconds'], 'must not be below min_duration_seconds');
  return {
    duration_seconds: {
      ...(least !== undefined && { $gte: least }),
      ...(most !== undefined && { $lte: most }),
    },
  };
}

export function sessionRoutes(deps: {
  sessionCreation: SessionCreation;
  sessionCredentials: SessionCredentials;
  sessionControl: SessionControl;
  sessionErasure: SessionErasure;
  audit: AuditLog<(typeof SESSION_AUDIT)[number]>;
}): Operation[] {
  const { sessionCreation: creation, sessionCredentials: credentials, audit } = deps;
  const { sessionControl: control, sessionErasure: erasure } = deps;
  return [
    defineOperation({
      id: 'createSession',
      method: 'POST',
      path: '/v1/sessions',
      tag: TAG,
      summary: 'Create a session',
      description:
        'Creates a web session, or the session of a phone call that your own carrier logic connects to `media_ws_url` + `/` + `ws_ticket`. ' +
        'Does not place a call.',
      access: { key: 'editor', user: 'any' },
      body: jsonBody(createSessionBody),
      responses: { 200: { description: 'The session, with its credential', schema: sessionSchema } },
      errors: [402, 409],
      idempotent: { secrets: ['token', 'ws_ticket'] },
      handle: async ({ access, body }) => {
        const made = await creation.create(access, body);
        const response = toSessionResponse(made.session, credentials.addresses, made.credentials);
        return new HttpResponse(200, response, NO_STORE);
      },
    }),
    defineOperation({
      id: 'listSessions',
      method: 'GET',
      path: '/v1/orgs/{org_id}/projects/{project_id}/sessions',
      tag: TAG,
      summary: 'List sessions',
      access: { key: 'viewer', user: 'viewer' },
      target: inProject,
      query,
      responses: { 200: { description: 'Sessions', schema: listOf(listedSessionSchema) } },
      handle: async ({ scope, query }) => {
        const {
          phone_number: numbers,
          started_after,
          started_before,
          test_run_id,
          q,
          transcript,
          detail,
          ...filters
        } = query;
        const sessions = scope.collection(sessionCollection);
        const listed = {
          ...commonFilter(filters),
          // Sessions of test runs are seen only by those who ask for them.
          test_run_id: test_run_id ? { $in: test_run_id } : null,
          // Those of whom callers are transferred to are parts of the callers' own.
          parent_session_id: null,
          ...startedBetween(filters, started_after, started_before),
        };
        const also = [
          ...(filters.channel ? [{ direction: { $in: directionsOf(filters.channel) } }] : []),
          ...(q === undefined ? [] : searchedWords(q)).map((word) => ({ words: word })),
          ...(transcript === undefined ? [] : await saying(sessions, transcript, listed)),
        ];
        const page = await sessions.page(
          {
            ...listed,
            ...equalities({
              status: filters.status,
              channel: filters.channel,
              direction: filters.direction,
              provider: filters.provider,
              agent_id: filters.agent_id,
              agent_version: filters.agent_version,
              campaign_id: filters.campaign_id,
              user_identifier: filters.user_identifier,
              language: filters.language,
              goal_status: filters.goal_status,
              failure_reason: filters.failure_reason,
              hangup_reason: filters.hangup_reason,
              outcome: filters.outcome,
            }),
            ...(numbers ? { numbers: { $in: numbers } } : {}),
            ...lasting(filters.min_duration_seconds, filters.max_duration_seconds),
            ...(also.length > 0 && { $and: also }),
          },
          query,
          detail === true ? UNDETAILED : UNLISTED,
        );
        const convert = detail === true ? toSessionDetail : toSessionResponse;
        return toPage(page, (record) => convert(record, credentials.addresses));
      },
    }),
    defineOperation({
      id: 'getSession',
      method: 'GET',
      path: '/v1/sessions/{session_id}',
      tag: TAG,
      summary: 'Get a session',
      access: { key: 'viewer', user: 'viewer' },
      target: sessionTarget,
      responses: { 200: { description: 'The session', schema: sessionDetailSchema } },
      handle: ({ item }) => toSessionDetail(item, credentials.addresses),
    }),
    defineOperation({
      id: 'endSession',
      method: 'POST',
      path: '/v1/sessions/{session_id}/end',
      tag: TAG,
      summary: 'End a session',
      description:
        'The session ends at once when nobody has joined; otherwise its media gateway ends the call.',
      access: { key: 'editor', user: 'editor' },
      target: sessionTarget,
      responses: { 202: { description: 'The session ends' } },
      errors: [409],
      idempotent: {},
      handle: async ({ item }) => {
        await control.end(item);
        return new HttpResponse(202, undefined);
      },
    }),
    defineOperation({
      id: 'createSessionToken',
      method: 'POST',
      path: '/v1/sessions/{session_id}/token',
      tag: TAG,
      summary: 'Create a new credential of a session',
      description:
        'To rejoin a session, or when the first response was lost. Unused earlier credentials are invalidated.',
      access: { key: 'editor', user: 'editor' },
      target: sessionTarget,
      responses: { 200: { description: 'The credential', schema: sessionTokenSchema } },
      errors: [409],
      idempotent: { secrets: ['token', 'ws_ticket'] },
      handle: async ({ item }) => {
        const { token, ws_ticket, expiresAt } = await credentials.renew(item);
        const expires_at = expiresAt.toISOString();
        const credential = token
          ? { ws_url: credentials.addresses.realtimeWsUrl, token, expires_at }
          : {
              media_ws_url: credentials.addresses.mediaWsUrl(item.provider!),
              ws_ticket: ws_ticket!,
              expires_at,
            };
        return new HttpResponse(200, credential, NO_STORE);
      },
    }),
    defineOperation({
      id: 'sendSessionEvent',
      method: 'POST',
      path: '/v1/sessions/{session_id}/events',
      tag: TAG,
      summary: 'Send an event into a live session',
      access: { key: 'editor', user: 'editor' },
      target: sessionTarget,
      body: jsonBody(sessionEventBody),
      responses: { 202: { description: 'Accepted for delivery' } },
      errors: [409],
      idempotent: {},
      handle: async ({ item, body }) => {
        await control.sendEvent(item, body);
        return new HttpResponse(202, undefined);
      },
    }),
    defineOperation({
      id: 'transferSession',
      method: 'POST',
      path: '/v1/sessions/{session_id}/transfer',
      tag: TAG,
      summary: 'Transfer the caller of a live session',
      description:
        'To a destination of the agent, or to a telephone number of your own. What holds for transfers by the agent holds here: countries that the account may call, do-not-call lists, limits. Events of the types `transfer` and `handover` tell how it goes; the event `command_result` tells when the gateway refuses it, such as while another transfer is under way.',
      access: { key: 'editor', user: 'editor' },
      target: sessionTarget,
      body: jsonBody(transferBody),
      responses: { 202: { description: 'Accepted for delivery', schema: sessionCommandSchema } },
      errors: [409],
      idempotent: {},
      handle: async ({ item, body }) =>
        new HttpResponse(202, { command_id: await control.transfer(item, body) }),
    }),
    defineOperation({
      id: 'deleteSession',
      method: 'DELETE',
      path: '/v1/sessions/{session_id}',
      tag: TAG,
      summary: 'Erase a session',
      description:
        'Deletes transcript, recording, analyses, variables, phone numbers and rows in databases; timestamps are kept.',
      access: { key: 'admin', user: 'admin' },
      target: sessionTarget,
      responses: { 204: { description: 'The session is erased' } },
      errors: [409],
      handle: async ({ item, scope, caller, address }) => {
        await erasure.eraseWithRows(item);
        await audit.record({ scope, caller, address, action: 'session.erased', target: item._id });
        return new HttpResponse(204, undefined);
      },
    }),
    defineOperation({
      id: 'erasePerson',
      method: 'POST',
      path: '/v1/orgs/{org_id}/projects/{project_id}/erasures',
      tag: TAG,
      summary: 'Erase a person',
      description:
        'Deletes everything stored about a phone number or `user_identifier` in this project. Sessions still in progress ' +
        'are erased when they end. Entries of do-not-call lists are kept.',
      access: { key: 'admin', user: 'admin' },
      target: inProject,
      body: jsonBody(erasureBody),
      responses: { 200: { description: 'The number of deleted records', schema: erasureSchema } },
      idempotent: {},
      handle: async ({ scope, caller, address, body }) => {
        const erased = await erasure.eraseSubject(scope, body.subject);
        // Who it was stays out of the trail.
        await audit.record({ scope, caller, address, action: 'person.erased', target: scope.projectId });
        return erased;
      },
    }),
    defineOperation({
      id: 'mintRealtimeSession',
      method: 'POST',
      path: '/v1/realtime/sessions',
      tag: 'Realtime',
      summary: 'Create a realtime session',
      access: { key: 'editor', user: 'any' },
      body: jsonBody(mintBody),
      responses: { 200: { description: 'The token, valid for one connection', schema: mintedSchema } },
      errors: [402, 409],
      idempotent: { secrets: ['token'] },
      handle: async ({ access, body }) => {
        const { session, token, expiresAt } = await creation.mint(access, body);
        return new HttpResponse(
          200,
          {
            session_id: session._id,
            ws_url: credentials.addresses.realtimeWsUrl,
            token,
            expires_at: expiresAt.toISOString(),
            agent_id: session.agent_id,
            input_format: body.input_format,
            output_format: body.output_format,
          },
          NO_STORE,
        );
      },
    }),
    defineOperation({
      id: 'createRealtimeClientSecret',
      method: 'POST',
      path: '/v1/realtime/client_secrets',
      tag: 'Realtime',
      summary: 'Create a realtime session (OpenAI-compatible)',
      access: { key: 'editor', user: 'any' },
      body: jsonBody(clientSecretBody),
      responses: {
        200: { description: 'The token, valid for one connection', schema: clientSecretSchema },
      },
      errors: [402, 409],
      idempotent: { secrets: ['value'] },
      handle: async ({ access, body }) => {
        const { session, token, expiresAt } = await creation.mintClientSecret(access, body);
        return new HttpResponse(
          200,
          {
            value: token,
            expires_at: Math.floor(expiresAt.getTime() / 1000),
            session: {
              type: 'realtime',
              object: 'realtime.session',
              id: `sess_${session._id}`,
              model: session.agent_id,
            },
          },
          NO_STORE,
        );
      },
    }),
  ];
}
