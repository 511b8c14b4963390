import { bytesPerMs } from '@parley/shared/audio/audio-frame';
import type { Clock } from '@parley/shared/time/clock';
import type { CallSteering } from '../call/call.ts';
import type { RealtimeParticipant } from '../participants/realtime-participant.ts';
import type { SttTranscript } from '../providers/stt/stt-provider.ts';
import type { ConversationItems, Item } from './conversation-items.ts';
import type { EventSender } from './event-sender.ts';
import type { SessionSettings } from './session-settings.ts';
import { toAudioFormat } from './wire-format.ts';

/** Caller audio may run this far ahead of the clock: clients may send what they recorded before. */
const MAX_AHEAD_MS = 300_000;
/** Least audio of an utterance that the client commits or sends in an item. */
const MIN_COMMIT_MS = 100;

/** A voice: the one that is heard now, or the one that the next turn belongs to. */
interface Speech {
  itemId: string;
  startMs: number;
  /** Whether the voice was announced to the client. */
  announced: boolean;
  /** Words that were sent as deltas. */
  delta: string;
}

/** What the caller says, as the protocol has it: the input audio buffer, voices in it, and what becomes of them. */
export class CallerAudio {
  readonly #events: EventSender;
  readonly #items: ConversationItems;
  readonly #settings: SessionSettings;
  readonly #participant: Pick<RealtimeParticipant, 'receive'>;
  readonly #clock: Clock;
  readonly #startedAt: number;
  #speech: Speech | undefined;
  /** Pushed audio that was committed and whose text is to come. */
  #pushed: { item: Item; audioMs: number } | undefined;
  #receivedMs = 0;
  #committedAtMs = 0;

  constructor(deps: {
    events: EventSender;
    items: ConversationItems;
    settings: SessionSettings;
    participant: Pick<RealtimeParticipant, 'receive'>;
    clock: Clock;
    /** When the client connected, monotonic ms. */
    startedAt: number;
  }) {
    this.#events = deps.events;
    this.#items = deps.items;
    this.#settings = deps.settings;
    this.#participant = deps.participant;
    this.#clock = deps.clock;
    this.#startedAt = deps.startedAt;
  }

  // ---- from the client ----

