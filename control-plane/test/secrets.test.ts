import { randomUUID } from 'node:crypto';
import { Writable } from 'node:stream';
import t from 'tap';
import { createLogger } from '@parley/shared/logging/logger';
import type { SessionResponse } from '../src/sessions/session-schema.ts';
import { Scope } from '../src/tenancy/scope.ts';
import { chatAnswer, eventually, openLoopbackServer } from './fixtures/loopback-server.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { TestGateway } from './fixtures/test-gateway.ts';

// Everything is told to the log, and then the log is searched for what must not be in it.

const lines: string[] = [];
const destination = new Writable({
  write(chunk: Buffer, _encoding, done) {
    lines.push(chunk.toString('utf8'));
    done();
  },
});
const logger = createLogger({ name: 'test', level: 'trace', destination });
const llm = await openLoopbackServer(() => chatAnswer({ customer_name: 'Wanda Whisper' }));
t.teardown(() => llm[Symbol.asyncDispose]());
const crm = await openLoopbackServer(() => ({ status: 500, body: 'SECRET-ANSWER' }));
t.teardown(() => crm[Symbol.asyncDispose]());
const carrierApi = await openLoopbackServer(() => ({ status: 500, body: 'SECRET-ANSWER' }));
t.teardown(() => carrierApi[Symbol.asyncDispose]());
const plane = await openTestControlPlane({
  logger,
  env: {
    OPENAI_BASE_URL: `${llm.url}/v1`,
    OPENAI_API_KEY: 'sk-provider-secret',
    OUTBOUND_ALLOW: crm.url,
    PLIVO_BASE_URL: carrierApi.url,
  },
});
t.teardown(() => plane[Symbol.asyncDispose]());

void t.test('no credential and nothing anybody said is in the log, an event or an error', async (t) => {
  const gateway = new TestGateway(plane);
  const { services } = plane.app;
  const secrets = ['sk-provider-secret', 'plivo-secret-token', plane.internalToken, plane.first.apiKey];
  const private_ = [
    'SECRET-ANSWER',
    'Wanda Whisper',
    'whispered words',
    '+919876543210',
    '919876543210',
    'variable-secret',
  ];
  const answers: string[] = [];
  const call = async <T>(method: string, path: string, body?: unknown) => {
    const answer = await plane.call<T>(method, path, { body });
    return answer.body;
  };

  const P = `/v1/orgs/${plane.first.org._id}/projects/${plane.first.project._id}`;
  const agent = await call<{ id: string }>('POST', `${P}/agents`, {
    name: `Agent ${randomUUID()}`,
    config: {
      pre_call: { url: `${crm.url}/pre?key=variable-secret`, headers: { 'x-key': 'pre-call-secret' } },
    },
  });
  secrets.push('pre-call-secret');
  await call('PUT', `/api/v1/webhooks/agents/${agent.id}/call-ended`, {
    enabled: true,
    url: `${crm.url}/crm?key=variable-secret`,
    web_calls: true,
    phone_calls: true,
  });
  secrets.push(
    (
      await call<{ secret: string }>('POST', `/api/v1/webhooks/agents/${agent.id}/rotate-secret`, {
        webhook: 'call_ended',
      })
    ).secret,
  );

  const phone = await call<SessionResponse>('POST', '/v1/sessions', {
    channel: 'telephony',
    provider: 'plivo',
  });
  const web = await call<SessionResponse>('POST', '/v1/sessions', {
    agent_id: agent.id,
    variables: { code: 'variable-secret' },
  });
  const minted = await call<{ token: string }>('POST', '/v1/realtime/sessions', { agent_id: agent.id });
  secrets.push(phone.ws_ticket!, web.token!, web.token!.split('.')[2]!, minted.token);

  // Wrong, right and repeated; with credentials where they don't belong.
  const asked = [
    await gateway.redeem({ ticket: phone.ws_ticket!, start: { carrier: 'telnyx' } }),
    await gateway.redeem({ ticket: phone.ws_ticket! }),
    await gateway.redeem({ ticket: phone.ws_ticket! }),
    await gateway.redeem({ token: `${web.token!}x` }),
    await gateway.check(minted.token, {
      kind: 'realtime',
      path: `/media/v1/streams/plivo/${phone.ws_ticket!}`,
    }),
    await gateway.internal('POST', '/internal/v1/admissions/redeem', {
      token: web.token,
      kind: 'participant',
    }),
  ];
  for (const { status, body } of asked) if (status !== 200) answers.push(JSON.stringify(body));
  const plan = (await gateway.redeem({ token: web.token! })).body;
  for (const path of [
    `/media/v1/streams/plivo/${phone.ws_ticket!}`,
    `/v1/sessions/${phone.ws_ticket!}`,
    `/v1/sessions?token=${web.token!}`,
  ]) {
    const answer = await plane.call('GET', path);
    answers.push(JSON.stringify(answer.body));
  }

  await services.callEvents.handle(gateway.started(plan));
  await services.callEvents.handle(gateway.turn(plan, 0, 'caller', 'whispered words'));
  const turn = gateway.turn(plan, 1, 'caller', 'whispered words');
  await services.callEvents.handle({ ...turn, data: { text: 'whispered words', broken: true } });
  await services.callEvents.handle(
    gateway.ended(plan, {
      variables: { code: 'variable-secret' },
      turns: [
        {
          turn_index: 0,
          role: 'caller',
          text: 'whispered words',
          start_ms: 0,
          end_ms: 1,
          interrupted: false,
          redacted: false,
        },
      ],
    }),
  );
  await eventually(async () => {
    const { items } = await call<{ items: { last_status: number | null }[] }>(
      'GET',
      `/v1/agents/${agent.id}/webhook-deliveries`,
    );
    return items[0]?.last_status === 500;
  });

  // A carrier that fails, and one that nobody knows.
  const scope = new Scope(services.database, {
    orgId: plane.first.org._id,
    projectId: null,
    projects: null,
    role: 'owner',
  });
  const account = await services.telephonyAccounts.create(scope, 'test', '', {
    name: 'Plivo',
    provider: 'plivo',
    credentials: { auth_id: 'MA1', auth_token: 'plivo-secret-token' },
  });
  answers.push(JSON.stringify(await services.telephonyAccounts.verify(scope, account)));
  const forged = await fetch(
    `${plane.url}/api/v1/webhooks/carriers/plivo/voice/${account._id}?From=919876543210`,
    {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'x-plivo-signature-v3': 'c2ln',
        'x-plivo-signature-v3-nonce': '1',
      },
      body: 'From=919876543210&CallUUID=u',
    },
  );
  answers.push(await forged.text());

  const events = JSON.stringify(await call('GET', `/v1/sessions/${web.session_id}/events?limit=200`));
  const log = lines.join('');
  t.ok(log.length > 1000, 'there is a log to search');
  for (const secret of secrets) {
    for (const [where, text] of [
      ['log', log],
      ['events', events],
      ['answers', answers.join('\n')],
    ] as const) {
      t.notOk(text.includes(secret), `a secret of ${secret.length} characters is not in the ${where}`);
    }
  }
  for (const text of private_) {
    t.notOk(log.includes(text), `"${text}" is not in the log`);
    if (text !== 'variable-secret') t.notOk(answers.join('\n').includes(text), `"${text}" is in no error`);
  }
});
