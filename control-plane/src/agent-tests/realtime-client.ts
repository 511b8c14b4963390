import { WebSocket } from 'undici';
import { z } from 'zod';
import { http1Agent } from '@parley/shared/http/http1';
import type { Clock } from '@parley/shared/time/clock';

const CONNECT_MS = 10_000;
/** Tools and models have their own limits; behind this the gateway is gone. */
export const ANSWER_MS = 120_000;
/** Nothing but the end of the connection is awaited. */
const CLOSE_MS = 5000;

/** The connection to the agent did not come about, or the agent failed in it. */
export class TestCallError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'TestCallError';
  }
}

const serverEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('session.created') }),
  z.object({ type: z.literal('response.created'), response: z.object({ id: z.string() }) }),
  z.object({ type: z.literal('response.output_text.delta'), response_id: z.string(), delta: z.string() }),
  z.object({
    type: z.literal('response.output_audio_transcript.delta'),
    response_id: z.string(),
    delta: z.string(),
  }),
  z.object({ type: z.literal('response.output_audio.delta'), delta: z.string() }),
  z.object({ type: z.literal('input_audio_buffer.speech_started') }),
  z.object({
    type: z.literal('conversation.item.input_audio_transcription.completed'),
    transcript: z.string(),
  }),
  z.object({
    type: z.literal('response.done'),
    response: z.object({
      id: z.string(),
      status: z.string(),
      status_details: z.object({ error: z.object({ code: z.string().nullish() }).nullish() }).nullish(),
    }),
  }),
  z.object({ type: z.literal('error'), error: z.object({ code: z.string(), message: z.string() }) }),
]);

/** What the server tells, as far as it moves anything here. */
export type ServerEvent = z.output<typeof serverEvent>;

export interface RealtimeClientOptions {
  url: string;
  token: string;
  clock: Clock;
  signal: AbortSignal;
  /** Told of every event, after it was taken in. */
  onEvent?: (event: ServerEvent) => void;
}

interface Answer {
  text: string;
  /** Undefined while the agent writes. */
  status: string | undefined;
  code: string | undefined;
}

/**
 * A client of `/v1/realtime`, as any program is one (OpenAI Realtime, GA): the connection, and what the agent answers
 * on it.
 */
export class RealtimeClient {
  readonly #socket: WebSocket;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #onEvent: ((event: ServerEvent) => void) | undefined;
  readonly #answers = new Map<string, Answer>();
  readonly #waiting = new Set<() => void>();
  #created = false;
  #closed = false;
  #refusal: string | undefined;

