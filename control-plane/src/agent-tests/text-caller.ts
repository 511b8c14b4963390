import { WebSocket } from 'undici';
import { z } from 'zod';
import { http1Agent } from '@parley/shared/http/http1';
import type { Clock } from '@parley/shared/time/clock';

const CONNECT_MS = 10_000;
/** Tools and models have their own limits; behind this the gateway is gone. */
const ANSWER_MS = 120_000;
/** Nothing but the end of the connection is awaited. */
const CLOSE_MS = 5000;
/** What follows an answer that was cut short follows at once. */
const GOES_ON_MS = 2000;

/** The connection to the agent did not come about, or the agent failed in it. */
export class TextCallError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'TextCallError';
  }
}

const serverEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('session.created') }),
  z.object({ type: z.literal('response.created'), response: z.object({ id: z.string() }) }),
  z.object({ type: z.literal('response.output_text.delta'), response_id: z.string(), delta: z.string() }),
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

interface Answer {
  text: string;
  /** Undefined while the agent writes. */
  status: string | undefined;
  code: string | undefined;
}

/**
 * A caller who writes: speaks `/v1/realtime` as any program does (OpenAI Realtime, GA), text in and text out. The
 * session decides that nothing is spoken.
 */
export class TextCaller {
  readonly #socket: WebSocket;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #answers = new Map<string, Answer>();
  readonly #waiting = new Set<() => void>();
  #created = false;
  #closed = false;
  #refusal: string | undefined;

  private constructor(socket: WebSocket, { clock, signal }: { clock: Clock; signal: AbortSignal }) {
    this.#socket = socket;
    this.#clock = clock;
    this.#signal = signal;
    socket.addEventListener('message', ({ data }) => this.#onMessage(data));
    socket.addEventListener('error', () => this.#onClosed());
    socket.addEventListener('close', () => this.#onClosed());
  }

  /** @throws TextCallError when it is not let in; the reason of `signal` */
  static async open(options: {
    url: string;
    token: string;
    clock: Clock;
    signal: AbortSignal;
  }): Promise<TextCaller> {
    options.signal.throwIfAborted();
    const socket = new WebSocket(options.url, {
      dispatcher: http1Agent,
      protocols: ['realtime'],
      headers: { authorization: `Bearer ${options.token}` },
    });
    const caller = new TextCaller(socket, options);
    try {
      const opened = await caller.#until(() => caller.#created || caller.#closed, CONNECT_MS);
      if (!opened) throw new TextCallError('The media gateway did not start the session in time.');
      if (!caller.#created) {
        const why =
          caller.#refusal === undefined
            ? 'could not be reached'
            : `refused the connection: ${caller.#refusal}`;
        throw new TextCallError(`The session could not be started: the media gateway ${why}.`);
      }
      return caller;
    } catch (error) {
      await caller.hangUp();
      throw error;
    }
  }

  /** The conversation was ended from the other side. */
  get over(): boolean {
    return this.#closed;
  }

  /**
   * What the agent says before anybody has said anything.
   * @param waitMs without a beginning by then there is none
   * @returns undefined when it says nothing
   * @throws TextCallError when it fails
   */
  async greeting(waitMs: number): Promise<string | undefined> {
    await this.#until(() => this.#answers.size > 0 || this.#closed, waitMs);
    const [id] = this.#answers.keys();
    return id === undefined ? undefined : (await this.#answer(id)).text;
  }

  /**
   * Says something, and waits for all of the answer.
   * @returns undefined when the conversation was over before anything was answered
   * @throws TextCallError when the agent fails
   */
  async say(text: string): Promise<string | undefined> {
    // What is being said is said first.
    await this.#until(() => this.#closed || !this.#isAnswering(), ANSWER_MS);
    if (this.#closed) return undefined;
    const seen = new Set(this.#answers.keys());
    const next = () => [...this.#answers.keys()].find((id) => !seen.has(id));
    this.#send({
      type: 'conversation.item.create',
      item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
    });
    this.#send({ type: 'response.create' });
    const begun = await this.#until(() => this.#closed || next() !== undefined, ANSWER_MS);
    if (!begun) throw new TextCallError('The agent did not start to answer in time.');
    const texts: string[] = [];
    for (let id = next(); id !== undefined; id = next()) {
      seen.add(id);
      const { text: said, status } = await this.#answer(id);
      if (said !== '') texts.push(said);
      // An answer that is cut short makes way for another: a goodbye, for instance.
      if (status !== 'cancelled') break;
      await this.#until(() => this.#closed || next() !== undefined, GOES_ON_MS);
    }
    return texts.length === 0 && this.#closed ? undefined : texts.join(' ');
  }

  /** Idempotent. Resolves when the connection is closed. */
  async hangUp(): Promise<void> {
    if (this.#closed) return;
    this.#socket.close(1000);
    await this.#look(() => this.#closed, CLOSE_MS);
  }

  async #answer(id: string): Promise<{ text: string; status: string | undefined }> {
    const answer = this.#answers.get(id)!;
    const ended = await this.#until(() => this.#closed || answer.status !== undefined, ANSWER_MS);
    if (!ended) throw new TextCallError('The agent did not finish its answer in time.');
    if (answer.code === 'session_ending') await this.#until(() => this.#closed, CLOSE_MS);
    else if (answer.status === 'failed')
      throw new TextCallError(`The agent failed to answer: ${answer.code ?? 'internal'}.`);
    return { text: answer.text.trim(), status: answer.status };
  }

  #isAnswering(): boolean {
    return [...this.#answers.values()].some(({ status }) => status === undefined);
  }

  #send(event: object): void {
    if (!this.#closed) this.#socket.send(JSON.stringify(event));
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
    switch (event.type) {
      case 'session.created':
        this.#created = true;
        break;
      case 'response.created':
        this.#answers.set(event.response.id, { text: '', status: undefined, code: undefined });
        break;
      case 'response.output_text.delta': {
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
    }
    this.#notify();
  }

  #onClosed(): void {
    this.#closed = true;
    this.#notify();
  }

  #notify(): void {
    for (const look of this.#waiting) look();
  }

  /** @returns whether it came to pass in time. @throws the reason of the signal */
  async #until(isSo: () => boolean, timeoutMs: number): Promise<boolean> {
    await this.#look(() => this.#signal.aborted || isSo(), timeoutMs);
    this.#signal.throwIfAborted();
    return isSo();
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
