import type { Ears, HeardWord } from '../../recogniser/ears.ts';
import { checkThresholds, QueryError } from './listen-query.ts';
import type { FluxQuery, FluxThresholds } from './listen-query.ts';
import type { WireMessage } from './send-queue.ts';

export interface FluxTiming {
  /** Audio between two `Update`s. */
  updateEveryMs: number;
  /** Voice before `StartOfTurn`, beside a first word. */
  startOfTurnMs: number;
  /** Silence after which a turn's end has the confidence 0.7, the default threshold. Drawn anew for each turn. */
  endOfTurnMs: () => number;
  /** Whether `Update` goes on, empty, between turns. */
  idleUpdates: boolean;
}

/** Told of each utterance, and able to withhold its end. */
export interface TurnWatch {
  startUtterance(): void;
  readonly withholdsEnd: boolean;
}

type FluxEvent = 'Update' | 'StartOfTurn' | 'EagerEndOfTurn' | 'TurnResumed' | 'EndOfTurn';

/** One connection of `/v2/listen`: the turn state machine idle, ongoing, awaiting. */
export class FluxSession {
  #ears: Ears | undefined;
  readonly #query: FluxQuery;
  readonly #timing: FluxTiming;
  readonly #turns: TurnWatch;
  readonly #send: (message: WireMessage) => void;
  /** As the client configured it last. */
  #configuration: Pick<FluxQuery, 'thresholds' | 'keyterms' | 'languageHints'>;
  #state: 'idle' | 'ongoing' | 'awaiting' = 'idle';
  #turnIndex = 0;
  #turnStartMs = 0;
  #lastMessageMs = 0;
  #endOfTurnMs: number;
  #eagerTranscript = '';
  #utterance = 0;
  #sentWords = 0;
  #drawn = false;

  /** @param options.send adds what every message carries */
  constructor(options: {
    query: FluxQuery;
    timing: FluxTiming;
    turns: TurnWatch;
    send: (message: WireMessage) => void;
  }) {
    this.#query = options.query;
    this.#timing = options.timing;
    this.#turns = options.turns;
    this.#send = options.send;
    this.#configuration = options.query;
    this.#endOfTurnMs = options.timing.endOfTurnMs();
  }

  /** Listens from now on. */
  hear(ears: Ears): void {
    this.#ears = ears;
    ears.onTick = () => this.#tick(ears);
  }