  private constructor(socket: WebSocket, options: RealtimeClientOptions) {
    this.#socket = socket;
    this.#clock = options.clock;
    this.#signal = options.signal;
    this.#onEvent = options.onEvent;
    socket.addEventListener('message', ({ data }) => this.#onMessage(data));
    socket.addEventListener('error', () => this.#onClosed());
    socket.addEventListener('close', () => this.#onClosed());
  }

  /** @throws TestCallError when it is not let in; the reason of `signal` */
  static async open(options: RealtimeClientOptions): Promise<RealtimeClient> {
    options.signal.throwIfAborted();
    const socket = new WebSocket(options.url, {
      dispatcher: http1Agent,
      protocols: ['realtime'],
      headers: { authorization: `Bearer ${options.token}` },
    });
    const client = new RealtimeClient(socket, options);
    try {
      const opened = await client.until(() => client.#created || client.#closed, CONNECT_MS);
      if (!opened) throw new TestCallError('The media gateway did not start the session in time.');
      if (!client.#created) {
        const why =
          client.#refusal === undefined
            ? 'could not be reached'
            : `refused the connection: ${client.#refusal}`;
        throw new TestCallError(`The session could not be started: the media gateway ${why}.`);
      }
      return client;
    } catch (error) {
      await client.close();
      throw error;
    }
  }

  /** The conversation was ended from the other side, or from this one. */
  get closed(): boolean {
    return this.#closed;
  }

  /** What the agent has begun to answer, in order. */
  get answerIds(): ReadonlySet<string> {
    return new Set(this.#answers.keys());
  }

  get isAnswering(): boolean {
    return [...this.#answers.values()].some(({ status }) => status === undefined);
  }

  /** What was sent and has not left. */
  get unsentBytes(): number {
    return this.#socket.bufferedAmount;
  }

  send(event: object): void {
    if (!this.#closed) this.#socket.send(JSON.stringify(event));
  }

  /**
   * Waits for what the agent answers beyond what it had begun before.
   * @param options.isEarly tells answers that another one may follow though they were not cut short
   * @param options.goesOnMs how soon an answer that makes way for another is followed by it
   * @returns undefined when the conversation was over before anything was answered
   * @throws TestCallError when the agent fails
   */
  async answerBeyond(
    before: ReadonlySet<string>,
    { isEarly = () => false, goesOnMs }: { isEarly?: (id: string) => boolean; goesOnMs: number },
  ): Promise<string | undefined> {
    const seen = new Set(before);
    const next = () => [...this.#answers.keys()].find((id) => !seen.has(id));
    const begun = await this.until(() => this.#closed || next() !== undefined, ANSWER_MS);
    if (!begun) throw new TestCallError('The agent did not start to answer in time.');
    const texts: string[] = [];
    let completed = false;
    for (let id = next(); id !== undefined; id = next()) {
      seen.add(id);
      const { text, status } = await this.answer(id);
      if (text !== '') texts.push(text);
      completed ||= status === 'completed';
      // An answer that is cut short makes way for another: a goodbye, for instance; so does one without words, such as
      // that of an agent that hands over.
      if (text !== '' && status !== 'cancelled' && !isEarly(id)) break;
      await this.until(() => this.#closed || next() !== undefined, goesOnMs);
    }
    return texts.length === 0 && this.#closed && !completed ? undefined : texts.join(' ');
  }

  /** What the agent says first, if it begins within `waitMs`. @throws TestCallError when it fails */
  async firstAnswer(waitMs: number): Promise<string | undefined> {
    await this.until(() => this.#answers.size > 0 || this.#closed, waitMs);
    const [id] = this.#answers.keys();
    return id === undefined ? undefined : (await this.answer(id)).text;
  }

  /**
   * Waits for all of an answer.
   * @throws TestCallError when the agent fails
   */
  async answer(id: string): Promise<{ text: string; status: string | undefined }> {
    const answer = this.#answers.get(id)!;
    const ended = await this.until(() => this.#closed || answer.status !== undefined, ANSWER_MS);
    if (!ended) throw new TestCallError('The agent did not finish its answer in time.');
    if (answer.code === 'session_ending') await this.until(() => this.#closed, CLOSE_MS);
    else if (answer.status === 'failed')
      throw new TestCallError(`The agent failed to answer: ${answer.code ?? 'internal'}.`);
    return { text: answer.text.trim(), status: answer.status };
  }

  /** Waits for what events bring about. @returns whether it came to pass in time. @throws the reason of the signal */
  async until(isSo: () => boolean, timeoutMs: number): Promise<boolean> {
    await this.#look(() => this.#signal.aborted || isSo(), timeoutMs);
    this.#signal.throwIfAborted();
    return isSo();
  }

  /** Something that `until` waits for may have changed. */
  notify(): void {
    for (const look of this.#waiting) look();
  }

  /** Idempotent. Resolves when the connection is closed. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#socket.close(1000);
    await this.#look(() => this.#closed, CLOSE_MS);
  }

  #onMessage(data: unknown): void {
    if (typeof data !== 'string') return;
    let value: unknown;
    try {
      value = JSON.parse(data);
    } catch {
      return;
    }
    // Events that move nothing here are of many kinds.
    const { data: event } = serverEvent.safeParse(value);
    if (!event) return;
    this.#take(event);
    this.#onEvent?.(event);
    this.notify();
  }

  #take(event: ServerEvent): void {
    switch (event.type) {
      case 'session.created':
        this.#created = true;
        break;
      case 'response.created':
        this.#answers.set(event.response.id, { text: '', status: undefined, code: undefined });
        break;
      case 'response.output_text.delta':
      case 'response.output_audio_transcript.delta': {
        const answer = this.#answers.get(event.response_id);
        if (answer) answer.text += event.delta;
        break;
      }
      case 'response.done': {
        const answer = this.#answers.get(event.response.id);
        if (!answer) break;
        answer.status = event.response.status;
        answer.code = event.response.status_details?.error?.code ?? undefined;
        break;
      }
      case 'error':
        this.#refusal = event.error.code;
        break;
      default:
    }
  }

  #onClosed(): void {
    this.#closed = true;
    this.notify();
  }

  async #look(isSo: () => boolean, timeoutMs: number): Promise<void> {
    if (isSo()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => {
      if (isSo()) resolve();
    };
    this.#waiting.add(look);
    const timer = this.#clock.setTimeout(resolve, timeoutMs);
    this.#signal.addEventListener('abort', look);
    try {
      await promise;
    } finally {
      timer.cancel();
      this.#waiting.delete(look);
      this.#signal.removeEventListener('abort', look);
    }
  }
}
