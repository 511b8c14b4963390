import { performance } from 'node:perf_hooks';
import { WebSocket } from 'ws';
import { MULAW_TO_PCM16, encodeMulaw } from '@parley/shared/audio/g711';
import { pcm16FromBytes } from '@parley/shared/audio/audio-frame';
import { Resampler } from '@parley/shared/audio/resampler';
import { dialects, type CarrierDialect, type StreamIds } from './carrier-dialect.ts';
import { FRAME_MS, frameClock, type FrameClock } from './frame-clock.ts';

const FRAME_BYTES = 160;
const SILENCE = new Uint8Array(FRAME_BYTES).fill(0xff);
const SILENCE_BASE64 = Buffer.from(SILENCE).toString('base64');
/** Mean amplitude from which a frame counts as voice, of 32,768. */
const VOICED = 200;
const LOUDNESS = Uint16Array.from(MULAW_TO_PCM16, (sample) => Math.abs(sample));

/** Whether 20 ms of mu-law hold a voice rather than silence. */
export function isVoiced(frame: Uint8Array): boolean {
  let sum = 0;
  for (let i = 0; i < frame.length; i++) sum += LOUDNESS[frame[i]!]!;
  return sum > VOICED * frame.length;
}

export interface LineEvents {
  /** Agent audio came over the wire. @param voiced some of it is a voice */
  onAgentAudio?(line: CarrierLine, atMs: number, bytes: Uint8Array, voiced: boolean): void;
  onClear?(line: CarrierLine, atMs: number, bufferedMs: number): void;
  onDigits?(digits: string): void;
  /** The far end did something a carrier would refuse. */
  onViolation?(what: string): void;
}

/**
 * One telephone call on a carrier's side of a media stream: sends 20 ms frames on a schedule, and plays what it is
 * given at real time out of a bounded buffer, answering marks when their sample is reached and honouring clear.
 */
export class CarrierLine {
  readonly ids: StreamIds;
  readonly closed: Promise<{ code: number; reason: string }>;
  readonly #dialect: CarrierDialect;
  readonly #events: LineEvents;
  readonly #clock: FrameClock;
  readonly #socket: WebSocket;
  readonly #heardParts: { at: number; bytes: Uint8Array }[] = [];
  readonly #keepHeard: boolean;
  #stopFrames: (() => void) | undefined;
  #frameIndex = 0;
  #speech: { frames: { base64: string; voiced: boolean }[]; next: number; done: () => void }[] = [];
  #buffer: ({ bytes: Uint8Array; offset: number } | { mark: string })[] = [];
  #bufferedBytes = 0;
  #resampler: Resampler | undefined;
  #startedAt = 0;

  /** Times of `performance.now()`. */
  lastVoicedSentAt = 0;
  firstVoicedSentAt = 0;
  lastPlayedVoiceAt = 0;
  playedBytes = 0;
  /** Silence inside agent speech because the buffer had run dry, ms. */
  underrunMs = 0;
  framesSent = 0;

  private constructor(
    socket: WebSocket,
    dialect: CarrierDialect,
    ids: StreamIds,
    events: LineEvents,
    clock: FrameClock,
    keepHeard: boolean,
  ) {
    this.#socket = socket;
    this.#dialect = dialect;
    this.ids = ids;
    this.#events = events;
    this.#clock = clock;
    this.#keepHeard = keepHeard;
    this.closed = new Promise((resolve) => {
      socket.once('close', (code, reason) => {
        this.#stop();
        resolve({ code, reason: reason.toString() });
      });
    });
    socket.on('error', () => {
      // `close` follows, with the code.
    });
    socket.on('message', (data, binary) => {
      if (binary) events.onViolation?.('binary frame');
      else this.#onMessage((data as Buffer).toString('utf8'));
    });
  }

  /** Connects as the carrier does and begins to send frames. @throws when the upgrade is refused */
  static async open(options: {
    url: string;
    carrier: keyof typeof dialects;
    ids: StreamIds;
    headers?: Record<string, string>;
    events?: LineEvents;
    clock?: FrameClock;
    /** Keeps what was played, for `heardAudio`. */
    keepHeard?: boolean;
    handshakeTimeoutMs?: number;
  }): Promise<CarrierLine> {
    const socket = new WebSocket(options.url, {
      perMessageDeflate: false,
      skipUTF8Validation: true,
      handshakeTimeout: options.handshakeTimeoutMs ?? 10_000,
      headers: options.headers ?? {},
    });
    const dialect = dialects[options.carrier];
    const line = new CarrierLine(
      socket,
      dialect,
      options.ids,
      options.events ?? {},
      options.clock ?? frameClock,
      options.keepHeard ?? false,
    );
    await new Promise<void>((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('error', reject);
    });
    line.#startedAt = performance.now();
    for (const message of dialect.opening(line.ids)) socket.send(message);
    line.#stopFrames = line.#clock.add(() => line.#frame());
    return line;
  }

  /** Agent audio that waits to be played, ms. */
  get bufferedMs(): number {
    return this.#bufferedBytes / 8;
  }

  /** The agent was heard within the last `ms`. */
  agentHeardWithin(ms: number): boolean {
    return performance.now() - this.lastPlayedVoiceAt < ms;
  }

  get speaking(): boolean {
    return this.#speech.length > 0;
  }

  /** Speaks after what is being said. Resolves when the last frame was sent. @param mulaw 8 kHz */
  say(mulaw: Uint8Array): Promise<void> {
    return this.sayFrames(toFrames(mulaw));
  }

