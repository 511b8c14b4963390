import { z } from 'zod';
import { standardWebhooksSecret } from '@parley/shared/http/webhook-signature';
import { agentTarget } from '../agents/agent-target.ts';
import type { AgentRecord } from '../agents/agent-record.ts';
import { fillConfig } from '../agents/agent-config-input.ts';
import { anyOf, commonFilter, equalities, listOf, listQuery, toPage } from '../http/list-query.ts';
import { defineOperation, jsonBody, HttpResponse, type Operation } from '../http/operation.ts';
import { maybeTime, recordFields, time, timestamp, toTimes } from '../http/record-schema.ts';
import { item } from '../tenancy/target.ts';
import type { AgentWebhookService } from './agent-webhook-service.ts';
import { webhookDeliveryCollection } from './webhook-delivery-model.ts';
import type { WebhookDeliveryRecord } from './webhook-delivery-model.ts';
import type { WebhookDeliveryService } from './webhook-delivery-service.ts';

/** For receivers: how a delivery is known to be ours. */
const SIGNATURES = [
  'Every delivery is signed twice with the secret of the webhook; check one of them over the raw body.',
  '`X-Webhook-Signature: t=<unix seconds>,v1=<hex>`: HMAC-SHA256 of `<t>.<body>`, the key is the whole secret, `whsec_` included.',
  'There is a second `v1` while two secrets overlap; refuse a `t` more than 300 seconds from your time.',
  'Or by a library of Standard Webhooks (https://www.standardwebhooks.com) over `webhook-id`, `webhook-timestamp` and `webhook-signature`,',
  'with `standard_webhooks_secret` of rotate-secret. `X-Webhook-Id` (= `webhook-id`) stays the same when a delivery is repeated.',
].join(' ');

const TAG = 'Webhooks';
const READ = { key: 'viewer', user: 'viewer' } as const;
const WRITE = { key: 'editor', user: 'editor' } as const;
const delivery = item(webhookDeliveryCollection, 'delivery_id');
const BASE = '/api/v1/webhooks/agents/{agent_id}';

const secret = z.object({ set: z.boolean(), last_four: z.string() });

const requireTimestamp = z
  .boolean()
  .meta({ description: 'Whether only the signature with a timestamp is taken.' });
const allowOverrides = z
  .boolean()
  .meta({ description: 'Whether a request may override settings of the agent.' });

const settingsResponse = z
  .object({
    start_call: z.object({
      enabled: z.boolean(),
      require_timestamp: requireTimestamp,
      allow_overrides: allowOverrides,
      url: z.string().meta({ description: 'Address that takes the requests.' }),
      secret,
    }),
    call_ended: z.object({
      enabled: z.boolean(),
      url: z.string().nullable(),
      web_calls: z.boolean(),
      phone_calls: z.boolean(),
      include_unanswered: z.boolean(),
      timeout_ms: z.number().int(),
      secret,
    }),
  })
  .meta({ id: 'AgentWebhooks' });

const deliveryFields = {
  id: z.string(),
  session_id: z.string(),
  agent_id: z.string(),
  event: z.string(),
  url: z.string(),
  status: z.string(),
  attempts: z.number().int(),
  last_status: z.number().int().nullable(),
  last_error: z.string().nullable(),
  next_attempt_at: maybeTime,
  delivered_at: maybeTime,
  ...recordFields,
};
const deliveryResponse = z.object(deliveryFields).meta({ id: 'WebhookDelivery' });
const deliveryItemResponse = z
  .object({ ...deliveryFields, payload: z.record(z.string(), z.unknown()).nullable() })
  .meta({ id: 'WebhookDeliveryItem' });

const rotateBody = z.strictObject({
  webhook: z
    .enum(['start_call', 'call_ended'])
    .default('start_call')
    .meta({ description: 'Whose secret; without it, and without a body, that of start_call.' }),
  grace_seconds: z
    .number()
    .int()
    .min(0)
    .max(86_400)
    .default(0)
    .meta({ description: 'How long the old secret stays valid beside the new one.' }),
});

const startCallBody = z.strictObject({
  enabled: z.boolean(),
  require_timestamp: requireTimestamp.optional(),
  allow_overrides: allowOverrides.optional(),
});