  configure(message: Record<string, unknown>): void {
    try {
      const given = (message['thresholds'] ?? {}) as Partial<FluxThresholds>;
      const { thresholds, keyterms, languageHints } = this.#configuration;
      this.#configuration = {
        thresholds: checkThresholds({ ...thresholds, ...given }),
        keyterms: stringList(message['keyterms'], 'keyterms') ?? keyterms,
        languageHints: stringList(message['language_hints'], 'language_hints') ?? languageHints,
      };
    } catch (error) {
      if (!(error instanceof QueryError)) throw error;
      this.#send({
        type: 'ConfigureFailure',
        error_code: 'INVALID_CONFIGURATION',
        description: error.message,
      });
      return;
    }
    this.#send({
      type: 'ConfigureSuccess',
      thresholds: this.#configuration.thresholds,
      keyterms: this.#configuration.keyterms,
      ...(this.#query.model === 'flux-general-multi'
        ? { language_hints: this.#configuration.languageHints }
        : {}),
    });
  }

  forceEndTurn(): void {
    if (this.#state !== 'idle') this.#endTurn('manual');
  }

  /** Tells what is left before the connection closes; a turn that is still open stays open. */
  finish(): void {
    if (this.#state !== 'idle') this.#turnInfo('Update');
  }

  #tick(ears: Ears): void {
    const { atMs, lastVoicedMs, onsetMs } = ears;
    const silenceMs = atMs - lastVoicedMs;
    if (silenceMs === 0 && this.#state === 'idle' && !this.#drawn) {
      this.#drawn = true;
      this.#turns.startUtterance();
    }
    if (this.#state === 'idle') {
      // A new turn opens with its first words: noise alone opens none.
      const began = atMs - onsetMs >= this.#timing.startOfTurnMs;
      if (silenceMs < this.#endOfTurnMs && began && this.#words().length > 0) {
        this.#state = 'ongoing';
        this.#turnStartMs = Math.max(this.#turnStartMs, onsetMs);
        this.#turnInfo('StartOfTurn');
      } else if (silenceMs >= this.#endOfTurnMs) {
        this.#drawn = false;
      }
    } else if (silenceMs === 0 && this.#state === 'awaiting') {
      this.#resume();
    } else if (silenceMs >= this.#configuration.thresholds.eot_timeout_ms) {
      this.#endTurn('timeout');
    } else if (silenceMs >= this.#silenceFor(this.#configuration.thresholds.eot_threshold)) {
      this.#endTurn('model');
    } else if (
      this.#state === 'ongoing' &&
      silenceMs >= this.#silenceFor(this.#configuration.thresholds.eager_eot_threshold)
    ) {
      this.#state = 'awaiting';
      this.#eagerTranscript = this.#transcript();
      this.#turnInfo('EagerEndOfTurn');
    }
    const due = this.#state !== 'idle' || this.#timing.idleUpdates;
    if (due && atMs - this.#lastMessageMs >= this.#timing.updateEveryMs) this.#turnInfo('Update');
  }

  #resume(): void {
    this.#state = 'ongoing';
    this.#turnInfo('TurnResumed');
  }

  #endTurn(trigger: 'model' | 'manual' | 'timeout'): void {
    if (this.#turns.withholdsEnd) return;
    this.#ears?.endUtterance();
    // A speculative answer to the eager end may be kept only if the words are the same.
    if (this.#state === 'awaiting' && this.#transcript() !== this.#eagerTranscript) this.#resume();
    this.#turnInfo('EndOfTurn', trigger);
    this.#state = 'idle';
    this.#drawn = false;
    this.#turnIndex += 1;
    this.#sentWords += this.#words().length;
    this.#turnStartMs = this.#ears?.atMs ?? 0;
    this.#endOfTurnMs = this.#timing.endOfTurnMs();
  }

  /** Confidence grows with silence as 1 - 0.3^(silence / endOfTurnMs). */
  #silenceFor(confidence: number | null): number {
    if (confidence === null || confidence >= 1) return Infinity;
    return (this.#endOfTurnMs * Math.log(1 - confidence)) / Math.log(0.3);
  }

  #words(): readonly HeardWord[] {
    if (!this.#ears) return [];
    if (this.#ears.utterance !== this.#utterance) {
      this.#utterance = this.#ears.utterance;
      this.#sentWords = 0;
    }
    return this.#ears.words().slice(this.#sentWords);
  }

  #transcript(): string {
    return this.#words()
      .map(({ text }) => text)
      .join(' ');
  }

  #turnInfo(event: FluxEvent, trigger?: string): void {
    if (!this.#ears) return;
    const { atMs, lastVoicedMs } = this.#ears;
    this.#lastMessageMs = atMs;
    const words = this.#state === 'idle' ? [] : this.#words();
    const silenceMs = Math.max(0, atMs - lastVoicedMs);
    const confidence = this.#state === 'idle' ? 0 : 1 - 0.3 ** (silenceMs / Math.max(1, this.#endOfTurnMs));
    this.#send({
      type: 'TurnInfo',
      event,
      turn_index: this.#turnIndex,
      audio_window_start: this.#turnStartMs / 1000,
      audio_window_end: atMs / 1000,
      transcript: words.map(({ text }) => text).join(' '),
      words: words.map((word) => ({
        word: word.text,
        confidence: word.confidence,
        start: word.startMs / 1000,
        end: word.endMs / 1000,
      })),
      end_of_turn_confidence: Math.round(Math.min(1, confidence) * 10_000) / 10_000,
      ...(trigger ? { trigger } : {}),
      ...(this.#query.model === 'flux-general-multi'
        ? { languages: ['en'], languages_hinted: this.#configuration.languageHints }
        : {}),
    });
  }
}

function stringList(value: unknown, name: string): string[] | undefined {
  if (value === undefined) return undefined;
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value as string[];
  throw new QueryError(`${name} must be a list of strings.`);
}
