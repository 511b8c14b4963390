import { bytesPerMs, silence, type AudioFormat } from '@parley/shared/audio/audio-frame';
import type { Clock } from '@parley/shared/time/clock';
import type { Participant } from '../participants/participant.ts';
import type { CallRecorder } from '../recording/call-recorder.ts';
import { TICK_MS } from '../call/ticker.ts';

/** Agent audio goes out in chunks of this length… */
const CHUNK_MS = 100;
/** …but the first of a reply at once, with what little there is. */
const FIRST_CHUNK_MS = 20;
/** How far ahead of a telephone audio is: a new chunk goes out when no more than this less a chunk is left. */
const LEAD_MS = 300;
const MARK_EVERY_MS = 200;
/** Synthesised audio that may wait before the voice is given no more text. */
const MAX_QUEUED_MS = 2000;
/** A last mark that has not come back this long after it was due is taken for played. */
const MARK_PATIENCE_MS = 2000;
/** Audio frames of telephony: the last chunk is filled up with silence to a whole one. */
const FRAME_MS = 20;
/** A tick this near to the time of a chunk sends it: the next tick would be further off. */
const NEAREST_TICK_MS = TICK_MS / 2;
/** A lead that has shrunk by this much is filled up again at once. */
const LEAD_SLACK_MS = 2 * TICK_MS;

/** Where a stretch of text lies in the audio of a speech. */
interface SpokenWord {
  text: string;
  startMs: number;
  endMs: number;
}

/** What became of one speech. */
export interface HeardSpeech {
  /** As far as it was heard, cut at a word. */
  text: string;
  /** All of it was heard. */
  complete: boolean;
  heardMs: number;
  /** When its first sample was sent, and when its last heard one was heard; monotonic ms, undefined when nothing was. */
  startedAt: number | undefined;
  endedAt: number | undefined;
}

export interface PlayoutEvents {
  /** The first audio of the speech has gone out. */
  onStarted(atMs: number): void;
  /** All of it has gone out; again, when it was held after that and went on. */
  onSent?(): void;
  /** Everything was heard. Not called for a speech that was cancelled. */
  onFinished(heard: HeardSpeech): void;
}

/** A word counts as heard when no more than this is missing of it. */
const WORD_TOLERANCE_MS = 60;

/** Characters a second of an ordinary voice: only where a provider tells nothing of its timing and the audio has not come. */
const GUESSED_CHARS_PER_SECOND = 15;

/**
 * Everything past the TTS, and the only thing that sends audio to the far end. Keeps a bounded lead, knows by marks
 * and clock what was heard, can stop at once, and go on from the first sample that was not heard.
 *
 * One speech at a time: `begin`, `write`…, `finish`. Positions are milliseconds of that speech's audio. A generation
 * number makes sure that marks of audio that was cleared never count.
 */
export class Playout {
  readonly #participant: Participant;
  readonly #clock: Clock;
  readonly #recorder: CallRecorder;
  readonly #format: AudioFormat;
  readonly #bytesPerMs: number;
  readonly #answeredAtMonotonic: number;
  readonly #leadMs: number;

  #generation = 0;
  #speech: Speech | undefined;
  /** When the far end will have played all it was sent; monotonic ms. */
  #dryAt = -Infinity;
  /** How much later than by the clock the far end plays, learnt from marks. */
  #lagMs = 0;
  #held = false;
  /** The speech that ended last, should the far end know better how much it played. */
  #last: { speech: Speech; heardBytes: number } | undefined;
  readonly #waiting = new Set<() => void>();
  /** Milliseconds of agent audio heard in the whole call. */
  #talkedMs = 0;
  /** Ends of what was heard last, monotonic ms. */
  #lastHeardAt: number | undefined;

  constructor(deps: {
    participant: Participant;
    clock: Clock;
    recorder: CallRecorder;
    answeredAtMonotonic: number;
  }) {
    this.#participant = deps.participant;
    this.#clock = deps.clock;
    this.#recorder = deps.recorder;
    this.#format = deps.participant.outputFormat;
    this.#bytesPerMs = bytesPerMs(this.#format);
    this.#answeredAtMonotonic = deps.answeredAtMonotonic;
    this.#leadMs = deps.participant.leadMs ?? LEAD_MS;
  }

  /** What the far end plays. */
  get format(): AudioFormat {
    return this.#format;
  }

