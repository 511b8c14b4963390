import { on } from 'node:events';
import t from 'tap';
import WebSocket from 'ws';
import { openRealtimePlatform } from './fixtures/realtime-platform.ts';

/** Reads until an event of a kind comes. */
async function eventOf(socket: WebSocket, type: string): Promise<void> {
  for await (const [data] of on(socket, 'message') as AsyncIterable<[Buffer]>) {
    if ((JSON.parse(data.toString()) as { type: string }).type === type) return;
  }
}

void t.test('the model is told what is known of whom it speaks with, and of nobody else', async (t) => {
  const { platform, agentId, rest, url, mint } = await openRealtimePlatform(t, {
    agent: {
      system_prompt: 'You take reservations.',
      greeting: '',
      config: { memory: { read: true } },
    },
  });
  for (const [subject, content] of [
    ['asha', 'Allergic to {{nuts}}.'],
    ['ravi', 'Owes us money.'],
  ])
    await rest.post(`/v1/agents/${agentId}/memories`, { subject, kind: 'fact', content });
  const { token, sessionId } = await mint({ user_identifier: 'asha' });
  const socket = new WebSocket(url, ['realtime', `openai-insecure-api-key.${token}`]);
  t.teardown(() => socket.terminate());
  await eventOf(socket, 'session.created');
  const content = [{ type: 'input_text', text: 'When are you open?' }];
  socket.send(
    JSON.stringify({ type: 'conversation.item.create', item: { type: 'message', role: 'user', content } }),
  );
  socket.send(JSON.stringify({ type: 'response.create', response: { output_modalities: ['text'] } }));
  await eventOf(socket, 'response.done');

  const [system] = platform.emulators.openai!.requests.at(-1)!.messages;
  t.match(system, { role: 'system', content: /^You take reservations\.[^]*<memories>\n\{"kind":"fact"/ });
  t.match(JSON.stringify(system), /Allergic to \{\{nuts\}\}\./);
  t.notMatch(JSON.stringify(system), /Owes us money/);
  const events = await rest.get<{ items: object[] }>(`/v1/sessions/${sessionId}/events?type=memory`);
  t.match(events.items, [{ type: 'memory', data: { action: 'read', count: 1 } }]);
});
