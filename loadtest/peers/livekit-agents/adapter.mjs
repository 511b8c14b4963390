// LiveKit agents-js behind a carrier's media stream: one process, one session a call, no room. Everything optional that
// costs time is off: no VAD, no preemption, no endpointing delay. Started by ../../src/sut/livekit-agents.ts.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
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
/** One for each call: its socket takes no more than five contexts, which calls that shared it would soon need. */
const newTts = () =>
  new TTS({
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

/** As far ahead of the listener as the output of the peer's own rooms is. */
const LEAD_MS = 200;

/**
 * Sends what it gets, at most `LEAD_MS` ahead; the carrier plays it, and a mark says when it has. A segment is over when
 * its mark came back, or at once when it is cleared: every one that was begun is reported finished exactly once.
 */
class LineOutput extends voice.AudioOutput {
  #line;
  #resampler = new Resampler(VOICE_RATE, WIRE_RATE);
  #pushedMs = 0;
  #startedAt = 0;
  #segment = 0;
  /** Ends the wait of whoever is held back by the lead. */
  #cleared = new AbortController();
  /** Frames that are held back, in order. */
  #last = Promise.resolve();

  constructor(line) {
    super(VOICE_RATE, undefined, { pause: false });
    this.#line = line;
  }

  captureFrame(frame) {
    const { signal } = this.#cleared;
    return (this.#last = this.#last.then(() => this.#send(frame, signal)));
  }

  async #send(frame, cleared) {
    if (cleared.aborted) return;
    const aheadMs = this.#pushedMs - (performance.now() - this.#startedAt);
    if (this.#pushedMs > 0 && aheadMs > LEAD_MS)
      await sleep(aheadMs - LEAD_MS, undefined, { signal: cleared }).catch(() => {});
    if (cleared.aborted) return;
    await super.captureFrame(frame);
    if (this.#pushedMs === 0) {
      this.#startedAt = performance.now();
      this.onPlaybackStarted(Date.now());
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
    this.#cleared.abort();
    this.#cleared = new AbortController();
    if (this.#pushedMs === 0) return;
    // What is captured after this belongs to another segment.
    super.flush();
    this.#line.clear();
    this.#finish(Math.min(performance.now() - this.#startedAt, this.#pushedMs), true);
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
  const tts = newTts();
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
    // With it, an interrupted reply waits twice two seconds for a transcript that does not end, and the next one with it.
    useTtsAlignedTranscript: false,
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
  await tts.close();
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
