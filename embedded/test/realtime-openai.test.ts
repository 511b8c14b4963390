import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import net from 'node:net';
import OpenAI from 'openai';
import { OpenAIRealtimeWebSocket } from 'openai/realtime/websocket';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import type { RealtimeClientEvent, RealtimeServerEvent } from 'openai/resources/realtime/realtime';
import t from 'tap';
import WebSocket from 'ws';
import { Resampler } from '@parley/shared/audio/resampler';
import { encodeMulaw } from '@parley/shared/audio/g711';
import { pcm16FromBytes } from '@parley/shared/audio/audio-frame';
import { openRealtimePlatform } from './fixtures/realtime-platform.ts';
import { openTlsFront } from '../../media-gateway/test/fixtures/tls-front.ts';

const platform = await openRealtimePlatform(t, { agent: { greeting: '' } });

/** What either class of the SDK has in common. */
interface SdkSocket {
  on(event: 'event', listener: (event: RealtimeServerEvent) => void): unknown;
  on(
    event: 'error',
    listener: (error: Error & { error?: { code?: string; event_id?: string } }) => void,
  ): unknown;
  send(event: RealtimeClientEvent): unknown;
}

function follow(socket: SdkSocket) {
  const events: RealtimeServerEvent[] = [];
  const errors: (Error & { error?: { code?: string; event_id?: string } })[] = [];
  const waiting = new Set<() => void>();
  const check = () => {
    for (const task of [...waiting]) task();
  };
  socket.on('event', (event) => (events.push(event), check()));
  socket.on('error', (error) => (errors.push(error), check()));
  const until = <T>(look: () => T | undefined): Promise<T> =>
    new Promise((resolve) => {
      const task = () => {
        const found = look();
        if (found === undefined) return;
        waiting.delete(task);
        resolve(found);
      };
      waiting.add(task);
      task();
    });
  return {
    events,
    errors,
    error: () => until(() => errors.at(-1)),
    next: <T extends RealtimeServerEvent['type']>(type: T, from = 0) =>
      until(
        () =>
          events.slice(from).find((event) => event.type === type) as
            Extract<RealtimeServerEvent, { type: T }> | undefined,
      ),
  };
}

void t.test('the SDK mints a token, and its native class writes with the agent over TLS', async (t) => {
  const origin = await openTlsFront(t, Number(new URL(platform.platform.publicUrl).port));
  const admin = new OpenAI({ apiKey: platform.apiKey, baseURL: `${platform.platform.publicUrl}/v1` });
  const minted = await admin.realtime.clientSecrets.create({
    session: { type: 'realtime', model: platform.agentId },
    expires_after: { anchor: 'created_at', seconds: 60 },
  });
  t.match(minted, { value: /^ek_/, expires_at: Number, session: { type: 'realtime' } });

  const client = { apiKey: minted.value, baseURL: `${origin}/v1` };
  const connection = new OpenAIRealtimeWebSocket({ model: platform.agentId }, client);
  const { next, events, error, errors } = follow(connection);
  t.teardown(() => connection.close());
  const created = await next('session.created');
  t.equal(connection.socket.protocol, 'realtime', 'and never the one that holds the key');
  t.match(created.session, { type: 'realtime', model: platform.agentId });
  connection.send({ type: 'session.update', session: { type: 'realtime', output_modalities: ['text'] } });
  connection.send({
    type: 'conversation.item.create',
    item: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'When are you open?' }] },
  });
  connection.send({ type: 'response.create' });
  const done = await next('response.done');
  t.match(done.response, {
    status: 'completed',
    output: [
      {
        content: [
          { type: 'output_text', text: 'We are open every day from noon until eleven in the evening.' },
        ],
      },
    ],
  });
  const deltas = events.flatMap((event) =>
    event.type === 'response.output_text.delta' ? [event.delta] : [],
  );
  t.ok(deltas.length > 1, 'word by word');
  t.equal(deltas.join(''), 'We are open every day from noon until eleven in the evening.');
  t.same(errors, []);

  connection.send({ type: 'conversation.item.retrieve', item_id: 'nothing', event_id: 'mine' });
  t.match((await error()).error, { code: 'item_not_found', event_id: 'mine' });

  const second = new OpenAIRealtimeWebSocket({ model: platform.agentId }, client);
  const refusal = follow(second);
  const [closed] = (await once(second.socket, 'close')) as [CloseEvent];
  t.match(refusal.errors[0]!.error, { code: 'in_use' }, 'a token opens one connection, and says so');
  t.equal(closed.code, 4409);
});

