import { on, once } from 'node:events';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import WebSocket from 'ws';
import { eventsUntilClose } from '../../media-gateway/test/fixtures/agents-client.ts';
import { openRealtimePlatform } from './fixtures/realtime-platform.ts';
import { until } from '../../media-gateway/test/fixtures/until.ts';

const PAGE = 'https://www.example.com';

interface Update {
  type: string;
  session: Record<string, unknown>;
}

/** The next event of a kind. */
async function eventOf(socket: WebSocket, type: string): Promise<unknown> {
  for await (const [data] of on(socket, 'message') as AsyncIterable<[Buffer]>) {
    const event = JSON.parse(data.toString()) as { type: string };
    if (event.type === type) return event;
  }
  return undefined;
}

void t.test('a visitor of a public page talks to the agent, from that page alone', async (t) => {
  const { platform, agentId, rest, url } = await openRealtimePlatform(t, {
    agent: {
      greeting: '',
      config: { widget: { enabled: true, allowed_origins: [PAGE, 'https://other.example.com'] } },
    },
  });
  const begun = await fetch(`${platform.publicUrl}/public/v1/agents/${agentId}/sessions`, {
    method: 'POST',
    headers: { origin: PAGE },
  });
  t.equal(begun.status, 200);
  const { token, ws_url, session_id } = (await begun.json()) as Record<string, string>;
  t.equal(ws_url, url);
  // As a browser has to: the token in the sub-protocol, the origin given by the browser itself.
  const connect = (origin?: string) =>
    new WebSocket(
      url,
      ['realtime', `openai-insecure-api-key.${token}`],
      origin === undefined ? {} : { origin },
    );

  for (const origin of [
    undefined,
    'null',
    'https://other.example.com',
    'http://www.example.com',
    `${PAGE}:8443`,
  ]) {
    const { events, code } = await eventsUntilClose(connect(origin));
    t.match(events, [{ type: 'error', error: { code: 'origin_refused' } }], `from ${origin ?? 'nowhere'}`);
    t.equal(code, 4401);
  }

  const socket = connect(PAGE);
  t.teardown(() => socket.terminate());
  const [first] = (await once(socket, 'message')) as [Buffer];
  const created = JSON.parse(first.toString()) as Update;
  t.match(created, { type: 'session.created', session: { id: `sess_${session_id}`, model: agentId } });
  const lasts = (created.session['expires_at'] as number) - Date.now() / 1000;
  t.ok(lasts > 0 && lasts <= 600, 'ten minutes at most');

  socket.send(
    JSON.stringify({
      type: 'session.update',
      session: {
        type: 'realtime',
        model: 'gpt-realtime',
        instructions: 'You are a pirate.',
        tools: [{ type: 'function', name: 'open_safe', parameters: { type: 'object' } }],
      },
    }),
  );
  const [second] = (await once(socket, 'message')) as [Buffer];
  t.match(JSON.parse(second.toString()), {
    type: 'session.updated',
    session: { model: agentId, instructions: '', tools: [] },
  });
  const content = [{ type: 'input_text', text: 'When are you open?' }];
  socket.send(
    JSON.stringify({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } }),
  );
  socket.send(JSON.stringify({ type: 'response.create', response: { output_modalities: ['text'] } }));
  const answered = await eventOf(socket, 'response.done');
  t.match(answered, { response: { status: 'completed', output: [{ content: [{ text: /\w/ }] }] } });
  const closed = once(socket, 'close');
  socket.close();
  await closed;

  const again = await eventsUntilClose(connect(PAGE));
  t.match(again.events, [{ type: 'error', error: { code: 'in_use' } }], 'it opens one connection');
  const session = await rest.get<{ user_identifier: string | null }>(`/v1/sessions/${session_id}`);
  t.equal(session.user_identifier, null);
});

void t.test('visitors who were refused leave their places to others', async (t) => {
  // The agent's own question before the call holds the redemption up for as long as this test wants.
  const asked: ServerResponse[] = [];
  const owner = createServer((_, response) => void asked.push(response));
  owner.listen(0, '127.0.0.1');
  await once(owner, 'listening');
  t.teardown(() => {
    owner.closeAllConnections();
    owner.close();
  });
  const origin = `http://127.0.0.1:${(owner.address() as AddressInfo).port}`;
  const { platform, agentId, rest, url } = await openRealtimePlatform(t, {
    env: { OUTBOUND_ALLOW: origin },
    agent: {
      greeting: '',
      config: {
        widget: { enabled: true, allowed_origins: [PAGE] },
        pre_call: { url: `${origin}/pre`, timeout_ms: 10_000 },
      },
    },
  });
  const begin = async () => {
    const begun = await fetch(`${platform.publicUrl}/public/v1/agents/${agentId}/sessions`, {
      method: 'POST',
      headers: { origin: PAGE },
    });
    return { status: begun.status, body: (await begun.json()) as Record<string, string> };
  };
  const connect = (token: string) =>
    new WebSocket(url, ['realtime', `openai-insecure-api-key.${token}`], { origin: PAGE });
  const attacks: [code: number, times: number, type: string][] = [
    [1013, 70, 'response.create'],
    [4400, 100, 'no.such.event'],
    [1013, 70, 'response.create'],
  ];
  const refused: string[] = [];
  for (const [code, times, type] of attacks) {
    const { body } = await begin();
    refused.push(body['session_id']!);
    const socket = connect(body['token']!);
    const ended = eventsUntilClose(socket);
    await once(socket, 'open');
    for (let i = 0; i < times; i++) socket.send(JSON.stringify({ type }));
    t.equal((await ended).code, code);
  }
  t.equal((await begin()).status, 429, 'a widget has three sessions at once');
  await until(() => asked.length === 3);
  for (const response of asked) response.end('{}');

  type Session = {
    status: string;
    ended_by: string;
    failure_reason: string | null;
    started_at: string | null;
  };
  for (const id of refused) {
    const read = () => rest.get<Session>(`/v1/sessions/${id}`);
    await until(async () => (await read()).status !== 'created');
    t.match(await read(), {
      status: 'failed',
      ended_by: 'system',
      failure_reason: 'rejected',
      started_at: null,
    });
  }
  t.equal(platform.gateway.calls, 0);
  const { status, body } = await begin();
  t.equal(status, 200, 'their places are free');
  const socket = connect(body['token']!);
  t.teardown(() => socket.terminate());
  const created = eventOf(socket, 'session.created');
  await until(() => asked.length === 4);
  asked[3]!.end('{}');
  t.match(await created, { session: { id: `sess_${body['session_id']}` } });
});
