import { once } from 'node:events';
import t from 'tap';
import WebSocket from 'ws';
import type { Wire } from '../../media-gateway/test/fixtures/agents-client.ts';
import { openRealtimePlatform } from './fixtures/realtime-platform.ts';

/** Events of one connection, and a way to wait for the next of a kind. */
function follow(socket: WebSocket) {
  const events: Wire[] = [];
  const waiting = new Set<() => void>();
  socket.on('message', (data: Buffer) => {
    events.push(JSON.parse(data.toString()) as Wire);
    for (const check of [...waiting]) check();
  });
  return {
    events,
    next: (type: string, from = 0) =>
      new Promise<Wire>((resolve) => {
        const check = () => {
          const found = events.slice(from).find((event) => event.type === type);
          if (!found) return;
          waiting.delete(check);
          resolve(found);
        };
        waiting.add(check);
        check();
      }),
  };
}

/** Each turn of the caller leads to the next node. */
const flow = {
  start_node_id: 'first',
  nodes: [
    { id: 'first', type: 'conversation', prompt: 'Listen.' },
    { id: 'note', type: 'set', assignments: [{ name: 'asked', value: 'once' }] },
    { id: 'second', type: 'conversation', prompt: 'Listen on.' },
    { id: 'third', type: 'conversation', prompt: 'Listen to the end.' },
    { id: 'bye', type: 'end' },
  ],
  edges: [
    { id: 'a', from: 'first', to: 'note', condition: { type: 'always' } },
    { id: 'b', from: 'note', to: 'second', condition: { type: 'always' } },
    {
      id: 'c',
      from: 'second',
      to: 'third',
      condition: { type: 'expression', rules: [{ variable: 'asked', op: 'eq', value: 'once' }] },
    },
    { id: 'd', from: 'third', to: 'bye', condition: { type: 'event', name: 'over' } },
  ],
};

void t.test('a web session outlives a lost connection, in the node that it was in', async (t) => {
  const { url, mint, rest, platform } = await openRealtimePlatform(t, {
    agent: {
      greeting: '',
      config: { greeting: { mode: 'caller_first', caller_first_timeout_seconds: 60 } },
      flow_definition: flow,
    },
  });
  const { token, sessionId } = await mint();
  const first = new WebSocket(url, { headers: { authorization: `Bearer ${token}` } });
  const before = follow(first);
  await before.next('session.created');
  const write = (socket: WebSocket, text: string) => {
    const content = [{ type: 'input_text', text }];
    socket.send(
      JSON.stringify({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } }),
    );
    socket.send(JSON.stringify({ type: 'response.create', response: { output_modalities: ['text'] } }));
  };
  write(first, 'When are you open?');
  await before.next('response.done');
  type Turns = { items: { role: string }[] };
  const turnsOnRecord = async () => (await rest.get<Turns>(`/v1/sessions/${sessionId}/transcript`)).items;
  while ((await turnsOnRecord()).length < 2) await new Promise((resolve) => setTimeout(resolve, 50));
  first.terminate();

  type Credential = { ws_url: string; token: string };
  const credential = await rest.post<Credential>(`/v1/sessions/${sessionId}/token`, {});
  t.equal(credential.ws_url, url);
  const second = new WebSocket(url, ['realtime', `openai-insecure-api-key.${credential.token}`]);
  t.teardown(() => second.terminate());
  const after = follow(second);
  t.match((await after.next('session.created'))['session'], { id: `sess_${sessionId}` });
  await after.next('conversation.item.done', 3);
  t.match(
    after.events.filter((event) => event.type === 'conversation.item.added').map((event) => event['item']),
    [
      { role: 'user', content: [{ text: 'When are you open?' }] },
      { role: 'assistant', content: [{ text: /^We are open every day/ }] },
    ],
    'it is told what was said before',
  );
  const from = after.events.length;
  write(second, 'I would like to book a table.');
  const done = await after.next('response.done', from);
  t.match(done['response'], { status: 'completed', output: [{ content: [{ text: /^With pleasure/ }] }] });
  type Events = { items: { type: string; data: { node_id?: string; by?: string } }[] };
  const nodes = async () =>
    (await rest.get<Events>(`/v1/sessions/${sessionId}/events?limit=200`)).items.flatMap(({ type, data }) =>
      type === 'flow_node' ? [data.node_id] : [],
    );
  while ((await nodes()).length < 4) await new Promise((resolve) => setTimeout(resolve, 50));
  t.same(await nodes(), ['first', 'note', 'second', 'third'], 'and with the variables as they were');
  while (platform.gateway.calls > 1) await new Promise((resolve) => setTimeout(resolve, 20));
  t.equal(platform.gateway.calls, 1, 'the leg before is over');

  second.close(1000);
  await once(second, 'close');
  type Session = { status: string; hangup_reason: string | null; message_count: number };
  let session = await rest.get<Session>(`/v1/sessions/${sessionId}`);
  while (session.status !== 'ended') {
    await new Promise((resolve) => setTimeout(resolve, 50));
    session = await rest.get<Session>(`/v1/sessions/${sessionId}`);
  }
  t.match(session, { hangup_reason: 'caller_hangup', message_count: 4 });
  t.same(
    (await turnsOnRecord()).map((turn) => turn.role),
    ['caller', 'agent', 'caller', 'agent'],
    'one transcript over both connections',
  );
});