void t.test('an API key opens a session with the agent that the model names', async (t) => {
  const origin = await openTlsFront(t, Number(new URL(platform.platform.publicUrl).port));
  const client = { apiKey: platform.apiKey, baseURL: `${origin}/v1` };
  const connection = new OpenAIRealtimeWebSocket({ model: platform.agentId }, client);
  t.teardown(() => connection.close());
  t.match((await follow(connection).next('session.created')).session, { model: platform.agentId });
  const other = new OpenAIRealtimeWebSocket({ model: 'agt_nobody' }, client);
  t.match((await follow(other).error()).error, { code: 'agent_refused' });
  const wrong = { ...client, apiKey: `sk-svc-${'0'.repeat(40)}` };
  const refused = new OpenAIRealtimeWebSocket({ model: platform.agentId }, wrong);
  t.match((await follow(refused).error()).error, { code: 'credential_invalid' });
});

void t.test('what is no credential gets a 401 that says what to send', async (t) => {
  const client = new WebSocket(`${platform.url}?model=${platform.agentId}`, {
    headers: { authorization: 'Bearer sk-of-somebody-else' },
  });
  client.on('error', () => undefined);
  const [, response] = (await once(client, 'unexpected-response')) as [unknown, IncomingMessage];
  t.equal(response.statusCode, 401);
  t.equal(response.headers['content-type'], 'application/json');
  const body = Buffer.concat(await response.toArray()).toString();
  t.match(JSON.parse(body), { code: 'unauthenticated', detail: /API key.*client_secrets/ });
});

void t.test('its Node class pushes to talk in mu-law', async (t) => {
  const { token } = await platform.mint({ input_format: 'pcmu_8000', output_format: 'pcmu_8000' });
  const port = Number(new URL(platform.platform.publicUrl).port);
  const connection = new OpenAIRealtimeWS(
    {
      model: platform.agentId,
      // The class speaks TLS only; this hands it a plain socket.
      options: { createConnection: () => net.connect(port, '127.0.0.1') as never },
    },
    { apiKey: token, baseURL: 'https://127.0.0.1/v1' } as OpenAI,
  );
  const { next, errors, events } = follow(connection);
  t.teardown(() => connection.close());
  const created = await next('session.created');
  t.match(created.session, {
    audio: { input: { format: { type: 'audio/pcmu' } }, output: { format: { type: 'audio/pcmu' } } },
  });
  connection.send({
    type: 'session.update',
    session: { type: 'realtime', audio: { input: { turn_detection: null } } },
  });
  t.match((await next('session.updated')).session, { audio: { input: { turn_detection: null } } });
  await platform.platform.emulators.deepgram!.teach(['When are you open?']);
  const pcm = await platform.speak('When are you open?');
  const mulaw = encodeMulaw(new Resampler(24_000, 8000).process(pcm16FromBytes(pcm)));
  for (let at = 0; at < mulaw.length; at += 800) {
    const audio = Buffer.from(mulaw.subarray(at, at + 800)).toString('base64');
    connection.send({ type: 'input_audio_buffer.append', audio });
    // As fast as a microphone: a recogniser hears no faster.
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  connection.send({ type: 'input_audio_buffer.commit' });
  connection.send({ type: 'response.create' });
  const heard = await next('conversation.item.input_audio_transcription.completed');
  t.equal(heard.transcript, 'When are you open?');
  const done = await next('response.done');
  t.match(done.response, { status: 'completed' });
  const audio = events.flatMap((event) =>
    event.type === 'response.output_audio.delta' ? [Buffer.from(event.delta, 'base64')] : [],
  );
  t.ok(Buffer.concat(audio).length > 8 * 2000, 'seconds of mu-law');
  t.same(errors, []);
});
