// A caller on a Twilio media stream, against a running installation. Written from Twilio's documentation of its media
// streams; shares no code with the platform.
//
//   PARLEY_URL=http://127.0.0.1:8080 PARLEY_API_KEY=… AGENT_ID=agt_… node twilio-call.mjs
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { converse, createSession, FRAME_MS, Telephone } from './telephone.mjs';

const session = await createSession('twilio');
const socket = new WebSocket(`${session.media_ws_url}/${session.ws_ticket}`);
const sid = (kind) => kind + randomBytes(16).toString('hex');
const accountSid = sid('AC');
const callSid = sid('CA');
const streamSid = sid('MZ');
let sequenceNumber = 0;
let chunk = 0;

const send = (message) => {
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
};
// Every counter and timestamp is a string.
const sendNumbered = (message) => send({ ...message, sequenceNumber: String(++sequenceNumber), streamSid });
const played = (name) => sendNumbered({ event: 'mark', mark: { name } });
const telephone = new Telephone({
  send: (frame) =>
    sendNumbered({
      event: 'media',
      media: {
        track: 'inbound',
        chunk: String(++chunk),
        timestamp: String((chunk - 1) * FRAME_MS),
        payload: frame.toString('base64'),
      },
    }),
  played,
});

let problem;
socket.on('message', (data, isBinary) => {
  const message = isBinary ? {} : JSON.parse(data.toString());
  if (message.streamSid !== streamSid) problem = `a message without the stream's id: ${message.event}`;
  switch (message.event) {
    case 'media':
      telephone.play(Buffer.from(message.media.payload, 'base64'));
      break;
    case 'mark':
      telephone.mark(message.mark.name);
      break;
    case 'clear':
      // The marks of what is cleared come back at once.
      for (const name of telephone.clear()) played(name);
      break;
    default:
      problem = `a message that Twilio does not know: ${isBinary ? 'binary' : message.event}`;
  }
});
socket.on('close', () => telephone.stop());

await once(socket, 'open');
console.log(`session ${session.session_id}: connected`);
send({ event: 'connected', protocol: 'Call', version: '1.0.0' });
sendNumbered({
  event: 'start',
  start: {
    accountSid,
    streamSid,
    callSid,
    tracks: ['inbound'],
    customParameters: {},
    mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 },
  },
});
telephone.start();
const code = await converse(telephone);
if (socket.readyState !== WebSocket.CLOSED) {
  sendNumbered({ event: 'stop', stop: { accountSid, callSid } });
  socket.close(1000);
  await once(socket, 'close');
}
if (problem) console.error(`The far end sent ${problem}.`);
process.exitCode = problem ? 1 : code;
