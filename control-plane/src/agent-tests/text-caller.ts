import { ANSWER_MS, RealtimeClient } from './realtime-client.ts';
import type { RealtimeClientOptions } from './realtime-client.ts';
import type { TestCaller } from './test-caller.ts';

/** What follows an answer that was cut short follows at once. */
const GOES_ON_MS = 2000;

/** A caller who writes: text in and text out. The session decides that nothing is spoken. */
export class TextCaller implements TestCaller {
  readonly #client: RealtimeClient;

  private constructor(client: RealtimeClient) {
    this.#client = client;
  }

  /** @throws TestCallError when it is not let in; the reason of `signal` */
  static async open(options: RealtimeClientOptions): Promise<TextCaller> {
    return new TextCaller(await RealtimeClient.open(options));
  }

  get over(): boolean {
    return this.#client.closed;
  }

  greeting(waitMs: number): Promise<string | undefined> {
    return this.#client.firstAnswer(waitMs);
  }

  async say(text: string): Promise<string | undefined> {
    const client = this.#client;
    // What is being said is said first.
    await client.until(() => client.closed || !client.isAnswering, ANSWER_MS);
    if (client.closed) return undefined;
    const before = client.answerIds;
    client.send({
      type: 'conversation.item.create',
      item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
    });
    client.send({ type: 'response.create' });
    return client.answerBeyond(before, { goesOnMs: GOES_ON_MS });
  }

  /** A line that is written is one turn. */
  lineOf(nthTurn: number): number {
    return nthTurn;
  }

  hangUp(): Promise<void> {
    return this.#client.close();
  }
}
