import { explainMicrophone, Microphone } from './microphone.ts';
import { Player } from './player.ts';
import { fromBase64, RealtimeConnection } from './realtime-connection.ts';
import type { ServerEvent } from './realtime-connection.ts';
import type { TalkConversation } from './talk-conversation.ts';

/** How long a voice may leave no words before its turn is taken away again. */
const NO_WORDS_MS = 500;

/** One conversation with an agent: connection, microphone, loudspeaker. Whoever opened it closes it. */
export class TalkCall {
  readonly #conversation: TalkConversation;
  readonly #context = new AudioContext();
  readonly #abort = new AbortController();
  readonly #onLevel: (level: number) => void;
  #connection: RealtimeConnection | undefined;
  #microphone: Microphone | undefined;
  #player: Player | undefined;
  #lastTypedAt = -Infinity;

  /** @param options.onLevel how loud the microphone is, 0 to 100 */
  constructor(options: { conversation: TalkConversation; onLevel: (level: number) => void }) {
    this.#conversation = options.conversation;
    this.#onLevel = options.onLevel;
  }

  /**
   * @param mint makes the session; asked for last, since its token does not live long
   * @param options.onClosed the other side has ended it; 1000: as it should be
   * @throws Error with a sentence for people
   */
  async open(
    mint: () => Promise<{ url: string; token: string }>,
    options: { microphone: boolean; onClosed: (code: number) => void },
  ): Promise<void> {
    // Asked first: the browser wants a person's click for it.
    await this.#context.resume();
    this.#player = await Player.open(this.#context, {
      started: (item) => this.#onHeard(item),
      finished: () => this.#conversation.floor('listening'),
    });
    if (options.microphone) await this.#openMicrophone();
    const { signal } = this.#abort;
    const access = await mint();
    signal.throwIfAborted();
    this.#connection = await RealtimeConnection.open(
      access,
      {
        event: (event) => this.#onEvent(event),
        closed: (code) => {
          if (!signal.aborted) options.onClosed(code);
        },
      },
      signal,
    );
    if (this.#conversation.snapshot.floor === 'connecting') this.#conversation.floor('listening');
  }

  get hasMicrophone(): boolean {
    return this.#microphone !== undefined;
  }

  mute(on: boolean): void {
    this.#microphone?.mute(on);
  }

  async write(text: string): Promise<void> {
    await this.#stopAgent();
    this.#lastTypedAt = performance.now();
    this.#connection?.send({ type: 'response.cancel' });
    this.#connection?.send({
      type: 'conversation.item.create',
      item: { type: 'message', role: 'user', content: [{ type: 'input_text', text }] },
    });
    this.#connection?.send({ type: 'response.create' });
  }

  /** @param key 0-9, * or # */
  async press(key: string): Promise<void> {
    this.#lastTypedAt = performance.now();
    this.#connection?.send({ type: 'parley.dtmf', digits: key });
    await this.#stopAgent();
  }

  close(): void {
    this.#abort.abort(new Error('The conversation was ended.'));
    this.#connection?.close();
    this.#microphone?.close();
    this.#player?.close();
    if (this.#context.state !== 'closed') void this.#context.close();
  }

  /** Without a microphone one can still type. */
  async #openMicrophone(): Promise<void> {
    try {
      this.#microphone = await Microphone.open(this.#context, '', (pcm, level) => {
        // Loudness as ears take it.
        this.#onLevel(Math.min(100, Math.round(Math.sqrt(level) * 140)));
        this.#connection?.sendAudio(pcm);
      });
      if (this.#abort.signal.aborted) this.#microphone.close();
    } catch (error) {
      this.#conversation.say(explainMicrophone(error));
    }
  }

  #onEvent(event: ServerEvent): void {
    for (const effect of this.#conversation.onEvent(event, performance.now())) {
      if (effect.kind === 'play') this.#player?.push(effect.item, fromBase64(effect.audio));
      else if (effect.kind === 'stop_agent') void this.#stopAgent();
      else this.#connection?.send({ type: 'conversation.item.retrieve', item_id: effect.item });
    }
    if (event.type === 'input_audio_buffer.speech_stopped')
      setTimeout(() => this.#conversation.dropSilent(), NO_WORDS_MS);
  }

  /** Somebody else has the floor: what is not heard yet is not to be heard, and the agent is told how far it came. */
  async #stopAgent(): Promise<void> {
    if (!this.#player) return;
    const { item, playedMs } = await this.#player.stop();
    if (item === null) return;
    this.#conversation.stopped(item);
    this.#connection?.send({
      type: 'conversation.item.truncate',
      item_id: item,
      content_index: 0,
      audio_end_ms: Math.round(playedMs),
    });
  }

  #onHeard(item: string): void {
    const askedAt = Math.max(this.#microphone?.lastVoicedAt ?? -Infinity, this.#lastTypedAt);
    this.#conversation.heard(item, askedAt, performance.now());
  }
}
