import { performance } from 'node:perf_hooks';
import type { WebSocket } from 'uWebSockets.js';
import { loadUws } from '@parley/media-gateway/server/load-uws';
import { encodeMulaw } from '@parley/shared/audio/g711';
import { answerMs, type ProviderDelays } from '../backend/backend.ts';
import { isVoiced } from '@parley/emulators/carriers/agent-playback';
import { conversation, GREETING, type ConversationName } from '../scenario/conversation.ts';
import { renderToneWord } from '@parley/emulators/speech/tone-words';

const { turns, delays } = JSON.parse(process.argv[2]!) as { turns: number; delays: ProviderDelays };
const FIRST_CHUNK_MS = 20;
const CHUNK_MS = 100;
const LEAD_MS = 300;

interface Line {
  carrier: 'plivo' | 'twilio';
  conversation: ConversationName;
  variant: number;
  streamId: string;
  replies: string[];
  next: number;
  lastVoicedAt: number;
  answered: boolean;
  due: NodeJS.Timeout | undefined;
  pump: NodeJS.Timeout | undefined;
  speech: Uint8Array;
  sent: number;
  startedAt: number;
  closed: boolean;
}

const rendered = new Map<string, Uint8Array>();
function render(text: string): Uint8Array {
  const known = rendered.get(text);
  if (known) return known;
  const parts = text.match(/\s+|\S+/g)!.map((part) => encodeMulaw(renderToneWord(part, 8000)));
  const speech = Buffer.concat(parts);
  rendered.set(text, speech);
  return speech;
}

type Socket = WebSocket<Line>;

function send(socket: Socket, bytes: Uint8Array): void {
  const line = socket.getUserData();
  const payload = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');
  socket.send(
    line.carrier === 'plivo'
      ? `{"event":"playAudio","media":{"contentType":"audio/x-mulaw","sampleRate":8000,"payload":"${payload}"}}`
      : `{"event":"media","streamSid":"${line.streamId}","media":{"payload":"${payload}"}}`,
  );
}

function speak(socket: Socket, text: string): void {
  const line = socket.getUserData();
  line.speech = render(text);
  line.sent = 0;
  line.startedAt = performance.now();
  pump(socket);
}

/** Sends what is due to be `LEAD_MS` ahead of the listener. */
function pump(socket: Socket): void {
  const line = socket.getUserData();
  line.pump = undefined;
  if (line.closed) return;
  while (line.sent < line.speech.length) {
    const aheadMs = line.sent / 8 - (performance.now() - line.startedAt);
    if (aheadMs > LEAD_MS - CHUNK_MS) {
      line.pump = setTimeout(pump, aheadMs - (LEAD_MS - CHUNK_MS), socket);
      return;
    }
    const end = line.sent + (line.sent === 0 ? FIRST_CHUNK_MS : CHUNK_MS) * 8;
    send(socket, line.speech.subarray(line.sent, end));
    line.sent = end;
  }
}

function hear(socket: Socket, payload: string): void {
  const line = socket.getUserData();
  const now = performance.now();
  if (isVoiced(Buffer.from(payload, 'base64'))) {
    line.lastVoicedAt = now;
    line.answered = false;
    clearTimeout(line.due);
    line.due = undefined;
    if (line.sent < line.speech.length) {
      clearTimeout(line.pump);
      line.sent = line.speech.length;
      socket.send(
        line.carrier === 'plivo'
          ? `{"event":"clearAudio","streamId":"${line.streamId}"}`
          : `{"event":"clear","streamSid":"${line.streamId}"}`,
      );
    }
  } else if (
    !line.answered &&
    line.due === undefined &&
    line.lastVoicedAt > 0 &&
    now - line.lastVoicedAt >= delays.sttMs - 5
  ) {
    line.answered = true;
    const reply = line.replies[line.next++ % line.replies.length]!;
    line.due = setTimeout(
      () => {
        line.due = undefined;
        if (!line.closed) speak(socket, reply);
      },
      answerMs(delays, reply),
    );
  }
}

const server = loadUws(16_384).App();
server.ws<Line>('/:carrier/:conversation/:variant', {
  idleTimeout: 60,
  upgrade(response, request, context) {
    const name = request.getParameter(1) as ConversationName;
    const variant = Number(request.getParameter(2));
    const { steps } = conversation(name, turns, variant);
    response.upgrade<Line>(
      {
        carrier: request.getParameter(0) as Line['carrier'],
        conversation: name,
        variant,
        streamId: '',
        replies: steps.flatMap((step) => ('reply' in step ? [step.reply] : [])),
        next: 0,
        lastVoicedAt: 0,
        answered: true,
        due: undefined,
        pump: undefined,
        speech: new Uint8Array(),
        sent: 0,
        startedAt: 0,
        closed: false,
      },
      request.getHeader('sec-websocket-key'),
      request.getHeader('sec-websocket-protocol'),
      request.getHeader('sec-websocket-extensions'),
      context,
    );
  },
  message(socket, message) {
    const wire = JSON.parse(Buffer.from(message).toString()) as {
      event: string;
      streamSid?: string;
      start?: { streamId?: string };
      media?: { payload: string };
    };
    if (wire.event === 'media') hear(socket, wire.media!.payload);
    else if (wire.event === 'start') {
      socket.getUserData().streamId = wire.streamSid ?? wire.start?.streamId ?? '';
      setTimeout(() => {
        if (!socket.getUserData().closed) speak(socket, GREETING);
      }, delays.ttsMs);
    }
  },
  close(socket) {
    const line = socket.getUserData();
    line.closed = true;
    clearTimeout(line.due);
    clearTimeout(line.pump);
  },
});
server.listen('127.0.0.1', 0, (listening) => {
  if (!listening) process.exit(1);
  process.send!({ ready: { port: loadUws(16_384).us_socket_local_port(listening) } });
});
process.once('disconnect', () => process.exit(0));
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
