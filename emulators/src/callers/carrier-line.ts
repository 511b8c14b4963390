import { isAscii } from 'node:buffer';
import { performance } from 'node:perf_hooks';
import { WireSocket } from '../server/wire-socket.ts';
import { AgentPlayback, FRAME_BYTES, isVoiced, MULAW_SILENCE } from '../carriers/agent-playback.ts';
import { dialects, type CarrierDialect, type StreamIds } from './carrier-dialect.ts';
import { FRAME_MS, frameClock, type FrameClock } from './frame-clock.ts';

const SILENCE = new Uint8Array(FRAME_BYTES).fill(MULAW_SILENCE);
const SILENCE_BASE64 = Buffer.from(SILENCE).toString('base64');
/** 20 ms of speech, ready for the wire. */
export interface SpeechFrame {
  base64: string;
  voiced: boolean;
}

/** What is heard around a caller, from one frame to the next. */
export interface Background {
  /** @param said what the caller says in this frame, if anything @returns both, base64 of 20 ms of mu-law */
  mix(frameIndex: number, said: SpeechFrame | undefined): string;
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
  /** What the caller hears of the agent. */
  readonly playback: AgentPlayback;
  readonly closed: Promise<{ code: number; reason: string }>;
  readonly #dialect: CarrierDialect;
  readonly #events: LineEvents;
  readonly #clock: FrameClock;
  readonly #socket: WireSocket;
  readonly #background: Background | undefined;
  #stopFrames: (() => void) | undefined;
  #frameIndex = 0;
  #isAscii = false;
  #speech: Speech[] = [];
  readonly #waiters = new Set<Waiter>();
  #open = true;
  #startedAt = 0;

  framesSent = 0;

  private constructor(deps: {
    socket: WireSocket;
    dialect: CarrierDialect;
    ids: StreamIds;
    events: LineEvents;
    clock: FrameClock;
    background: Background | undefined;
    keepHeard: boolean;
  }) {
    const { socket, events } = deps;
    this.#socket = socket;
    this.#dialect = deps.dialect;
    this.ids = deps.ids;
    this.#events = events;
    this.#clock = deps.clock;
    this.#background = deps.background;
    this.playback = new AgentPlayback({ keepHeard: deps.keepHeard });
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
    /** Silence unless given. */
    background?: Background | undefined;
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
    const line = new CarrierLine({
      socket,
      dialect,
      ids: options.ids,
      events: options.events ?? {},
      clock: options.clock ?? frameClock,
      background: options.background,
      keepHeard: options.keepHeard ?? false,
    });
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
    return this.playback.bufferedMs;
  }

  /** The agent was heard within the last `ms`. */
  agentHeardWithin(ms: number): boolean {
    return performance.now() - this.playback.lastVoiceAt < ms;
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
    return this.playback.heard();
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
    this.playback.play(this.#frameIndex, (mark) => this.#send(this.#dialect.played(this.ids, mark)));
    const speech = this.#speech[0];
    const frame = speech?.frames[speech.next];
    const media = this.#dialect.media(this.ids, {
      base64: this.#background?.mix(this.#frameIndex, frame) ?? frame?.base64 ?? SILENCE_BASE64,
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
        this.playback.expectSilence();
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

  #onMessage(message: string): void {
    const atMs = performance.now();
    const said = this.#dialect.parse(message);
    switch (said.type) {
      case 'audio': {
        const bytes = this.playback.toMulaw(
          Buffer.from(said.payload, 'base64'),
          said.encoding,
          said.sampleRate,
        );
        if (bytes.length === 0) this.#events.onViolation?.('empty audio');
        if (this.bufferedMs + bytes.length / 8 > this.#dialect.bufferMs) {
          this.#events.onViolation?.('buffer overflow');
          return;
        }
        const voiced = this.playback.add(bytes, atMs);
        this.#events.onAgentAudio?.(this, atMs, bytes, voiced);
        break;
      }
      case 'mark':
        this.playback.addMark(said.name);
        break;
      case 'clear': {
        const { bufferedMs } = this;
        const marks = this.playback.clear();
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
