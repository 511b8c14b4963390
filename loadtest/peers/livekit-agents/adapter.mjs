// LiveKit agents-js behind a carrier's media stream: one process, one session a call, no room. Everything optional that
// costs time is off: no VAD, no preemption, no endpointing delay. Started by ../../src/sut/livekit-agents.ts.
import { once } from 'node:events';
import { initializeLogger, llm as models, voice } from '@livekit/agents';
import { STTv2 } from '@livekit/agents-plugin-deepgram';
import { TTS } from '@livekit/agents-plugin-elevenlabs';
import { LLM } from '@livekit/agents-plugin-openai';
import { AudioFrame } from '@livekit/rtc-node';
import { WebSocketServer } from 'ws';
import { z } from 'zod';
import { decodeMulaw, encodeMulaw } from '../../../shared/src/audio/g711.ts';
import { Resampler } from '../../../shared/src/audio/resampler.ts';

const { deepgram, openai, elevenlabs, greeting } = JSON.parse(process.argv[2]);
const WIRE_RATE = 8000;
const VOICE_RATE = 16_000;

initializeLogger({ pretty: false, level: process.env.PEER_LOG ?? 'error' });
const llm = new LLM({ model: 'parley-emulated-model', apiKey: 'emulated', baseURL: `${openai}/v1` });
const tts = new TTS({
  apiKey: 'emulated',
  voiceId: 'loadtest',
  baseURL: `${elevenlabs}/v1`,
  encoding: 'pcm_16000',
  autoMode: true,
});

// Without any tool it sends an empty list of them, which the API refuses.
const tools = {
  note: models.tool({
    description: 'Keeps a note.',
    parameters: z.object({ text: z.string() }),
    execute: () => Promise.resolve('Kept.'),
  }),
};

class LineInput extends voice.AudioInput {
  #controller;

  constructor() {
    super();
    this.multiStream.addInputStream(
      new ReadableStream({ start: (controller) => void (this.#controller = controller) }),
    );
  }

  push(mulaw) {
    const samples = decodeMulaw(mulaw);
    this.#controller?.enqueue(new AudioFrame(samples, WIRE_RATE, 1, samples.length));
  }

  async close() {
    this.#controller?.close();
    this.#controller = undefined;
    await super.close();
  }
}

/** Sends what it gets at once; the carrier plays it, and a mark says when it has. */
class LineOutput extends voice.AudioOutput {
  #line;
  #resampler = new Resampler(VOICE_RATE, WIRE_RATE);
  #pushedMs = 0;
  #startedAt = 0;
  #segment = 0;

  constructor(line) {
    super(VOICE_RATE, undefined, { pause: false });
    this.#line = line;
  }

  async captureFrame(frame) {
    await super.captureFrame(frame);
    if (this.#pushedMs === 0) {
      this.#startedAt = Date.now();
      this.onPlaybackStarted(this.#startedAt);
    }
    this.#pushedMs += (frame.samplesPerChannel / frame.sampleRate) * 1000;
    const samples = this.#resampler.process(frame.data);
    if (samples.length > 0) this.#line.play(encodeMulaw(samples));
  }

  flush() {
    super.flush();
    if (this.#pushedMs > 0) this.#line.mark(String(this.#segment));
  }

  clearBuffer() {
    this.#line.clear();
    this.#finish(Math.min(Date.now() - this.#startedAt, this.#pushedMs), true);
  }

  onMark(name) {
    if (name === String(this.#segment)) this.#finish(this.#pushedMs, false);
  }

  #finish(playedMs, interrupted) {
    if (this.#pushedMs === 0) return;
    this.#segment++;
    this.#pushedMs = 0;
    this.onPlaybackFinished({ playbackPosition: playedMs / 1000, interrupted });
  }
}

async function serve(socket, carrier, conversation) {
  let streamId = '';
  const send = (message) => socket.readyState === socket.OPEN && socket.send(JSON.stringify(message));
  const plivo = carrier === 'plivo';
  const output = new LineOutput({
    play(mulaw) {
      const payload = Buffer.from(mulaw).toString('base64');
      send(
        plivo
          ? { event: 'playAudio', media: { contentType: 'audio/x-mulaw', sampleRate: 8000, payload } }
          : { event: 'media', streamSid: streamId, media: { payload } },
      );
    },
    mark: (name) =>
      send(
        plivo
          ? { event: 'checkpoint', streamId, name }
          : { event: 'mark', streamSid: streamId, mark: { name } },
      ),
    clear: () => send(plivo ? { event: 'clearAudio', streamId } : { event: 'clear', streamSid: streamId }),
  });
  const input = new LineInput();
  const session = new voice.AgentSession({
    stt: new STTv2({
      apiKey: 'emulated',
      model: 'flux-general-en',
      endpointUrl: `${deepgram.replace('http', 'ws')}/v2/listen`,
      sampleRate: WIRE_RATE,
      tags: [conversation],
    }),
    llm,
    tts,
    vad: null,
    aecWarmupDuration: null,
    turnHandling: {
      turnDetection: 'stt',
      endpointing: { mode: 'fixed', minDelay: 0, maxDelay: 0 },
      interruption: { minDuration: 0, minWords: 0 },
      preemptiveGeneration: { enabled: false },
    },
  });
  session.on(voice.AgentSessionEventTypes.Error, ({ error }) => console.error(error));
  let started = false;
  socket.on('message', (data) => {
    const wire = JSON.parse(data.toString());
    if (wire.event === 'media') input.push(Buffer.from(wire.media.payload, 'base64'));
    else if (wire.event === 'playedStream') output.onMark(wire.name);
    else if (wire.event === 'mark') output.onMark(wire.mark.name);
    else if (wire.event === 'start' && !started) {
      started = true;
      streamId = wire.streamSid ?? wire.start.streamId;
      session.input.audio = input;
      session.output.audio = output;
      session.output.transcription = null;
      session
        .start({ agent: new voice.Agent({ instructions: 'You answer questions.', tools }), record: false })
        .then(() => session.say(greeting))
        .catch((error) => {
          console.error(error);
          socket.close(1011);
        });
    }
  });
  await once(socket, 'close');
  await input.close();
  await session.close();
}

const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });
server.on('connection', (socket, request) => {
  const [, carrier, conversation] = request.url.split('/');
  socket.on('error', () => {});
  serve(socket, carrier, conversation).catch((error) => console.error(error));
});
await once(server, 'listening');
process.once('disconnect', () => process.exit(0));
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});
process.send({ ready: { port: server.address().port } });
