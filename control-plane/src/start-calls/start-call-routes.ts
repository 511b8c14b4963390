import { z } from 'zod';
import { SIGNATURE_HEADER } from '@parley/shared/http/webhook-signature';
import { defineOperation, HttpResponse, jsonBody, rawBody } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { principalId } from '../tenancy/principal.ts';
import type { IncomingCallsWebhook } from './incoming-calls-webhook.ts';
import {
  incomingCallBody,
  startCallRequest,
  startedCallResponse,
  toRequestedCall,
  toStartedCall,
} from './start-call-schema.ts';
import type { StartCalls } from './start-call-service.ts';
import { START_CALLS_PER_MINUTE } from './start-call-service.ts';

const LIMIT = `At most ${START_CALLS_PER_MINUTE} calls a minute are started with one agent.`;

export function startCallRoutes({
  startCalls,
  incomingCalls,
}: {
  startCalls: StartCalls;
  incomingCalls: IncomingCallsWebhook;
}): Operation[] {
  return [
    defineOperation({
      id: 'startCall',
      method: 'POST',
      path: '/v1/campaigns/start-call',
      tag: 'Campaigns',
      summary: 'Start a call',
      description: `Calls one person: a campaign with one contact, which starts at once. ${LIMIT}`,
      access: { key: 'editor', user: 'editor' },
      body: jsonBody(startCallRequest),
      responses: { 202: { description: 'The call is queued', schema: startedCallResponse } },
      errors: [402, 404, 409],
      idempotent: {},
      handle: async ({ access, caller, body }) => {
        const agent = await startCalls.agent(body.agent_id);
        const scope = await access.project(agent.project_id, agent.org_id);
        await access.permit(scope, 'editor', { write: true });
        const call = toRequestedCall(body);
        const started = await startCalls.start(scope, agent, call, {
          source: 'api',
          by: principalId(caller),
        });
        return toStartedCall(started);
      },
    }),
    defineOperation({
      id: 'startCallByWebhook',
      method: 'POST',
      path: '/api/v1/webhooks/agents/{agent_id}/incoming',
      tag: 'Webhooks',
      summary: 'Start a call by a signed request',
      description:
        `Signed with the agent's \`start_call\` secret over the raw body: \`${SIGNATURE_HEADER}: t=<unix seconds>,v1=<hex>\` with ` +
        'HMAC-SHA256 of `<t>.<body>`, the key is the whole secret, at most 300 seconds off; or `sha256=<hex>` of the body alone, ' +
        'unless the agent asks for timestamps. A request with the same signature gets the first answer again (with the second ' +
        `form for 24 hours: send something that differs, such as an order number, to call again). ${LIMIT}`,
      access: 'webhook',
      // Whatever it is: it is answered as an agent that is not there.
      params: { agent_id: z.string() },
      body: rawBody({ described: incomingCallBody }),
      responses: { 202: { description: 'The call is queued', schema: startedCallResponse } },
      errors: [401, 402, 403, 409],
      requestHeaders: {
        [SIGNATURE_HEADER]: z.string().meta({ description: 'The signature of the body.' }),
        'Idempotency-Key': z.string().optional().meta({
          description:
            'A request with the same key and body within 24 hours returns the first response again.',
        }),
      },
      handle: async ({ params, rawBody: body, headers, requestId }) => {
        const answer = await incomingCalls.handle({
          ...{ agentId: params.agent_id, body, requestId },
          signature: one(headers[SIGNATURE_HEADER.toLowerCase()]),
          idempotencyKey: one(headers['idempotency-key']),
        });
        return new HttpResponse(
          answer.status,
          JSON.parse(answer.body) as unknown,
          answer.replayed ? { 'Idempotency-Replayed': 'true' } : {},
        );
      },
    }),
  ];
}

function one(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(',') : header;
}
