import type { LatencyPart, ReplyLatency } from '../call/reply-latency.ts';
import type { ServerEvent } from './realtime-connection.ts';

export interface TalkTurn {
  id: string;
  who: 'caller' | 'agent';
  text: string;
  /** Whether words are still to come. */
  coming: boolean;
  /** The caller stopped it here, or a sound did and it goes on below. */
  cut: 'interrupted' | 'goes_on' | null;
  latency: TalkLatency | null;
}

/** As the ears of this page have it: from the caller's last sound to the first that is heard. */
export interface TalkLatency extends ReplyLatency {
  parts: readonly { part: LatencyPart; ms: number }[];
}

export type Floor = 'connecting' | 'listening' | 'caller' | 'thinking' | 'agent';

export interface TalkSnapshot {
  turns: readonly TalkTurn[];
  floor: Floor;
  /** Something for a person to read; empty: nothing. */
  problem: string;
}

const PARTS: readonly LatencyPart[] = ['turn_end', 'llm', 'voice', 'other'];

/** What the page has to do about an event. */
export type TalkEffect =
  { kind: 'stop_agent' } | { kind: 'play'; item: string; audio: string } | { kind: 'retrieve'; item: string };

/** A conversation as it comes over the realtime protocol. Knows no clock, sound or page. */
export class TalkConversation {
  #snapshot: TalkSnapshot = { turns: [], floor: 'connecting', problem: '' };
  readonly #listeners = new Set<() => void>();
  /** When the response began, and by item its first word and sound. */
  #respondedAt = -Infinity;
  readonly #firstWordAt = new Map<string, number>();
  readonly #firstSoundAt = new Map<string, number>();
  #stoppedItem: string | null = null;
  #callerTurns = 0;
  #keysTurn: string | null = null;

  get snapshot(): TalkSnapshot {
    return this.#snapshot;
  }

  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  say(problem: string): void {
    this.#set({ problem });
  }

  /** Who has the floor. */
  floor(floor: Floor): void {
    this.#set({ floor });
  }

  /** @param now milliseconds of any clock that `heard` uses, too @returns what is to be done */
  onEvent(event: ServerEvent, now: number): TalkEffect[] {
    const id = event.item_id ?? '';
    switch (event.type) {
      case 'input_audio_buffer.speech_started':
        this.#turn(id, 'caller');
        this.floor('caller');
        return [{ kind: 'stop_agent' }];
      case 'input_audio_buffer.speech_stopped':
        this.floor('listening');
        break;
      case 'conversation.item.input_audio_transcription.delta':
        this.#add(id, 'caller', event.delta ?? '');
        break;
      case 'conversation.item.input_audio_transcription.completed':
        this.#settle(id, 'caller', event.transcript ?? '');
        break;
      case 'conversation.item.added': {
        const part = event.item?.content?.[0];
        if (event.item?.role === 'user' && part?.type === 'input_text')
          this.#settle(event.item.id, 'caller', part.text ?? '');
        break;
      }
      case 'input_audio_buffer.dtmf_event_received': {
        this.#keysTurn ??= event.event_id ?? `keys-${now}`;
        const before = this.#find(this.#keysTurn)?.text ?? 'Keys: ';
        this.#settle(this.#keysTurn, 'caller', `${before}${event.event ?? ''}`);
        break;
      }
      case 'response.created':
        this.#keysTurn = null;
        this.#respondedAt = now;
        this.floor('thinking');
        break;
      case 'response.output_audio_transcript.delta':
      case 'response.output_text.delta':
        if (!this.#firstWordAt.has(id)) this.#firstWordAt.set(id, now);
        this.#agentBegins(id);
        this.#add(id, 'agent', event.delta ?? '');
        break;
      case 'response.output_audio.delta':
        if (!this.#firstSoundAt.has(id)) this.#firstSoundAt.set(id, now);
        return [{ kind: 'play', item: id, audio: event.delta ?? '' }];
      case 'response.output_item.done':
      case 'conversation.item.retrieved':
        this.#agentItem(event.item);
        break;
      case 'conversation.item.truncated':
        return [{ kind: 'retrieve', item: id }];
      case 'response.done':
        if (event.response?.status === 'failed')
          this.say('The agent could not answer: a part of it failed. Say it again, or look at the call.');
        if (this.#snapshot.floor === 'thinking') this.floor('listening');
        break;
      case 'error':
        // Of those that say something to a person.
        if (event.error && event.error.code !== 'conversation_already_has_active_response')
          this.say(event.error.message);
        break;
    }
    return [];
  }

  /** A voice that turned out to say nothing leaves no turn. */
  dropSilent(): void {
    this.#set({
      turns: this.#snapshot.turns.filter(
        (turn) => !(turn.who === 'caller' && turn.coming && turn.text === ''),
      ),
    });
  }

