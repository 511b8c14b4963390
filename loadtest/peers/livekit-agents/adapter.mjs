// LiveKit agents-js behind a carrier's media stream: one process, one session a call, no room. Started by
// ../../src/sut/livekit-agents.ts.
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

const { deepgram, openai, elevenlabs, greeting, hearing } = JSON.parse(process.argv[2]);
const WIRE_RATE = 8000;
/** Of mu-law. */
const BYTES_PER_MS = WIRE_RATE / 1000;
const VOICE_RATE = 16_000;

/** How the agent is interrupted, and when a turn is over. Nothing is thought out ahead: Parley does not either. */
const SESSION = {
  // The recogniser's word alone counts. Everything optional that costs time is off.
  words: {
    vad: null,
    aecWarmupDuration: null,
    turnHandling: {
      turnDetection: 'stt',
      endpointing: { mode: 'fixed', minDelay: 0, maxDelay: 0 },
      interruption: { minDuration: 0, minWords: 0 },
      preemptiveGeneration: { enabled: false },
    },
  },
  // As its documents have it for this recogniser, which tells itself when a turn is over. Left to its defaults are the
  // VAD (the Silero model that comes with it), the interruption (0.5 s of voice pause the reply, which goes on 2 s after
  // the voice where no words came) and the delay at the end of a turn.
  voice: { turnHandling: { turnDetection: 'stt', preemptiveGeneration: { enabled: false } } },
}[hearing];

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
 * When words confirm an interruption, this version of the peer lets its output go on, and clears it as soon as the frame
 * that was held back has gone through. That is over in a moment in its rooms: here it would be heard, and taken for the
 * begin of the next reply. So one frame goes through, and nothing is sent until now.
 */
const GO_ON_AFTER_MS = 200;

/**
 * Sends what it gets, at most `LEAD_MS` ahead; the carrier plays it, and a mark says when it has. A segment is over when
 * its mark came back, or at once when it is cleared: every one that was begun is reported finished exactly once. Paused,
 * it takes back what the listener has not heard, which the peer's own rooms drop, and goes on with that.
 */
class LineOutput extends voice.AudioOutput {
  #line;
  #resampler = new Resampler(VOICE_RATE, WIRE_RATE);
  #segment = 0;
  /** Of this segment: it was begun, and all of it was sent. */
  #begun = false;
  #flushed = false;
  /** What was sent of it, mu-law, and what was taken back. */
  #sent = [];
  #unheard = [];
  /** When what was sent will have been heard. */
  #heardAt = 0;
  /** There is something that a clear would drop. */
  #clearable = false;
  /** Ends the wait of whoever is held back. */
  #cleared = new AbortController();
  /** Until it may go on; undefined when not paused. */
  #pause;
  #goingOn;
  #letOneThrough = false;
  /** All of the segment came while paused. */
  #markDue = false;
  /** Frames that are held back, in order. */
  #last = Promise.resolve();

  constructor(line) {
    super(VOICE_RATE, undefined, { pause: hearing === 'voice' });
    this.#line = line;
  }

  captureFrame(frame) {
    const { signal } = this.#cleared;
    return (this.#last = this.#last.then(() => this.#send(frame, signal)));
  }

  async #send(frame, cleared) {
    while (!cleared.aborted) {
      const aheadMs = this.#heardAt - performance.now();
      if (this.#letOneThrough) break;
      if (this.#pause) await this.#pause.promise;
      else if (aheadMs > LEAD_MS)
        await sleep(aheadMs - LEAD_MS, undefined, { signal: cleared }).catch(() => {});
      else break;
    }
    if (cleared.aborted) return;
    await super.captureFrame(frame);
    if (!this.#begun) {
      this.#begun = true;
      this.onPlaybackStarted(Date.now());
    }
    const mulaw = encodeMulaw(this.#resampler.process(frame.data));
    if (this.#letOneThrough) this.#unheard.push(mulaw);
    else this.#play(mulaw);
    this.#letOneThrough = false;
  }

  #play(mulaw) {
    if (mulaw.length === 0) return;
    this.#sent.push(mulaw);
    this.#heardAt = Math.max(this.#heardAt, performance.now()) + mulaw.length / BYTES_PER_MS;
    this.#line.play(mulaw);
    this.#clearable = true;
  }

  flush() {
    super.flush();
    if (!this.#begun) return;
    this.#flushed = true;
    if (this.#pause) this.#markDue = true;
    else this.#line.mark(String(this.#segment));
  }

  /** May be called again and again. */
  pause() {
    super.pause();
    clearTimeout(this.#goingOn);
    this.#goingOn = undefined;
    this.#letOneThrough = false;
    if (this.#pause) return;
    this.#pause = Promise.withResolvers();
    // The end of a reply is played out, as in the peer's own rooms.
    if (!this.#flushed) this.#takeBack();
  }

  resume() {
    super.resume();
    if (!this.#pause || this.#goingOn) return;
    if (!this.#begun) return this.#goOn();
    this.#goingOn = setTimeout(() => this.#goOn(), GO_ON_AFTER_MS);
    this.#letOneThrough = !this.#flushed;
    this.#pause.resolve();
    this.#pause = Promise.withResolvers();
  }

  #goOn() {
    clearTimeout(this.#goingOn);
    this.#goingOn = undefined;
    this.#letOneThrough = false;
    for (const mulaw of this.#unheard.splice(0)) this.#play(mulaw);
    if (this.#markDue) this.#line.mark(String(this.#segment));
    this.#markDue = false;
    this.#pause.resolve();
    this.#pause = undefined;
  }

  clearBuffer() {
    this.#cleared.abort();
    this.#cleared = new AbortController();
    if (this.#begun) {
      // What is captured after this belongs to another segment.
      super.flush();
      this.#takeBack();
      this.#finish(true);
    }
    if (this.#goingOn) this.#goOn();
    else if (this.#pause) {
      // Whoever waits leaves; what comes is held back as before.
      this.#pause.resolve();
      this.#pause = Promise.withResolvers();
    }
  }

  onMark(name) {
    if (name === String(this.#segment)) this.#finish(false);
  }

  #takeBack() {
    const aheadMs = Math.max(0, this.#heardAt - performance.now());
    this.#heardAt -= aheadMs;
    const sent = Buffer.concat(this.#sent);
    const heard = Math.max(0, sent.length - Math.round(aheadMs * BYTES_PER_MS));
    this.#sent = [sent.subarray(0, heard)];
    this.#unheard.unshift(sent.subarray(heard));
    if (this.#clearable) this.#line.clear();
    this.#clearable = false;
  }

  #finish(interrupted) {
    if (!this.#begun) return;
    const playedBytes = this.#sent.reduce((sum, { length }) => sum + length, 0);
    this.#segment++;
    this.#begun = this.#flushed = this.#markDue = this.#clearable = false;
    this.#sent = [];
    this.#unheard = [];
    this.onPlaybackFinished({ playbackPosition: playedBytes / BYTES_PER_MS / 1000, interrupted });
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
    // With it, an interrupted reply waits twice two seconds for a transcript that does not end, and the next one with it.
    useTtsAlignedTranscript: false,
    ...SESSION,
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
