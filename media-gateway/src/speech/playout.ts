import { bytesPerMs, silence, type AudioFormat } from '@parley/shared/audio/audio-frame';
import { attenuator } from '@parley/shared/audio/attenuate';
import type { Clock } from '@parley/shared/time/clock';
import type { Participant } from '../participants/participant.ts';
import type { CallRecorder } from '../recording/call-recorder.ts';
import { BackgroundBed } from './background-bed.ts';
import { HeardLedger } from './heard-ledger.ts';
import { Interjection } from './interjection.ts';
import { heardText, type SpokenWord } from './heard-text.ts';
import { ListenerClock } from './listener-clock.ts';
import { Speech, type HeardSpeech, type PlayoutEvents } from './speech.ts';
import type { SpokenUnit } from './spoken-form/spoken-form.ts';
import { TICK_MS } from './ticker.ts';

/** Length of the chunks in which agent audio goes out. */
const CHUNK_MS = 100;
/** Least length of the first chunk of a reply, which goes out at once. */
const FIRST_CHUNK_MS = 20;
/** How far ahead of a telephone audio is: a new chunk goes out when no more than this less a chunk is left. */
const LEAD_MS = 300;
const MARK_EVERY_MS = 200;
/** How much synthesised audio may wait before the voice gets no more text. */
const MAX_QUEUED_MS = 2000;
/** How long after it was due the last mark may come back; then its audio counts as played. */
const MARK_PATIENCE_MS = 2000;
/** Audio frames of telephony: the last chunk is filled up with silence to a whole one. */
const FRAME_MS = 20;
/** How early a tick may send a chunk: the next tick would be further from its time. */
const NEAREST_TICK_MS = TICK_MS / 2;
/** A lead that has shrunk by this much is filled up again at once. */
const LEAD_SLACK_MS = 2 * TICK_MS;

/** An agent who has so little left to say is about to end, ms. */
const ABOUT_TO_END_MS = 1000;
/** A question this long ago is still answered, ms. */
const ASKED_WITHIN_MS = 1500;
/** How much softer a speech is that goes on while it is decided whether it may, dB. */
const SOFT_DB = 15;

