import { listOf, listQuery, queryBoolean, toPage } from '../http/list-query.ts';
import { defineOperation, jsonBody, HttpResponse, type Operation } from '../http/operation.ts';
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
import { sessionFilter, sessionFilters } from './session-filters.ts';
import { sessionCollection } from './session-model.ts';
import type { SessionRecord } from './session-record.ts';
import { sessionTarget } from './session-target.ts';
import { mintedSchema } from './session-token.ts';

/** What it writes to the audit trail. */
export const SESSION_AUDIT = ['session.erased', 'person.erased'] as const;

const TAG = 'Sessions';
const NO_STORE = { 'Cache-Control': 'no-store' };

const query = listQuery({
  sortable: ['duration_seconds'],
  filters: {
    ...sessionFilters,
    detail: queryBoolean.optional().meta({
      description:
        'Whether each session comes with its `detail`: numbers, version, outcome, variables and more.',
    }),
  },
});

/** Fields that a list does not show: most of a record, and its longest. */
const UNLISTED = [
  ...[
    'variables',
    'metrics',
    'reply_latencies',
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
        const { detail, ...filters } = query;
        const page = await scope
          .collection(sessionCollection)
          .page(await sessionFilter(scope, filters), query, detail === true ? UNDETAILED : UNLISTED);
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
