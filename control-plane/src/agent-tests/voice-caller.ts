import { Resampler } from '@parley/shared/audio/resampler';
import { bytesFromPcm16 } from '@parley/shared/audio/audio-frame';
import { FLITE_SAMPLE_RATE, LocalSpeechError } from '@parley/shared/speech/flite';
import type { Clock } from '@parley/shared/time/clock';
import { Microphone } from './microphone.ts';
import { ANSWER_MS, RealtimeClient, TestCallError } from './realtime-client.ts';
import type { RealtimeClientOptions, ServerEvent } from './realtime-client.ts';
import type { TestCaller } from './test-caller.ts';

/** What the local voice speaks. */
export const CALLER_LANGUAGES = ['en'];

/** Both ways, as the session is made for it: PCM16, mono. */
const SAMPLE_RATE = 24_000;
const BYTES_PER_MS = (SAMPLE_RATE * 2) / 1000;
/** Between the agent's last word and the caller's first. */
const PAUSE_MS = 300;
/** The end of a turn has to be heard, and a model to answer, before an answer that was cut short is followed. */
const GOES_ON_MS = 5000;
/** Between the agent's last word and the end of a call that the caller ends. */
const LINGER_MS = 3000;
/** What is sent and has not left: a caller whose connection is further behind is not heard. */
const MAX_UNSENT_BYTES = 262_144;
/** How much longer than it lasts a line may take on a machine that is busy. */
const SLACK_MS = 30_000;

/** Speaks for callers: `LocalVoice`. */
export interface CallerVoice {
  /** @returns `FLITE_SAMPLE_RATE`, mono @throws LocalSpeechError; the reason of `signal` */
  synthesize(text: string, signal: AbortSignal): Promise<Int16Array>;
}

/**
 * A caller who speaks: its lines go at the pace they are spoken, silence in between, through all that hears and takes
 * turns in a call, and it listens to the whole of an answer before it goes on.
 */
export class VoiceCaller implements TestCaller {
  readonly #client: RealtimeClient;
  readonly #ears: Ears;
  readonly #microphone: Microphone;
  readonly #voice: CallerVoice;
  readonly #signal: AbortSignal;

  private constructor(
    client: RealtimeClient,
    ears: Ears,
    { clock, signal, voice }: { clock: Clock; signal: AbortSignal; voice: CallerVoice },
  ) {
    this.#client = client;
    this.#ears = ears;
    this.#voice = voice;
    this.#signal = signal;
    this.#microphone = new Microphone({
      clock,
      send(audio) {
        if (client.unsentBytes < MAX_UNSENT_BYTES) client.send({ type: 'input_audio_buffer.append', audio });
      },
      onSaid: () => client.notify(),
    });
  }

  /** @throws TestCallError when it is not let in; the reason of `signal` */
  static async open(options: RealtimeClientOptions & { voice: CallerVoice }): Promise<VoiceCaller> {
    const ears = new Ears(options.clock);
    const client = await RealtimeClient.open({ ...options, onEvent: (event) => ears.take(event) });
    return new VoiceCaller(client, ears, options);
  }

  get over(): boolean {
    return this.#client.closed;
  }

  greeting(waitMs: number): Promise<string | undefined> {
    return this.#client.firstAnswer(waitMs);
  }

  async say(text: string): Promise<string | undefined> {
    const client = this.#client;
    const line = await this.#speak(text);
    await this.#agentFinishes();
    await client.until(() => client.closed, PAUSE_MS);
    if (client.closed) return undefined;
    const before = client.answerIds;
    this.#ears.nextLine();
    this.#microphone.say(line);
    await client.until(
      () => client.closed || this.#microphone.isSilent,
      line.length / BYTES_PER_MS + SLACK_MS,
    );
    // Answers to half a line: the rest of it may be answered, too.
    const early = client.answerIds;
    const answer = await client.answerBeyond(before, {
      isEarly: (id) => early.has(id),
      goesOnMs: GOES_ON_MS,
    });
    await this.#agentFinishes();
    return answer;
  }

  lineOf(nthTurn: number): number {
    return this.#ears.lineOf(nthTurn);
  }

  async hangUp(): Promise<void> {
    const client = this.#client;
    // An agent that has said goodbye ends the call itself: its clock runs a little behind these ears.
    if (!this.#signal.aborted) await client.until(() => client.closed, LINGER_MS).catch(() => undefined);
    this.#microphone.stop();
    await client.close();
  }

  /** Waits until all that the agent says was heard. */
  async #agentFinishes(): Promise<void> {
    const client = this.#client;
    for (;;) {
      const ended = await client.until(() => client.closed || !client.isAnswering, ANSWER_MS);
      if (!ended) throw new TestCallError('The agent did not finish its answer in time.');
      const { playsForMs } = this.#ears;
      if (client.closed || playsForMs <= 0) return;
      await client.until(() => client.closed, playsForMs);
    }
  }

  async #speak(text: string): Promise<Buffer> {
    try {
      const samples = await this.#voice.synthesize(text, this.#signal);
      if (samples.length === 0)
        throw new TestCallError('A line of the caller holds nothing that the local voice can speak.');
      const resampler = new Resampler(FLITE_SAMPLE_RATE, SAMPLE_RATE);
      return Buffer.concat([resampler.process(samples), resampler.flush()].map(bytesFromPcm16));
    } catch (error) {
      if (!(error instanceof LocalSpeechError)) throw error;
      throw new TestCallError(`The line of the caller could not be spoken: ${error.message}`);
    }
  }
}

/** What reaches the caller: how long the agent is still heard, and which of the caller's lines it has taken in. */
class Ears {
  readonly #clock: Clock;
  /** Line of each turn that the agent has taken. */
  readonly #lines: number[] = [];
  #line = 0;
  #playsUntil = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get playsForMs(): number {
    return this.#playsUntil - this.#clock.monotonic();
  }

  nextLine(): void {
    this.#line++;
  }

  lineOf(nthTurn: number): number {
    return this.#lines[nthTurn - 1] ?? this.#line;
  }

  take(event: ServerEvent): void {
    const now = this.#clock.monotonic();
    switch (event.type) {
      case 'response.output_audio.delta': {
        const ms = Buffer.byteLength(event.delta, 'base64') / BYTES_PER_MS;
        this.#playsUntil = Math.max(now, this.#playsUntil) + ms;
        break;
      }
      case 'input_audio_buffer.speech_started':
        // Clients drop what they have not played.
        this.#playsUntil = now;
        break;
      case 'conversation.item.input_audio_transcription.completed':
        // One without words is no turn of the transcript.
        if (event.transcript !== '') this.#lines.push(this.#line);
        break;
      default:
    }
  }
}