  /** The caller has stopped the agent while this item was heard. */
  stopped(item: string): void {
    this.#stoppedItem = item;
    this.#callerTurns = 0;
    this.#change(item, { cut: 'interrupted' });
  }

  /**
   * The first sound of an item is heard.
   * @param askedAt when the caller's last sound or key was; -Infinity: there was none
   */
  heard(item: string, askedAt: number, now: number): void {
    this.#turn(item, 'agent');
    if (this.#callerTurns > 0 && Number.isFinite(askedAt)) {
      const reached = [this.#respondedAt, this.#firstWordAt.get(item), this.#firstSoundAt.get(item), now];
      this.#change(item, { latency: latencyOf(askedAt, reached) });
    }
    this.#callerTurns = 0;
    this.floor('agent');
  }

  #agentBegins(item: string): void {
    if (this.#find(item)) return;
    if (this.#stoppedItem !== null && this.#callerTurns === 0)
      this.#change(this.#stoppedItem, { cut: 'goes_on' });
    this.#stoppedItem = null;
  }

  #agentItem(item: ServerEvent['item']): void {
    const part = item?.content?.[0];
    if (item?.role !== 'assistant' || !part || !this.#find(item.id)) return;
    const text = part.transcript ?? part.text ?? '';
    if (text === '') this.#set({ turns: this.#snapshot.turns.filter(({ id }) => id !== item.id) });
    else this.#change(item.id, { text, coming: false });
  }

  #settle(id: string, who: TalkTurn['who'], text: string): void {
    this.#turn(id, who);
    this.#change(id, { text, coming: false });
    if (who === 'caller') this.#callerTurns++;
  }

  #add(id: string, who: TalkTurn['who'], delta: string): void {
    this.#turn(id, who);
    this.#change(id, { text: (this.#find(id)?.text ?? '') + delta });
  }

  #find(id: string): TalkTurn | undefined {
    return this.#snapshot.turns.find((turn) => turn.id === id);
  }

  #turn(id: string, who: TalkTurn['who']): void {
    if (this.#find(id)) return;
    const turn: TalkTurn = { id, who, text: '', coming: true, cut: null, latency: null };
    this.#set({ turns: [...this.#snapshot.turns, turn] });
  }

  #change(id: string, change: Partial<TalkTurn>): void {
    this.#set({
      turns: this.#snapshot.turns.map((turn) => (turn.id === id ? { ...turn, ...change } : turn)),
    });
  }

  #set(change: Partial<TalkSnapshot>): void {
    this.#snapshot = { ...this.#snapshot, ...change };
    for (const listener of this.#listeners) listener();
  }
}

/** @param reached when each part was over; they add up to the whole */
function latencyOf(from: number, reached: readonly (number | undefined)[]): TalkLatency {
  let before = 0;
  const parts = PARTS.flatMap((part, at) => {
    const until = Math.max(before, Math.round((reached[at] ?? from) - from));
    const ms = until - before;
    before = until;
    return ms > 0 ? [{ part, ms }] : [];
  });
  return { total: before, parts, saved: 0 };
}