/** Who must know what the far end plays, to tell its echo. */
export interface EchoReference {
  /** Audio goes out. @param atMs when the far end begins to play it, monotonic ms */
  agentSaid(bytes: Uint8Array, format: AudioFormat, atMs: number): void;
  /** The far end drops what it has not played. */
  agentCleared(now: number): void;
}

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
  /** What the far end plays. */
  readonly format: AudioFormat;
  readonly #bytesPerMs: number;
  readonly #leadMs: number;
  readonly #listener: ListenerClock;
  /** The account of agent audio that was heard. */
  readonly ledger: HeardLedger;
  readonly #echo: EchoReference | undefined;
  readonly #soften: (bytes: Uint8Array) => Uint8Array;
  /** What is heard under the speech, and where there is none. */
  readonly bed: BackgroundBed;
  /** What is heard while the agent has not the floor. */
  readonly interjection: Interjection;

  #generation = 0;
  #speech: Speech | undefined;
  #hold: 'none' | 'silent' | 'soft' = 'none';
  /** The speech that ended last, kept for a far end that reports later how much it played. */
  #last: { speech: Speech; heardBytes: number } | undefined;
  /** Who waits, until no more than so many milliseconds are queued. */
  readonly #waiting = new Map<() => void, number>();

  constructor(deps: {
    participant: Participant;
    clock: Clock;
    recorder: CallRecorder;
    answeredAtMonotonic: number;
    echo?: EchoReference | undefined;
  }) {
    this.#participant = deps.participant;
    this.#clock = deps.clock;
    this.format = deps.participant.outputFormat;
    this.#bytesPerMs = bytesPerMs(this.format);
    this.#leadMs = deps.participant.leadMs ?? LEAD_MS;
    this.#listener = new ListenerClock(this.format);
    this.#echo = deps.echo;
    this.#soften = attenuator(this.format, SOFT_DB);
    this.bed = new BackgroundBed({
      participant: deps.participant,
      listener: this.#listener,
      format: this.format,
    });
    this.interjection = new Interjection({
      ...{ participant: deps.participant, listener: this.#listener, bed: this.bed },
      ...{ echo: deps.echo, format: this.format },
    });
    this.ledger = new HeardLedger({
      recorder: deps.recorder,
      format: this.format,
      zero: deps.answeredAtMonotonic,
    });
  }

  /** Whether some of the speech has gone out; it may be held. */
  get audible(): boolean {
    return this.#speech?.startedAt !== undefined;
  }

  /** Held, silent or soft, until it is decided whether the speech goes on. */
  get held(): boolean {
    return this.#hold !== 'none';
  }

  /** Held, and nothing of it is heard. */
  get silent(): boolean {
    return this.#hold === 'silent';
  }

  /** Milliseconds of audio that wait to be sent. Beyond about two seconds the TTS gets no more text. */
  get queuedMs(): number {
    const speech = this.#speech;
    return speech === undefined ? 0 : (speech.availableBytes - speech.sentBytes) / this.#bytesPerMs;
  }

  /**
   * Resolves when no more audio waits to be sent than the voice may be ahead, or than is said.
   * @throws the reason of `signal`
   */
  room(signal: AbortSignal, ms = MAX_QUEUED_MS): Promise<void> {
    if (this.queuedMs <= ms) return Promise.resolve();
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
      this.#waiting.set(go, ms);
    });
  }

  /** Begins a speech. @param held begins on hold, because the caller is speaking */
  begin(events: PlayoutEvents, options: { held: boolean }): void {
    if (this.#speech) throw new Error('Another utterance is still playing.');
    this.#generation++;
    this.#hold = options.held ? 'silent' : 'none';
    this.#last = undefined;
    this.#listener.newSpeech();
    this.#speech = new Speech(events);
  }

  /** Notes text that is on its way to the TTS, in order. @param units how it is spoken, where that is otherwise */
  addText(text: string, units?: readonly SpokenUnit[]): void {
    this.#speech?.pieces.push({ text, units, startByte: this.#speech.availableBytes });
  }

  /** Notes the times of words of the newest pieces, relative to the audio position `fromMs` of the speech. */
  addWords(words: readonly SpokenWord[], fromMs: number): void {
    const speech = this.#speech;
    if (!speech) return;
    for (const word of words)
      speech.words.push({ ...word, startMs: word.startMs + fromMs, endMs: word.endMs + fromMs });
  }

  /** Milliseconds of audio written so far. */
  get writtenMs(): number {
    return this.#speech === undefined ? 0 : this.#speech.availableBytes / this.#bytesPerMs;
  }

  /** Takes audio in the far end's format; it is kept until it was heard. */
  write(bytes: Uint8Array): void {
    const speech = this.#speech;
    if (!speech || bytes.length === 0) return;
    speech.chunks.push(bytes);
    speech.availableBytes += bytes.length;
    this.pump(0);
  }

  /** Marks the speech as complete: no more audio will come. */
  finish(): void {
    const speech = this.#speech;
    if (!speech || speech.complete) return;
    speech.complete = true;
    const frameBytes = FRAME_MS * this.#bytesPerMs;
    const rest = speech.availableBytes % frameBytes;
    if (rest !== 0) {
      const padding = silence(this.format, (frameBytes - rest) / this.#bytesPerMs);
      speech.chunks.push(padding);
      speech.availableBytes += padding.length;
    }
    this.pump(0);
  }

  /** Stops at the far end at once and keeps what was not heard. @param soft goes on at once, softer, once it is audible */
  hold({ soft = false } = {}): void {
    const speech = this.#speech;
    if (!speech || this.held) return;
    this.#hold = 'silent';
    if (speech.startedAt === undefined) return;
    const now = this.#clock.monotonic();
    const heardBytes = this.#listener.heardBytes(speech, now);
    // The generation changes before the clear: marks that come back because of it must not count.
    this.#generation++;
    this.#participant.clear();
    this.#echo?.agentCleared(now);
    this.bed.cleared(now);
    this.ledger.note(speech, heardBytes);
    while (speech.runs.length > 0 && speech.runs.at(-1)!.startByte >= heardBytes) speech.runs.pop();
    // Audio that was sent and not heard is sent again if the speech resumes.
    speech.sentBytes = heardBytes;
    speech.sentTold = false;
    speech.markedBytes = heardBytes;
    speech.provenBytes = heardBytes;
    speech.dueAt = undefined;
    this.#listener.clear();
    if (!soft) return;
    this.#hold = 'soft';
    this.pump(0);
  }

  /** Goes on from the first sample that was not heard. */
  resume(): void {
    if (!this.#speech || !this.held) return;
    this.#hold = 'none';
    this.#speech.limitBytes = Infinity;
    this.pump(0);
  }

  /** Cancels the speech. @returns what was heard of it */
  cancel(): HeardSpeech | undefined {
    const speech = this.#speech;
    if (!speech) return undefined;
    const now = this.#clock.monotonic();
    const reachedBytes = this.silent ? speech.sentBytes : this.#listener.heardBytes(speech, now);
    const heardBytes = Math.min(reachedBytes, speech.limitBytes);
    this.#generation++;
    if (!this.silent && speech.startedAt !== undefined) {
      this.#participant.clear();
      this.#echo?.agentCleared(now);
      this.bed.cleared(now);
      this.#listener.clear();
    } else this.#listener.newSpeech();
    this.ledger.note(speech, heardBytes);
    this.#speech = undefined;
    this.#hold = 'none';
    this.#last = { speech, heardBytes };
    return this.ledger.account(speech, heardBytes, false);
  }

  /** Takes the far end's word for how much it played: nothing beyond counts as heard. */
  limitHeard(heardMs: number): void {
    const speech = this.#speech;
    if (!speech) return;
    const bytes = this.#listener.wholeSamples(heardMs * this.#bytesPerMs);
    speech.limitBytes = bytes;
    // A held speech resumes from there, as far as the audio is still kept.
    if (this.silent) speech.sentBytes = Math.min(speech.sentBytes, Math.max(bytes, speech.recordedBytes));
  }

  /** As `limitHeard`, for the speech that ended last. @returns what was heard of it after all, if it is less */
  reconsider(heardMs: number): HeardSpeech | undefined {
    const last = this.#last;
    if (!last || heardMs * this.#bytesPerMs >= last.heardBytes) return undefined;
    return this.ledger.account(last.speech, heardMs * this.#bytesPerMs, false);
  }

  /** The words of the speech up to a position of it. */
  textUntil(ms: number): string {
    return this.#speech === undefined ? '' : heardText(this.#speech, ms, this.#bytesPerMs);
  }

  /** Whether the agent has just asked something, or is about to end: what is said then answers it. */
  get expectsAnswer(): boolean {
    if (!this.audible) return false;
    const { heardMs } = this;
    if (this.#speech!.complete && this.writtenMs - heardMs <= ABOUT_TO_END_MS) return true;
    const before = this.textUntil(Math.max(0, heardMs - ASKED_WITHIN_MS));
    return /[?？؟]/.test(this.textUntil(heardMs).slice(before.length));
  }

  /** Milliseconds of the speech that were heard so far. */
  get heardMs(): number {
    const speech = this.#speech;
    if (!speech || speech.startedAt === undefined) return 0;
    const bytes = this.silent ? speech.sentBytes : this.#listener.heardBytes(speech, this.#clock.monotonic());
    return Math.min(bytes, speech.limitBytes) / this.#bytesPerMs;
  }

  /** Takes a mark that came back from the far end. */
  onMark(name: string): void {
    const speech = this.#speech;
    if (!speech || this.silent) return;
    const colon = name.indexOf(':');
    if (colon === -1 || Number(name.slice(0, colon)) !== this.#generation) return;
    const bytes = Number(name.slice(colon + 1));
    if (!(bytes > speech.provenBytes) || bytes > speech.sentBytes) return;
    const now = this.#clock.monotonic();
    this.#listener.learn(speech, bytes, now);
    speech.provenBytes = bytes;
    this.ledger.note(speech, bytes);
    this.#checkFinished(speech, now);
  }

  /** Sends what is due. Called on every tick. @param earlyMs how much before its time a chunk may go out */
  pump(earlyMs = NEAREST_TICK_MS): void {
    const speech = this.#speech;
    const now = this.#clock.monotonic();
    if (!speech || this.silent || speech.availableBytes === 0) this.interjection.pump(now);
    if (!speech || this.silent) {
      this.bed.fill(now, false);
      return;
    }
    if (speech.sentBytes < speech.availableBytes) {
      this.interjection.stop(now);
      this.bed.makeWay(now);
    }
    while (speech.sentBytes < speech.availableBytes) {
      const lead = this.#listener.lead(now);
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
    this.bed.fill(
      now,
      speech.startedAt !== undefined && !(speech.complete && speech.sentBytes >= speech.availableBytes),
    );
    for (const [go, ms] of this.#waiting)
      if (this.queuedMs <= ms) {
        this.#waiting.delete(go);
        go();
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
    const playsAt = Math.max(now, this.#listener.dryAt);
    const runsFrom = this.#listener.send(size, now);
    if (runsFrom !== undefined) speech.runs.push({ startByte: speech.sentBytes, at: runsFrom });
    // One message, however many pieces it came in from the voice.
    const whole = speech.read(speech.sentBytes, size);
    const bytes = this.bed.under(this.#hold === 'soft' ? this.#soften(whole) : whole);
    this.#participant.play(bytes, speech.sentBytes / this.#bytesPerMs, this.#markAfter(speech, size));
    this.#echo?.agentSaid(bytes, this.format, playsAt);
    speech.sentBytes += size;
    if (speech.startedAt === undefined) {
      speech.startedAt = now;
      speech.events.onStarted(now);
    }
  }

  /** @returns the mark that proves the next `size` bytes, where one is due */
  #markAfter(speech: Speech, size: number): string | undefined {
    if (!this.#participant.marks) return;
    const end = speech.sentBytes + size;
    const last = speech.complete && end === speech.availableBytes;
    if (!last && end - speech.markedBytes < MARK_EVERY_MS * this.#bytesPerMs) return;
    speech.markedBytes = end;
    return `${this.#generation}:${end}`;
  }

  #checkFinished(speech: Speech, now: number): void {
    if (!speech.complete || speech.sentBytes < speech.availableBytes) return;
    const proven = speech.provenBytes >= speech.availableBytes;
    const dueAt = this.#listener.speechDryAt + (this.#participant.marks ? MARK_PATIENCE_MS : 0);
    if (!proven && now < dueAt) return;
    this.ledger.note(speech, speech.availableBytes);
    this.#speech = undefined;
    this.#hold = 'none';
    this.#last = { speech, heardBytes: speech.availableBytes };
    speech.events.onFinished(this.ledger.account(speech, speech.availableBytes, true));
  }
}