const callEndedBody = z.strictObject({
  enabled: z.boolean(),
  url: z.string().max(2048).nullable(),
  web_calls: z.boolean(),
  phone_calls: z.boolean(),
  include_unanswered: z.boolean().optional(),
  timeout_ms: z.number().int().min(1000).max(30_000).optional(),
});

export function webhookRoutes({
  agentWebhooks,
  deliveries,
  publicUrl,
}: {
  agentWebhooks: AgentWebhookService;
  deliveries: WebhookDeliveryService;
  publicUrl: string;
}): Operation[] {
  const toSettings = (record: AgentRecord): z.input<typeof settingsResponse> => {
    const { start_call, call_ended } = fillConfig({ config: {}, webhooks: record.webhooks }).webhooks;
    return {
      start_call: {
        ...start_call,
        url: `${publicUrl}${BASE.replace('{agent_id}', record._id)}/incoming`,
        secret: agentWebhooks.mask(record, 'start_call'),
      },
      call_ended: { ...call_ended, secret: agentWebhooks.mask(record, 'call_ended') },
    };
  };
  return [
    defineOperation({
      id: 'getAgentWebhooks',
      method: 'GET',
      path: BASE,
      tag: TAG,
      summary: 'Get the webhooks of an agent',
      access: READ,
      target: agentTarget,
      responses: { 200: { description: 'Both webhooks', schema: settingsResponse } },
      handle: ({ item }) => toSettings(item),
    }),
    defineOperation({
      id: 'rotateWebhookSecret',
      method: 'POST',
      path: `${BASE}/rotate-secret`,
      tag: TAG,
      summary: 'Rotate the webhook secret',
      description:
        'Send `{"webhook":"call_ended"}` for the secret that deliveries are signed with: an empty body rotates that of start_call, ' +
        'and the first secret of start_call enables that webhook. ' +
        `The secret is returned only once, in this response. ${SIGNATURES}`,
      access: { key: 'admin', user: 'admin' },
      target: agentTarget,
      body: jsonBody(rotateBody, { optional: true }),
      responses: {
        200: {
          description: 'The secret',
          schema: z.object({
            agent_id: z.string(),
            webhook: z.string(),
            secret: z
              .string()
              .nullable()
              .meta({ description: 'What deliveries are signed with. Null in a replay of the response.' }),
            standard_webhooks_secret: z.string().nullable().meta({
              description:
                'The same secret as libraries of Standard Webhooks read it. Null in a replay of the response.',
            }),
            rotated_at: timestamp,
            previous_valid_until: timestamp.optional(),
          }),
        },
      },
      idempotent: { secrets: ['secret', 'standard_webhooks_secret'] },
      handle: async ({ scope, caller, address, item, body }) => {
        const { webhook, grace_seconds } = body;
        const rotation = await agentWebhooks.rotate(scope, caller, address, item, webhook, grace_seconds);
        return new HttpResponse(
          200,
          {
            agent_id: item._id,
            webhook,
            secret: rotation.secret,
            standard_webhooks_secret: standardWebhooksSecret(rotation.secret),
            rotated_at: time(rotation.rotatedAt),
            ...(rotation.previousValidUntil
              ? { previous_valid_until: time(rotation.previousValidUntil) }
              : {}),
          },
          { 'Cache-Control': 'no-store' },
        );
      },
    }),
    defineOperation({
      id: 'setStartCallWebhook',
      method: 'PUT',
      path: `${BASE}/start-call`,
      tag: TAG,
      summary: 'Update the start-call webhook',
      description:
        'The same values as `config.webhooks.start_call`. Enabling the webhook creates a secret if it has none; rotate-secret shows one.',
      access: WRITE,
      target: agentTarget,
      body: jsonBody(startCallBody),
      responses: { 200: { description: 'Both webhooks', schema: settingsResponse } },
      handle: async ({ scope, caller, item, body }) =>
        toSettings(await agentWebhooks.set(scope, caller, item, 'start_call', body)),
    }),
    defineOperation({
      id: 'setCallEndedWebhook',
      method: 'PUT',
      path: `${BASE}/call-ended`,
      tag: TAG,
      summary: 'Update the call-ended webhook',
      description:
        'The same values as `config.webhooks.call_ended`. Enabling the webhook creates a secret if it has none; rotate-secret with ' +
        `\`{"webhook":"call_ended"}\` shows one. ${SIGNATURES}`,
      access: WRITE,
      target: agentTarget,
      body: jsonBody(callEndedBody),
      responses: { 200: { description: 'Both webhooks', schema: settingsResponse } },
      handle: async ({ scope, caller, item, body }) =>
        toSettings(await agentWebhooks.set(scope, caller, item, 'call_ended', body)),
    }),
    defineOperation({
      id: 'testCallEndedWebhook',
      method: 'POST',
      path: `${BASE}/call-ended/test`,
      tag: TAG,
      summary: 'Send a sample webhook',
      description: 'Makes one attempt, to the current URL.',
      access: WRITE,
      target: agentTarget,
      responses: {
        200: {
          description: 'The outcome',
          schema: z.object({
            ok: z.boolean(),
            status: z.number().int().optional(),
            ms: z.number().int(),
            error: z.string().optional(),
          }),
        },
      },
      errors: [409],
      idempotent: {},
      handle: ({ item }) => deliveries.test(item, samplePayload(item)),
    }),
    defineOperation({
      id: 'listWebhookDeliveries',
      method: 'GET',
      path: '/v1/agents/{agent_id}/webhook-deliveries',
      tag: 'Logs',
      summary: 'List webhook deliveries',
      access: READ,
      target: agentTarget,
      query: listQuery({
        filters: {
          status: anyOf(z.enum(['pending', 'retrying', 'succeeded', 'failed', 'cancelled'])).optional(),
          session_id: anyOf(z.uuid()).optional(),
        },
      }),
      responses: { 200: { description: 'Deliveries', schema: listOf(deliveryResponse) } },
      handle: async ({ scope, item, query }) => {
        const filter = {
          ...commonFilter(query),
          agent_id: item._id,
          ...equalities({ status: query.status, session_id: query.session_id }),
        };
        return toPage(await scope.collection(webhookDeliveryCollection).page(filter, query), toDelivery);
      },
    }),
    defineOperation({
      id: 'getWebhookDelivery',
      method: 'GET',
      path: '/v1/webhook-deliveries/{delivery_id}',
      tag: 'Logs',
      summary: 'Get a webhook delivery',
      access: READ,
      target: delivery,
      responses: { 200: { description: 'The delivery, with its body', schema: deliveryItemResponse } },
      handle: ({ item }) => ({
        ...toDelivery(item),
        payload: item.payload === null ? null : (JSON.parse(item.payload) as Record<string, unknown>),
      }),
    }),
    defineOperation({
      id: 'redeliverWebhook',
      method: 'POST',
      path: '/v1/webhook-deliveries/{delivery_id}/redeliver',
      tag: 'Logs',
      summary: 'Redeliver a webhook',
      access: WRITE,
      target: delivery,
      responses: { 202: { description: 'Accepted for delivery', schema: deliveryResponse } },
      errors: [409],
      idempotent: {},
      handle: async ({ item }) => new HttpResponse(202, toDelivery(await deliveries.redeliver(item))),
    }),
  ];
}