  /** @param bytes in the session's input format. Much more than can be heard ends the call. */
  append(bytes: Uint8Array, call: CallSteering): void {
    const format = toAudioFormat(this.#settings.inputFormat);
    this.#receivedMs += bytes.length / bytesPerMs(format);
    if (this.#receivedMs - (this.#clock.monotonic() - this.#startedAt) > MAX_AHEAD_MS) {
      this.#events.error({
        code: 'rate_limit_exceeded',
        message: 'More than 300 seconds of audio ahead of real time. Send audio no faster than it is spoken.',
        param: null,
        event_id: null,
      });
      call.end({ ended_by: 'caller', hangup_reason: 'caller_hangup' });
      return;
    }
    this.#participant.receive(bytes, format);
  }

  /** Commits the caller's audio for the client. @returns false when there was too little to commit */
  commit(call: CallSteering): boolean {
    const audioMs = this.#receivedMs - this.#committedAtMs;
    const taken = call.commitCallerAudio();
    const { listen } = this.#settings.turns;
    if (audioMs < MIN_COMMIT_MS || (!taken && !listen)) return false;
    this.#committedAtMs = this.#receivedMs;
    // With turn detection, the turn is sent when its words are known.
    if (!listen) this.#push(this.#events.newId('item'), audioMs);
    return true;
  }

  /** Audio that was appended for an item of its own. @returns false when there was too little to commit */
  commitItem(itemId: string, call: CallSteering): boolean {
    const audioMs = this.#receivedMs - this.#committedAtMs;
    if (!call.commitCallerAudio()) return false;
    this.#committedAtMs = this.#receivedMs;
    this.#push(itemId, audioMs);
    return true;
  }

  clear(call: CallSteering): void {
    call.clearCallerAudio();
    this.#committedAtMs = this.#receivedMs;
    this.#events.send({ type: 'input_audio_buffer.cleared' });
  }

  // ---- from the call ----

  /** @param audioMs caller audio received by then */
  speechStarted(audioMs: number): void {
    this.#speech ??= {
      itemId: this.#events.newId('item'),
      startMs: Math.max(0, Math.round(audioMs - this.#settings.prefixPaddingMs)),
      announced: false,
      delta: '',
    };
  }

  /** Announces the voice, if there is one: the client then stops playing. */
  announceSpeech(): void {
    const speech = this.#speech;
    if (!speech || speech.announced) return;
    speech.announced = true;
    this.#events.send({
      type: 'input_audio_buffer.speech_started',
      audio_start_ms: speech.startMs,
      item_id: speech.itemId,
    });
  }

  /** The voice ended without words. */
  speechForgotten(audioMs: number): void {
    this.#speechStopped(audioMs);
    this.#speech = undefined;
  }

  interim({ text }: SttTranscript): void {
    const speech = this.#speech;
    // Deltas cannot be taken back: only what goes on from what was sent is sent.
    if (!speech || text.length <= speech.delta.length || !text.startsWith(speech.delta)) return;
    const delta = text.slice(speech.delta.length);
    speech.delta = text;
    this.#events.send({
      type: 'conversation.item.input_audio_transcription.delta',
      item_id: speech.itemId,
      content_index: 0,
      delta,
    });
  }

  /** The caller's turn, or words that took none. @param key what the call knows it by */
  turn({ key, text, audioEndMs }: { key: string | undefined; text: string; audioEndMs: number }): void {
    this.#speechStopped(audioEndMs);
    const item = audioItem(this.#speech?.itemId ?? this.#events.newId('item'));
    item.key = key;
    const audioMs = audioEndMs - (this.#speech?.startMs ?? audioEndMs);
    this.#speech = undefined;
    this.#committedAtMs = this.#receivedMs;
    this.#announceItem(item);
    this.#transcribe(item, text, audioMs);
  }

  /** The words of a turn; of the pushed one where there is one. */
  committedTurn(turn: { key: string | undefined; text: string; audioEndMs: number }): void {
    const pushed = this.#pushed;
    this.#pushed = undefined;
    if (!pushed) {
      this.turn(turn);
      return;
    }
    pushed.item.key = turn.key;
    this.#transcribe(pushed.item, turn.text, pushed.audioMs);
  }

  // ---- inside ----

  /** Push to talk: the item is there at once, its words come later. */
  #push(itemId: string, audioMs: number): void {
    const item = audioItem(itemId);
    this.#pushed = { item, audioMs };
    this.#announceItem(item);
  }

  #announceItem(item: Item): void {
    const previous = this.#items.append(item);
    this.#events.send({
      type: 'input_audio_buffer.committed',
      item_id: item.id,
      previous_item_id: previous,
    });
    this.#events.item(item, previous);
  }

  #transcribe(item: Item, transcript: string, audioMs: number): void {
    item.content = [{ type: 'input_audio', transcript }];
    this.#events.send({
      type: 'conversation.item.input_audio_transcription.completed',
      item_id: item.id,
      content_index: 0,
      transcript,
      usage: { type: 'duration', seconds: Math.max(0, audioMs) / 1000 },
    });
  }

  #speechStopped(audioMs: number): void {
    const speech = this.#speech;
    if (!speech?.announced) return;
    this.#events.send({
      type: 'input_audio_buffer.speech_stopped',
      audio_end_ms: Math.max(speech.startMs, Math.round(audioMs)),
      item_id: speech.itemId,
    });
  }
}

/** An utterance whose words are not known yet. */
function audioItem(id: string): Item {
  const content: Item['content'] = [{ type: 'input_audio', transcript: null }];
  return { id, type: 'message', status: 'completed', role: 'user', content };
}