  /** A speech has begun and is neither finished nor cancelled. */
  get active(): boolean {
    return this.#speech !== undefined;
  }

  /** Some of the speech has gone out (and it may be held). */
  get audible(): boolean {
    return this.#speech?.startedAt !== undefined;
  }

  get held(): boolean {
    return this.#held;
  }

  get talkedMs(): number {
    return Math.round(this.#talkedMs);
  }

  /** When agent audio was last heard; undefined before the first. Monotonic ms. */
  get lastHeardAt(): number | undefined {
    return this.#lastHeardAt;
  }

  /** Milliseconds that wait here and were not sent. The TTS is not given more text beyond about two seconds. */
  get queuedMs(): number {
    const speech = this.#speech;
    return speech === undefined ? 0 : (speech.availableBytes - speech.sentBytes) / this.#bytesPerMs;
  }

  /** Resolves when little enough waits here for more text to be spoken. @throws the reason of `signal` */
  room(signal: AbortSignal): Promise<void> {
    if (this.queuedMs <= MAX_QUEUED_MS) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const go = () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      const onAbort = () => {
        this.#waiting.delete(go);
        reject(signal.reason as Error);
      };
      if (signal.aborted) return onAbort();
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(go);
    });
  }

  /** Begins a speech. @param held starts silent: the caller is speaking just now */
  begin(events: PlayoutEvents, options: { held: boolean }): void {
    if (this.#speech) throw new Error('One speech at a time.');
    this.#generation++;
    this.#held = options.held;
    this.#last = undefined;
    this.#speech = new Speech(events);
  }

  /** Text that is on its way to the TTS, in order. */
  addText(text: string): void {
    this.#speech?.pieces.push({ text, startByte: this.#speech.availableBytes });
  }

  /** Where words of the newest pieces lie, counted from the audio position `fromMs` of the speech. */
  addWords(words: readonly SpokenWord[], fromMs: number): void {
    const speech = this.#speech;
    if (!speech) return;
    for (const word of words)
      speech.words.push({ text: word.text, startMs: word.startMs + fromMs, endMs: word.endMs + fromMs });
  }

  /** Milliseconds of audio written so far. */
  get writtenMs(): number {
    return this.#speech === undefined ? 0 : this.#speech.availableBytes / this.#bytesPerMs;
  }

  /** Audio in the far end's format; kept until it was heard. */
  write(bytes: Uint8Array): void {
    const speech = this.#speech;
    if (!speech || bytes.length === 0) return;
    speech.chunks.push(bytes);
    speech.availableBytes += bytes.length;
    this.#pump(0);
  }

  /** No more audio will come. */
  finish(): void {
    const speech = this.#speech;
    if (!speech || speech.complete) return;
    speech.complete = true;
    const frameBytes = FRAME_MS * this.#bytesPerMs;
    const rest = speech.availableBytes % frameBytes;
    if (rest !== 0) {
      const padding = silence(this.#format, (frameBytes - rest) / this.#bytesPerMs);
      speech.chunks.push(padding);
      speech.availableBytes += padding.length;
    }
    this.#pump(0);
  }

  /** Stops at the far end at once and keeps what was not heard. */
  hold(): void {
    const speech = this.#speech;
    if (!speech || this.#held) return;
    this.#held = true;
    if (speech.startedAt === undefined) return;
    const heardBytes = this.#heardBytes(this.#clock.monotonic());
    // First: marks that come back because of the clear must be old already.
    this.#generation++;
    this.#participant.clear();
    this.#noteHeard(heardBytes);
    while (speech.runs.length > 0 && speech.runs.at(-1)!.startByte >= heardBytes) speech.runs.pop();
    // What was sent and not heard is to be sent again, should the speech go on.
    speech.sentBytes = heardBytes;
    speech.sentTold = false;
    speech.markedBytes = heardBytes;
    speech.provenBytes = heardBytes;
    speech.dueAt = undefined;
    this.#dryAt = -Infinity;
  }

  /** Goes on from the first sample that was not heard. */
  resume(): void {
    if (!this.#speech || !this.#held) return;
    this.#held = false;
    this.#speech.limitBytes = Infinity;
    this.#pump(0);
  }

  /** The speech is over here. @returns what was heard of it */
  cancel(): HeardSpeech | undefined {
    const speech = this.#speech;
    if (!speech) return undefined;
    const now = this.#clock.monotonic();
    const heardBytes = Math.min(this.#held ? speech.sentBytes : this.#heardBytes(now), speech.limitBytes);
    this.#generation++;
    if (!this.#held && speech.startedAt !== undefined) this.#participant.clear();
    this.#noteHeard(heardBytes);
    this.#speech = undefined;
    this.#held = false;
    this.#dryAt = -Infinity;
    this.#last = { speech, heardBytes };
    return this.#toHeard(speech, heardBytes, false);
  }

  /** The far end says how much it has played: nothing beyond counts as heard. */
  limitHeard(heardMs: number): void {
    const speech = this.#speech;
    if (!speech) return;
    const bytes = this.#wholeSamples(heardMs * this.#bytesPerMs);
    speech.limitBytes = bytes;
    // Held: should it go on, then from there (as far as the audio is still here).
    if (this.#held) speech.sentBytes = Math.min(speech.sentBytes, Math.max(bytes, speech.recordedBytes));
  }

  /** As `limitHeard`, for the speech that ended last. @returns what was heard of it after all, if it is less */
  reconsider(heardMs: number): HeardSpeech | undefined {
    const last = this.#last;
    if (!last || heardMs * this.#bytesPerMs >= last.heardBytes) return undefined;
    return this.#toHeard(last.speech, heardMs * this.#bytesPerMs, false);
  }

  /** The words of the speech up to a position of it. */
  textUntil(ms: number): string {
    return this.#speech === undefined ? '' : heardText(this.#speech, ms, this.#bytesPerMs);
  }

  /** How much of the speech was heard by now. */
  get heardMs(): number {
    const speech = this.#speech;
    if (!speech || speech.startedAt === undefined) return 0;
    const bytes = this.#held ? speech.sentBytes : this.#heardBytes(this.#clock.monotonic());
    return Math.min(bytes, speech.limitBytes) / this.#bytesPerMs;
  }

  /** A mark came back from the far end. */
  onMark(name: string): void {
    const speech = this.#speech;
    if (!speech || this.#held) return;
    const colon = name.indexOf(':');
    if (colon === -1 || Number(name.slice(0, colon)) !== this.#generation) return;
    const bytes = Number(name.slice(colon + 1));
    if (!(bytes > speech.provenBytes) || bytes > speech.sentBytes) return;
    const byClock = this.#clockBytes(speech, this.#clock.monotonic(), 0);
    const lag = Math.max(0, (byClock - bytes) / this.#bytesPerMs);
    this.#lagMs = this.#lagMs === 0 ? lag : this.#lagMs * 0.8 + lag * 0.2;
    speech.provenBytes = bytes;
    this.#noteHeard(bytes);
    this.#checkFinished(speech, this.#clock.monotonic());
  }

  /** Sends what is due. Called on every tick. */
  pump(): void {
    this.#pump(NEAREST_TICK_MS);
  }

  /** @param earlyMs how much before its time a chunk may go out */
  #pump(earlyMs: number): void {
    const speech = this.#speech;
    if (!speech || this.#held) return;
    const now = this.#clock.monotonic();
    while (speech.sentBytes < speech.availableBytes) {
      const lead = this.#dryAt - now;
      if (!this.#isDue(speech, now, lead, earlyMs)) break;
      const available = speech.availableBytes - speech.sentBytes;
      const first = speech.sentBytes === 0;
      const wanted = (first ? Math.min(2 * FIRST_CHUNK_MS, CHUNK_MS) : CHUNK_MS) * this.#bytesPerMs;
      let size = Math.min(available, wanted);
      if (size < wanted && !speech.complete) {
        // Less than a chunk is there: wait for more while the far end has something to play.
        if (lead > FIRST_CHUNK_MS * 2) break;
        size -= size % (FRAME_MS * this.#bytesPerMs);
        if (size === 0) break;
      }
      this.#send(speech, size, now);
      // A chunk's time follows from the one before, not from the lead, and the first one's is that of a tick: else
      // ticks that come a little early or late would make a chunk go out a whole tick late now and then.
      const onTime = lead > this.#leadMs - CHUNK_MS - LEAD_SLACK_MS;
      speech.dueAt = onTime ? (speech.dueAt ?? now) + size / this.#bytesPerMs : undefined;
    }
    if (this.#waiting.size > 0 && this.queuedMs <= MAX_QUEUED_MS) {
      for (const go of this.#waiting) go();
      this.#waiting.clear();
    }
    if (!speech.complete) return;
    if (!speech.sentTold && speech.sentBytes >= speech.availableBytes) {
      speech.sentTold = true;
      speech.events.onSent?.();
    }
    this.#checkFinished(speech, now);
  }

  /** Audio that arrives fills up the lead; ticks keep the pace once it is full. */
  #isDue(speech: Speech, now: number, lead: number, earlyMs: number): boolean {
    const full = this.#leadMs - CHUNK_MS;
    if (lead <= full - LEAD_SLACK_MS) return true;
    if (speech.dueAt !== undefined) return now >= speech.dueAt - earlyMs;
    return earlyMs > 0 && lead <= full;
  }

  #send(speech: Speech, size: number, now: number): void {
    if (this.#dryAt < now) {
      // The far end has run dry (or begins): what follows is heard from now on.
      speech.runs.push({ startByte: speech.sentBytes, at: now });
      this.#dryAt = now;
    }
    // One message, however many pieces it came in from the voice.
    this.#participant.play(speech.read(speech.sentBytes, size), speech.sentBytes / this.#bytesPerMs);
    speech.sentBytes += size;
    this.#dryAt += size / this.#bytesPerMs;
    if (speech.startedAt === undefined) {
      speech.startedAt = now;
      speech.events.onStarted(now);
    }
    const last = speech.complete && speech.sentBytes === speech.availableBytes;
    if (
      this.#participant.marks &&
      (last || speech.sentBytes - speech.markedBytes >= MARK_EVERY_MS * this.#bytesPerMs)
    ) {
      speech.markedBytes = speech.sentBytes;
      this.#participant.mark(`${this.#generation}:${speech.sentBytes}`);
    }
  }

  /** How far the listener is: proven by marks, else by the clock, never more than was sent. */
  #heardBytes(now: number): number {
    const speech = this.#speech!;
    return Math.max(speech.provenBytes, this.#clockBytes(speech, now, this.#lagMs));
  }

  #clockBytes(speech: Speech, now: number, lagMs: number): number {
    const unheardMs = Math.max(0, this.#dryAt + lagMs - now);
    return this.#wholeSamples(Math.max(0, speech.sentBytes - unheardMs * this.#bytesPerMs));
  }

  #wholeSamples(bytes: number): number {
    const whole = Math.floor(bytes);
    return this.#format.encoding === 'pcm16' ? whole - (whole % 2) : whole;
  }

  /** Everything up to here was heard: record it and let go of it. */
  #noteHeard(heardBytes: number): void {
    const speech = this.#speech!;
    if (heardBytes <= speech.recordedBytes) return;
    this.#talkedMs += (heardBytes - speech.recordedBytes) / this.#bytesPerMs;
    for (let run = 0; run < speech.runs.length; run++) {
      const { startByte, at } = speech.runs[run]!;
      const endByte = Math.min(heardBytes, speech.runs[run + 1]?.startByte ?? Infinity);
      const from = Math.max(startByte, speech.recordedBytes);
      if (endByte <= from) continue;
      let atMs = at - this.#answeredAtMonotonic + (from - startByte) / this.#bytesPerMs;
      speech.forEachPart(from, endByte - from, (part) => {
        this.#recorder.agent(part, Math.round(atMs));
        atMs += part.length / this.#bytesPerMs;
      });
      this.#lastHeardAt = at + (endByte - startByte) / this.#bytesPerMs;
    }
    speech.recordedBytes = heardBytes;
    speech.forget(heardBytes);
    // Runs that were heard to their end matter no more.
    while (speech.runs.length > 1 && speech.runs[1]!.startByte <= heardBytes) speech.runs.shift();
  }

  #checkFinished(speech: Speech, now: number): void {
    if (!speech.complete || speech.sentBytes < speech.availableBytes) return;
    const proven = speech.provenBytes >= speech.availableBytes;
    const dueAt = this.#dryAt + (this.#participant.marks ? MARK_PATIENCE_MS : 0);
    if (!proven && now < dueAt) return;
    this.#noteHeard(speech.availableBytes);
    this.#speech = undefined;
    this.#last = { speech, heardBytes: speech.availableBytes };
    speech.events.onFinished(this.#toHeard(speech, speech.availableBytes, true));
  }

  #toHeard(speech: Speech, heardBytes: number, complete: boolean): HeardSpeech {
    const heardMs = heardBytes / this.#bytesPerMs;
    return {
      text: complete
        ? speech.pieces.map((piece) => piece.text).join(' ')
        : heardText(speech, heardMs, this.#bytesPerMs),
      complete,
      heardMs: Math.round(heardMs),
      startedAt: speech.startedAt,
      endedAt: heardBytes === 0 ? undefined : this.#lastHeardAt,
    };
  }
}

/** Shared by all calls: what is read out of several chunks is sent before anything else is read. */
let scratch = new Uint8Array(8192);

/** One speech of the agent and its audio, as far as it was not heard yet. */
class Speech {
  readonly events: PlayoutEvents;
  readonly chunks: Uint8Array[] = [];
  /** Byte position of `chunks[0]`. */
  #firstByte = 0;
  availableBytes = 0;
  sentBytes = 0;
  markedBytes = 0;
  provenBytes = 0;
  recordedBytes = 0;
  /** Nothing beyond was heard, the far end says. */
  limitBytes = Infinity;
  complete = false;
  /** When the next chunk goes out, while the lead is full; monotonic ms. */
  dueAt: number | undefined;
  /** That all of it was sent has been told. */
  sentTold = false;
  startedAt: number | undefined;
  /** Stretches that the far end played without a pause. */
  readonly runs: { startByte: number; at: number }[] = [];
  readonly pieces: { text: string; startByte: number }[] = [];
  readonly words: SpokenWord[] = [];

  constructor(events: PlayoutEvents) {
    this.events = events;
  }

  /** `length` bytes in one piece: a view where they lie in one chunk, else a copy that the next call overwrites. */
  read(fromByte: number, length: number): Uint8Array {
    let whole: Uint8Array | undefined;
    let filled = 0;
    this.forEachPart(fromByte, length, (part) => {
      if (part.length === length) {
        whole = part;
        return;
      }
      if (scratch.length < length) scratch = new Uint8Array(length);
      scratch.set(part, filled);
      filled += part.length;
    });
    return whole ?? scratch.subarray(0, filled);
  }

  forEachPart(fromByte: number, length: number, visit: (part: Uint8Array) => void): void {
    let chunkStart = this.#firstByte;
    let from = fromByte;
    const end = fromByte + length;
    for (const chunk of this.chunks) {
      const chunkEnd = chunkStart + chunk.length;
      if (chunkEnd > from) {
        visit(chunk.subarray(from - chunkStart, Math.min(end, chunkEnd) - chunkStart));
        from = Math.min(end, chunkEnd);
        if (from === end) return;
      }
      chunkStart = chunkEnd;
    }
  }

  /** Lets go of audio before `byte`. */
  forget(byte: number): void {
    while (this.chunks.length > 0 && this.#firstByte + this.chunks[0]!.length <= byte)
      this.#firstByte += this.chunks.shift()!.length;
  }
}

/**
 * What was heard of a speech, cut at a word. Word times of the provider where there are any; for text without them,
 * in proportion to the audio between the known points.
 */
function heardText(speech: Speech, heardMs: number, bytesPerMs_: number): string {
  if (heardMs <= 0) return '';
  if (speech.words.length > 0) {
    return speech.words
      .filter((word) => word.endMs - WORD_TOLERANCE_MS <= heardMs)
      .map((word) => word.text)
      .join(' ');
  }
  const heard: string[] = [];
  for (let i = 0; i < speech.pieces.length; i++) {
    const piece = speech.pieces[i]!;
    const startMs = piece.startByte / bytesPerMs_;
    const next = speech.pieces[i + 1];
    const knownEndMs =
      next !== undefined && next.startByte > piece.startByte
        ? next.startByte / bytesPerMs_
        : speech.complete && !next
          ? speech.availableBytes / bytesPerMs_
          : undefined;
    const endMs =
      knownEndMs ??
      Math.max(
        speech.availableBytes / bytesPerMs_,
        startMs + (piece.text.length / GUESSED_CHARS_PER_SECOND) * 1000,
      );
    if (startMs >= heardMs) break;
    if (endMs <= heardMs) {
      heard.push(piece.text);
      continue;
    }
    const words = piece.text.split(/\s+/);
    const total = piece.text.length;
    let chars = 0;
    for (const word of words) {
      chars += word.length + 1;
      const wordEndMs = startMs + ((chars - 1) / total) * (endMs - startMs);
      if (wordEndMs - WORD_TOLERANCE_MS > heardMs) break;
      heard.push(word);
    }
    break;
  }
  return heard.join(' ');
}