function toDelivery(record: WebhookDeliveryRecord): z.input<typeof deliveryResponse> {
  return {
    id: record._id,
    session_id: record.session_id,
    agent_id: record.agent_id,
    event: record.event,
    url: record.url,
    status: record.status,
    attempts: record.attempts,
    last_status: record.last_status,
    last_error: record.last_error,
    next_attempt_at: time(record.next_attempt_at),
    delivered_at: time(record.delivered_at),
    ...toTimes(record),
  };
}

/** In the form of a real one, with nobody in it. */
function samplePayload(record: AgentRecord) {
  const id = '00000000-0000-7000-8000-000000000000';
  return {
    customer_name: 'Sample Customer',
    mobile_number: '+14155550100',
    email: null,
    company_name: null,
    lead_source: null,
    lead_status: null,
    lead_temperature: null,
    ai_summary: 'This is a sample delivery.',
    lead_score: null,
    next_action: null,
    next_follow_up_date: null,
    crm_stage: null,
    send_whatsapp: false,
    send_email: false,
    reminder_to_sales_team: false,
    call_datetime: '2026-01-01T00:00:00.000Z',
    call_duration: 42,
    call_status: 'completed',
    recording_url: null,
    call_direction: 'inbound',
    call_session_id: id,
    agent_id: record._id,
    call_summary: 'This is a sample delivery.',
    user_name: 'Sample Customer',
    phone_number: '+14155550100',
    call_id: id,
    post_call_analyses: [],
    post_call_analysis_count: 0,
  };
}