  /** As `say`, with frames made once for many calls. */
  sayFrames(frames: { base64: string; voiced: boolean }[]): Promise<void> {
    return new Promise((resolve) => this.#speech.push({ frames, next: 0, done: resolve }));
  }

  press(digits: string): void {
    for (const digit of digits) this.#send(this.#dialect.dtmf(this.ids, digit, this.#frameIndex * FRAME_MS));
  }

  /** The caller hangs up: the carrier says `stop`, where it does, and closes. */
  hangUp(): void {
    const stop = this.#dialect.stop(this.ids);
    if (stop !== undefined) this.#send(stop);
    this.#stop();
    this.#socket.close(1000);
  }

  /** The connection is lost without a word. */
  vanish(): void {
    this.#stop();
    this.#socket.terminate();
  }

  /** What the caller heard, silence included, from the first frame on. 8 kHz mu-law. */
  heardAudio(): Uint8Array {
    const end = this.#heardParts.at(-1);
    if (!end) return new Uint8Array();
    const audio = new Uint8Array(Math.round((end.at + FRAME_MS) * 8)).fill(0xff);
    for (const { at, bytes } of this.#heardParts) audio.set(bytes.subarray(0, audio.length - at * 8), at * 8);
    return audio;
  }

  #send(message: string): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(message);
  }

  #stop(): void {
    this.#stopFrames?.();
    this.#stopFrames = undefined;
    for (const speech of this.#speech.splice(0)) speech.done();
  }

  #frame(): void {
    this.#play();
    const speech = this.#speech[0];
    const frame = speech?.frames[speech.next];
    this.#send(
      this.#dialect.media(this.ids, {
        base64: frame?.base64 ?? SILENCE_BASE64,
        index: this.#frameIndex,
        timestampMs: this.#frameIndex * FRAME_MS,
      }),
    );
    this.framesSent++;
    this.#frameIndex++;
    if (!speech || !frame) return;
    if (frame.voiced) {
      this.lastVoicedSentAt = performance.now();
      if (speech.next === 0 || this.firstVoicedSentAt === 0) this.firstVoicedSentAt = this.lastVoicedSentAt;
    }
    if (++speech.next >= speech.frames.length) {
      this.#speech.shift();
      speech.done();
    }
  }

  /** 20 ms out of the buffer. */
  #play(): void {
    let left = FRAME_BYTES;
    const at = Math.round(performance.now() - this.#startedAt);
    const frame = this.#keepHeard ? new Uint8Array(FRAME_BYTES).fill(0xff) : undefined;
    let voiced = false;
    let played = 0;
    while (this.#buffer.length > 0) {
      const head = this.#buffer[0]!;
      if ('mark' in head) {
        this.#buffer.shift();
        this.#send(this.#dialect.played(this.ids, head.mark));
        continue;
      }
      if (left === 0) break;
      const take = Math.min(left, head.bytes.length - head.offset);
      const part = head.bytes.subarray(head.offset, head.offset + take);
      voiced ||= isVoiced(part);
      frame?.set(part, FRAME_BYTES - left);
      head.offset += take;
      left -= take;
      played += take;
      if (head.offset === head.bytes.length) this.#buffer.shift();
    }
    if (played === 0) return;
    this.#bufferedBytes -= played;
    this.playedBytes += played;
    if (voiced) this.lastPlayedVoiceAt = performance.now();
    if (frame) this.#heardParts.push({ at, bytes: frame });
    if (left > 0 && voiced) this.underrunMs += left / 8;
  }

  #onMessage(message: string): void {
    const atMs = performance.now();
    const said = this.#dialect.parse(message);
    switch (said.type) {
      case 'audio': {
        const bytes = this.#toMulaw(Buffer.from(said.payload, 'base64'), said.encoding, said.sampleRate);
        if (bytes.length === 0) this.#events.onViolation?.('empty audio');
        if (this.bufferedMs + bytes.length / 8 > this.#dialect.bufferMs) {
          this.#events.onViolation?.('buffer overflow');
          return;
        }
        this.#buffer.push({ bytes, offset: 0 });
        this.#bufferedBytes += bytes.length;
        this.#events.onAgentAudio?.(this, atMs, bytes, isVoiced(bytes));
        break;
      }
      case 'mark':
        this.#buffer.push({ mark: said.name });
        break;
      case 'clear': {
        const marks = this.#buffer.flatMap((item) => ('mark' in item ? [item.mark] : []));
        const bufferedMs = this.bufferedMs;
        this.#buffer = [];
        this.#bufferedBytes = 0;
        if (this.#dialect.returnsClearedMarks)
          for (const mark of marks) this.#send(this.#dialect.played(this.ids, mark));
        const cleared = this.#dialect.cleared(this.ids);
        if (cleared !== undefined) this.#send(cleared);
        this.#events.onClear?.(this, atMs, bufferedMs);
        break;
      }
      case 'dtmf':
        this.#events.onDigits?.(said.digits);
        break;
      case 'other':
        this.#events.onViolation?.(`unknown event ${said.event}`);
    }
  }

  #toMulaw(bytes: Buffer, encoding: 'pcmu' | 'pcm16', sampleRate: number): Uint8Array {
    if (encoding === 'pcmu') return bytes;
    const samples = pcm16FromBytes(bytes);
    if (sampleRate === 8000) return encodeMulaw(samples);
    this.#resampler ??= new Resampler(sampleRate, 8000);
    return encodeMulaw(this.#resampler.process(samples));
  }
}

/** Cuts speech into frames ready for the wire; the last one is filled up with silence. */
export function toFrames(mulaw: Uint8Array): { base64: string; voiced: boolean }[] {
  const frames = [];
  for (let at = 0; at < mulaw.length; at += FRAME_BYTES) {
    const frame = new Uint8Array(SILENCE);
    frame.set(mulaw.subarray(at, at + FRAME_BYTES));
    frames.push({ base64: Buffer.from(frame).toString('base64'), voiced: isVoiced(frame) });
  }
  return frames;
}
