import { isAscii } from 'node:buffer';
import { performance } from 'node:perf_hooks';
import { MULAW_TO_PCM16, encodeMulaw } from '@parley/shared/audio/g711';
import { pcm16FromBytes } from '@parley/shared/audio/audio-frame';
import { Resampler } from '@parley/shared/audio/resampler';
import { WireSocket } from '../wire/wire-socket.ts';
import { dialects, type CarrierDialect, type StreamIds } from './carrier-dialect.ts';
import { FRAME_MS, frameClock, type FrameClock } from './frame-clock.ts';

const FRAME_BYTES = 160;
const MULAW_SILENCE = 0xff;
const SILENCE = new Uint8Array(FRAME_BYTES).fill(MULAW_SILENCE);
/** Room for half a minute of what was heard at first; it grows. */
const HEARD_BYTES = 30 * 8000;
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

/** 20 ms of speech, ready for the wire. */
export interface SpeechFrame {
  base64: string;
  voiced: boolean;
}

/** When the voiced frames of something said were sent; `performance.now()`, 0 when there were none. */
export interface SaidTimes {
  firstVoicedAt: number;
  lastVoicedAt: number;
}

interface Speech extends SaidTimes {
  frames: readonly SpeechFrame[];
  next: number;
  done: (times: SaidTimes) => void;
}

interface Waiter {
  condition: () => boolean;
  until: number;
  done: (met: boolean) => void;
}

