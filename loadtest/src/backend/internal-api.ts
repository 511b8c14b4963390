import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { admissionCheckRequest, redeemRequest } from '@parley/shared/contracts/admission';
import { INTERNAL_PATHS } from '@parley/shared/contracts/addresses';
import { agentConfigSchema, type AgentConfigInput } from '@parley/shared/contracts/agent-config';
import { sessionPlanSchema, type SessionPlanWire } from '@parley/shared/contracts/session-plan';
import { readBody } from '@parley/emulators/server/emulator-server';
import type { PreparedCall } from './backend.ts';

export interface InternalApi {
  readonly url: string;
  readonly redeemed: number;
  prepare(calls: readonly PreparedCall[]): void;
  [Symbol.asyncDispose](): Promise<void>;
}

const MAX_BODY_BYTES = 64 * 1024;
const TICKET_LIFE_MS = 600_000;
const PROJECT = { orgId: 'org_loadtest', projectId: 'prj_loadtest' };

/**
 * A stand-in for the control plane's internal API: admits the calls it was told of and hands out their plans. It has
 * no database, so that a capacity run measures gateways alone; `--whole` runs the real thing.
 */
export async function openInternalApi(options: {
  token: string;
  agentConfig: AgentConfigInput;
  greeting: string;
  record: boolean;
  deepgramUrl: string;
  openAiUrl: string;
  elevenLabsUrl: string;
}): Promise<InternalApi> {
  const calls = new Map<string, PreparedCall & { claimedBy?: string }>();
  const config = agentConfigSchema.parse(options.agentConfig);
  let redeemed = 0;

  function plan(call: PreparedCall, claimId: string): SessionPlanWire {
    const provider = (
      id: string,
      name: 'deepgram' | 'openai_compatible' | 'elevenlabs',
      baseUrl: string,
      model: string,
    ) => ({
      id,
      provider: name,
      emulated: true,
      base_url: baseUrl,
      credential: 'emulated',
      model,
      language: 'en-US',
    });
    return {
      v: 1,
      session_id: call.sessionId,
      org_id: PROJECT.orgId,
      project_id: PROJECT.projectId,
      channel: 'telephony',
      direction: 'inbound',
      provider: call.carrier,
      room_name: null,
      claim_id: claimId,
      leg: 0,
      first_event_index: 0,
      history: [],
      answered_at: null,
      agent: {
        agent_id: null,
        version: null,
        name: 'Load test',
        system_prompt: 'You answer questions.',
        greeting: options.greeting,
        config,
      },
      variables: {},
      system: {
        caller_number: '+14155550100',
        called_number: '+14155550199',
        timezone: 'UTC',
        attempt_number: 1,
        user_identifier: null,
      },
      stt: [
        {
          ...provider('stt_loadtest', 'deepgram', options.deepgramUrl, 'flux-general-en'),
          options: { tag: call.conversation },
        },
      ],
      llm: [
        provider('llm_loadtest', 'openai_compatible', `${options.openAiUrl}/v1`, 'parley-emulated-model'),
      ],
      tts: [
        {
          ...provider('tts_loadtest', 'elevenlabs', options.elevenLabsUrl, 'eleven_flash_v2_5'),
          voice: 'loadtest',
        },
      ],
      tools: [],
      record: {
        enabled: options.record,
        recording_id: `rec_${call.sessionId}`,
        channels: 'dual',
        format: 'wav',
        store: 'file',
        key: `recordings/${call.sessionId}.wav`,
      },
      limits: { max_duration_seconds: 1800, max_cost_amount: null, client_overrides: [] },
      outbound_allow: [],
    };
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const answer = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (request.headers.authorization !== `Bearer ${options.token}`)
      return void answer(401, { code: 'credential_invalid', detail: 'Wrong token.' });
    const body: unknown = JSON.parse((await readBody(request, MAX_BODY_BYTES)).toString() || 'null');
    if (request.url === INTERNAL_PATHS.check) {
      const call = calls.get(admissionCheckRequest.parse(body).digest);
      if (!call) return void answer(401, { code: 'credential_invalid', detail: 'Unknown ticket.' });
      const expiresAt = new Date(Date.now() + TICKET_LIFE_MS).toISOString();
      return void answer(200, { session_id: call.sessionId, expires_at: expiresAt });
    }
    if (request.url === INTERNAL_PATHS.redeem) {
      const { digest, claim_id: claimId } = redeemRequest.parse(body);
      const call = calls.get(digest ?? '');
      if (!call) return void answer(401, { code: 'credential_invalid', detail: 'Unknown ticket.' });
      if (call.claimedBy !== undefined && call.claimedBy !== claimId)
        return void answer(409, { code: 'in_use', detail: 'Claimed.' });
      if (call.claimedBy === undefined) redeemed++;
      call.claimedBy = claimId;
      return void answer(200, plan(call, claimId));
    }
    answer(404, { code: 'not_found', detail: 'No such route.' });
  }

  const server = createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
    serve(request, response).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(JSON.stringify({ code: 'internal', detail: String(error) }));
    });
  });
  // A plan that a gateway would refuse is our mistake: it shows now, not in the first call.
  sessionPlanSchema.parse(
    plan(
      {
        digest: '',
        sessionId: '00000000-0000-7000-8000-000000000000',
        conversation: 'talk',
        carrier: 'plivo',
      },
      'claim',
    ),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get redeemed() {
      return redeemed;
    },
    prepare(prepared) {
      for (const call of prepared) calls.set(call.digest, { ...call });
    },
    async [Symbol.asyncDispose]() {
      const closed = server.listening ? once(server, 'close') : undefined;
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
