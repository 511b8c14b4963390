// A caller on a Plivo media stream, against a running installation. Written from Plivo's documentation of its audio
// streams; shares no code with the platform.
//
//   PARLEY_URL=http://127.0.0.1:8080 PARLEY_API_KEY=… AGENT_ID=agt_… node plivo-call.mjs
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { converse, createSession, Telephone } from './telephone.mjs';

const session = await createSession('plivo');
const socket = new WebSocket(`${session.media_ws_url}/${session.ws_ticket}`);
const callId = randomUUID();
const streamId = randomUUID();
let sequenceNumber = 0;
let chunk = 0;

const send = (message) => {
  const numbered = { sequenceNumber: ++sequenceNumber, ...message };
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(numbered));
};
const telephone = new Telephone({
  send: (frame) =>
    send({
      event: 'media',
      streamId,
      media: {
        track: 'inbound',
        timestamp: String(Date.now()),
        chunk: ++chunk,
        payload: frame.toString('base64'),
      },
      extra_headers: '',
    }),
  played: (name) => send({ event: 'playedStream', streamId, name }),
});

let problem;
socket.on('message', (data, isBinary) => {
  const message = isBinary ? {} : JSON.parse(data.toString());
  switch (message.event) {
    case 'playAudio': {
      const { contentType, sampleRate, payload } = message.media;
      if (contentType !== 'audio/x-mulaw' || sampleRate !== 8000)
        problem = `playAudio of ${contentType} ${sampleRate}`;
      else telephone.play(Buffer.from(payload, 'base64'));
      break;
    }
    case 'checkpoint':
      if (message.streamId !== streamId) problem = `checkpoint of stream ${message.streamId}`;
      telephone.mark(message.name);
      break;
    case 'clearAudio':
      // The checkpoints of what is cleared are not acknowledged.
      telephone.clear();
      send({ event: 'clearedAudio', streamId });
      break;
    case 'sendDTMF':
      console.log(`digits: ${message.dtmf}`);
      break;
    default:
      problem = `a message that Plivo does not know: ${isBinary ? 'binary' : message.event}`;
  }
});
socket.on('close', () => telephone.stop());

await once(socket, 'open');
console.log(`session ${session.session_id}: connected`);
send({
  event: 'start',
  start: {
    callId,
    streamId,
    accountId: 'MAPLAINCLIENT0000001',
    tracks: ['inbound'],
    mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000 },
  },
  extra_headers: '',
});
telephone.start();
const code = await converse(telephone);
if (socket.readyState !== WebSocket.CLOSED) {
  socket.close(1000);
  await once(socket, 'close');
}
if (problem) console.error(`The far end sent ${problem}.`);
process.exitCode = problem ? 1 : code;