/** Silence between two pieces of agent audio that still counts as a hole in one speech, ms. */
const LONGEST_HOLE_MS = 1500;

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
  readonly #socket: WireSocket;
  #heard: Uint8Array | undefined;
  #heardBytes = 0;
  #stopFrames: (() => void) | undefined;
  #frameIndex = 0;
  #isAscii = false;
  #speech: Speech[] = [];
  readonly #waiters = new Set<Waiter>();
  #open = true;
  /** When the buffer ran dry in the middle of agent speech. */
  #dryAt: number | undefined;
  #buffer: ({ bytes: Uint8Array; offset: number } | { mark: string })[] = [];
  #bufferedBytes = 0;
  #resampler: Resampler | undefined;
  #startedAt = 0;

  /** When agent speech was heard last; `performance.now()`. */
  lastPlayedVoiceAt = 0;
  /** When the first voiced agent audio of the call came over the wire; 0 before. */
  firstAgentVoiceAt = 0;
  playedBytes = 0;
  /** Holes in agent speech because the buffer had run dry, ms. */
  underrunMs = 0;
  framesSent = 0;

  private constructor(
    socket: WireSocket,
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
    if (keepHeard) this.#heard = new Uint8Array(HEARD_BYTES).fill(MULAW_SILENCE);
    this.closed = new Promise((resolve) => {
      socket.once('close', (code, reason) => {
        this.#open = false;
        this.#stop();
        resolve({ code, reason: reason.toString() });
      });
    });
    socket.on('message', (data, binary) => {
      if (binary) events.onViolation?.('binary frame');
      else this.#onMessage(data.toString('utf8'));
    });
  }

  /** Connects as the carrier does and begins to send frames. @throws when the upgrade is refused */
  static async open(options: {
    url: string;
    /** By name, or a dialect of its own for what one call has settled otherwise. */
    carrier: keyof typeof dialects | CarrierDialect;
    ids: StreamIds;
    /** The stream starts when the call is answered: only its first message is sent before. Rejects when it never is. */
    answered?: Promise<unknown>;
    headers?: Record<string, string>;
    events?: LineEvents;
    clock?: FrameClock;
    /** Keeps what was played, for `heardAudio`. */
    keepHeard?: boolean;
    handshakeTimeoutMs?: number;
    /** Certificates that are trusted instead of the usual ones, PEM. */
    ca?: string | undefined;
  }): Promise<CarrierLine> {
    const socket = await WireSocket.connect(options.url, {
      handshakeTimeoutMs: options.handshakeTimeoutMs ?? 10_000,
      headers: options.headers ?? {},
      ca: options.ca,
    });
    const dialect = typeof options.carrier === 'string' ? dialects[options.carrier] : options.carrier;
    const line = new CarrierLine(
      socket,
      dialect,
      options.ids,
      options.events ?? {},
      options.clock ?? frameClock,
      options.keepHeard ?? false,
    );
    const [first, ...others] = dialect.opening(line.ids);
    socket.send(first!);
    try {
      await options.answered;
    } catch (error) {
      socket.close(1000);
      throw error;
    }
    line.#startedAt = performance.now();
    for (const message of others) line.#send(message);
    if (!line.#open) return line;
    line.#stopFrames = line.#clock.add(() => line.#frame());
    return line;
  }

  /** The connection stands. */
  get isOpen(): boolean {
    return this.#open;
  }

  /** Frames flow: the connection stands, and nobody has hung up. */
  get isStreaming(): boolean {
    return this.#stopFrames !== undefined;
  }

  /** When the first frame was sent; `performance.now()`. Positions in `heardAudio` count from here. */
  get startedAt(): number {
    return this.#startedAt;
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

  /** Speaks after what is being said. Resolves when the last frame was sent, or the line is over. @param mulaw 8 kHz */
  say(mulaw: Uint8Array): Promise<SaidTimes> {
    return this.sayFrames(toFrames(mulaw));
  }

  /** As `say`, with frames made once for many calls. */
  sayFrames(frames: readonly SpeechFrame[]): Promise<SaidTimes> {
    if (!this.#stopFrames) return Promise.resolve({ firstVoicedAt: 0, lastVoicedAt: 0 });
    return new Promise((done) =>
      this.#speech.push({ frames, next: 0, firstVoicedAt: 0, lastVoicedAt: 0, done }),
    );
  }

  /**
   * Looks at `condition` with every frame, for as long as frames flow.
   * @returns whether it came true within `limitMs`
   */
  waitFor(condition: () => boolean, limitMs: number): Promise<boolean> {
    if (condition()) return Promise.resolve(true);
    if (!this.#stopFrames) return Promise.resolve(false);
    return new Promise((done) => this.#waiters.add({ condition, until: performance.now() + limitMs, done }));
  }

  /** Lets time pass on the line. @returns false when it was over before */
  async pause(ms: number): Promise<boolean> {
    await this.waitFor(() => false, ms);
    return this.#stopFrames !== undefined;
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

  /** The carrier closes without saying `stop`. */
  closeSilently(): void {
    this.#stop();
    this.#socket.close(1000);
  }

  /** The connection is lost without a word. */
  vanish(): void {
    this.#stop();
    this.#socket.terminate();
  }

  /** The far end of the connection is gone and nobody says so: no frames, no answers, the socket stays open. */
  freeze(): void {
    this.#stop();
    this.#socket.pause();
  }

  /** What the caller heard, silence included, from the first frame on. 8 kHz mu-law. */
  heardAudio(): Uint8Array {
    return this.#heard?.slice(0, this.#heardBytes) ?? new Uint8Array();
  }

  /** An empty message stands for one that the dialect holds back. */
  #send(message: string): void {
    if (message !== '') this.#socket.send(message);
  }

  #stop(): void {
    this.#stopFrames?.();
    this.#stopFrames = undefined;
    for (const speech of this.#speech.splice(0)) speech.done(speech);
    for (const waiter of this.#waiters) waiter.done(false);
    this.#waiters.clear();
  }

  #frame(): void {
    this.#play();
    const speech = this.#speech[0];
    const frame = speech?.frames[speech.next];
    const media = this.#dialect.media(this.ids, {
      base64: frame?.base64 ?? SILENCE_BASE64,
      index: this.#frameIndex,
      timestampMs: this.#frameIndex * FRAME_MS,
    });
    // Ids may hold anything, and stay the same for the whole call.
    if (this.#frameIndex === 0) this.#isAscii = isAscii(Buffer.from(media));
    if (this.#isAscii && media !== '') this.#socket.sendAscii(media);
    else this.#send(media);
    this.framesSent++;
    this.#frameIndex++;
    if (speech) {
      if (frame?.voiced) {
        const now = performance.now();
        if (speech.firstVoicedAt === 0) speech.firstVoicedAt = now;
        speech.lastVoicedAt = now;
        // The agent falls silent because the caller speaks: that is no hole.
        this.#dryAt = undefined;
      }
      if (++speech.next >= speech.frames.length) {
        this.#speech.shift();
        speech.done(speech);
      }
    }
    if (this.#waiters.size > 0) this.#wake();
  }

  #wake(): void {
    const now = performance.now();
    for (const waiter of this.#waiters) {
      const met = waiter.condition();
      if (!met && now < waiter.until) continue;
      this.#waiters.delete(waiter);
      waiter.done(met);
    }
  }

  /** 20 ms out of the buffer. */
  #play(): void {
    let left = FRAME_BYTES;
    if (this.#buffer.length === 0) return;
    const heard = this.#heard && this.#roomToHear(this.#frameIndex * FRAME_BYTES);
    let voiced = false;
    let played = 0;
    while (this.#buffer.length > 0) {
      // A mark behind this frame is reached when the frame was heard: with the next one.
      if (left === 0) break;
      const head = this.#buffer[0]!;
      if ('mark' in head) {
        this.#buffer.shift();
        this.#send(this.#dialect.played(this.ids, head.mark));
        continue;
      }
      const take = Math.min(left, head.bytes.length - head.offset);
      const part = head.bytes.subarray(head.offset, head.offset + take);
      voiced ||= isVoiced(part);
      heard?.set(part, FRAME_BYTES - left);
      head.offset += take;
      left -= take;
      played += take;
      if (head.offset === head.bytes.length) this.#buffer.shift();
    }
    if (played === 0) return;
    this.#bufferedBytes -= played;
    this.playedBytes += played;
    const now = performance.now();
    if (voiced) this.lastPlayedVoiceAt = now;
    if (heard) this.#heardBytes = (this.#frameIndex + 1) * FRAME_BYTES;
    // What is missing of this frame is silence already.
    if (this.#bufferedBytes === 0) this.#dryAt = now + FRAME_MS - left / 8;
  }

  /** Where the frame at `start` of what is heard goes. */
  #roomToHear(start: number): Uint8Array {
    const kept = this.#heard!;
    if (start + FRAME_BYTES <= kept.length) return kept.subarray(start, start + FRAME_BYTES);
    const grown = new Uint8Array(Math.max(kept.length * 2, start + FRAME_BYTES)).fill(MULAW_SILENCE);
    grown.set(kept);
    this.#heard = grown;
    return grown.subarray(start, start + FRAME_BYTES);
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
        this.#countHole(atMs);
        const voiced = isVoiced(bytes);
        if (voiced && this.firstAgentVoiceAt === 0) this.firstAgentVoiceAt = atMs;
        this.#events.onAgentAudio?.(this, atMs, bytes, voiced);
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
        this.#dryAt = undefined;
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

  #countHole(atMs: number): void {
    if (this.#dryAt === undefined) return;
    const hole = atMs - this.#dryAt;
    if (hole > 0 && hole < LONGEST_HOLE_MS) this.underrunMs += hole;
    this.#dryAt = undefined;
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
export function toFrames(mulaw: Uint8Array): SpeechFrame[] {
  const frames: SpeechFrame[] = [];
  for (let at = 0; at < mulaw.length; at += FRAME_BYTES) {
    const frame = SILENCE.slice();
    frame.set(mulaw.subarray(at, at + FRAME_BYTES));
    frames.push({ base64: Buffer.from(frame).toString('base64'), voiced: isVoiced(frame) });
  }
  return frames;
}
