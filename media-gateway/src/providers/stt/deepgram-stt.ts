import { backoffMs } from '@parley/shared/async/backoff';
import { bytesPerMs, silence } from '@parley/shared/audio/audio-frame';
import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import type { PlanProvider } from '@parley/shared/contracts/session-plan';
import { ProviderError } from '@parley/shared/errors/provider-error';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock, Timer } from '@parley/shared/time/clock';
import { ProviderSocket, QuickFailures, socketUrl } from '../provider-socket.ts';
import type { SocketAgents, SocketEnd } from '../provider-socket.ts';
import { AudioRing } from './audio-ring.ts';
import { FluxTurns } from './flux-turns.ts';
import type { ListenTurns } from './listen-turns.ts';
import { NovaTurns } from './nova-turns.ts';
import type { SttListener, SttOptions, SttProvider, SttStream } from './stt-provider.ts';
import type { SttDescriptor } from '../provider-factory.ts';

export interface DeepgramDeps {
  agents: SocketAgents;
  clock: Clock;
  logger: Logger;
  /** A provider that drops this many connections in a row, each younger than 5 s, is given up. */
  maxQuickFailures?: number;
}

const NAME = 'deepgram';
const ENCODINGS = { pcmu: 'mulaw', pcma: 'alaw', pcm16: 'linear16' } as const;
/** Audio kept for a connection that is not there yet, or not any more: what was said until one is taken for deaf. */
const REPLAY_MS = 8000;
/** Audio that has waited goes out in pieces of at most this: the vendor advises 20 to 250 ms. */
const PIECE_MS = 200;
/** Silence of our making, where a connection has had no audio yet. */
const FIRST_SILENCE_MS = 100;
const TICK_MS = 1000;
/** Ticks without audio before a `KeepAlive` or ping: the vendor advises every 3 to 5 s. */
const KEEP_ALIVE_TICKS = 4;
/** Ticks with audio and without any answer before a connection is taken for deaf: during speech, and in silence. */
const DEAF_TICKS_SPEECH = 5;
const DEAF_TICKS_SILENCE = 20;
/** Half a minute of mu-law: a link that does not take this is no link. */
const MAX_BUFFERED_BYTES = 256 * 1024;
const DEFAULT_ENDPOINTING_MS = 300;
const UTTERANCE_END_MS = 1000;
const EAGER_THRESHOLD = 0.5;

/** Parameters an installation may set for a model, beside those the call decides. */
const NOVA_OPTIONS = [
  'version',
  'utterance_end_ms',
  'smart_format',
  'no_delay',
  'punctuate',
  'numerals',
  'profanity_filter',
  'filler_words',
  'dictation',
  'redact',
  'replace',
  'mip_opt_out',
  'tag',
];
const FLUX_OPTIONS = [
  'eot_threshold',
  'eager_eot_threshold',
  'eot_timeout_ms',
  'language_hint',
  'numerals',
  'profanity_filter',
  'redact',
  'mip_opt_out',
  'tag',
];

export const deepgram: SttDescriptor = (shared) => ({ make: (plan) => new DeepgramStt(plan, shared) });

/**
 * Deepgram's live recognition: `/v1/listen` (Nova and older) and, for models named `flux-…`, `/v2/listen`.
 * Audio is passed on as it comes, frame by frame but where frames may wait for each other.
 */
export class DeepgramStt implements SttProvider {
  readonly name = NAME;
  readonly #plan: PlanProvider;
  readonly #deps: DeepgramDeps;

  constructor(plan: PlanProvider, deps: DeepgramDeps) {
    this.#plan = plan;
    this.#deps = deps;
  }

  open(options: SttOptions, listener: SttListener): SttStream {
    return new DeepgramStream(this.#plan, this.#deps, options, listener);
  }
}

class DeepgramStream implements SttStream {
  readonly #plan: PlanProvider;
  readonly #deps: DeepgramDeps;
  readonly #listener: SttListener;
  readonly #format: AudioFormat;
  readonly #bytesPerMs: number;
  readonly #sampleBytes: number;
  readonly #pieceBytes: number;
  readonly #isFlux: boolean;
  readonly #url: URL;
  readonly #turns: ListenTurns;
  readonly #ring: AudioRing;
  readonly #failures: QuickFailures;
  #socket: ProviderSocket | undefined;
  /** What the connection's clock lacks to the stream's: it starts at 0, and counts silence that we made up. */
  #offsetMs = 0;
  #heard = false;
  /** Up to where in the ring the connection has been given the audio. */
  #sentTo = 0;
  #sentAtTick = 0;
  #quietTicks = 0;
  #deafTicks = 0;
  #tickTimer: Timer | undefined;
  #retryTimer: Timer | undefined;
  /** The end of a turn was asked for, and nothing has come since. */
  #asked = false;
  #closing: Promise<void> | undefined;
  #over = false;

  constructor(plan: PlanProvider, deps: DeepgramDeps, options: SttOptions, listener: SttListener) {
    this.#plan = plan;
    this.#deps = deps;
    this.#listener = listener;
    this.#format = options.format;
    this.#bytesPerMs = bytesPerMs(options.format);
    this.#sampleBytes = options.format.encoding === 'pcm16' ? 2 : 1;
    this.#pieceBytes = Math.ceil((PIECE_MS * options.format.sampleRate) / 1000) * this.#sampleBytes;
    this.#isFlux = plan.model.startsWith('flux-');
    const query = this.#isFlux ? fluxQuery(plan, options, listener) : novaQuery(plan, options);
    this.#url = socketUrl(plan.base_url, this.#isFlux ? '/v2/listen' : '/v1/listen', query);
    this.#turns = this.#isFlux
      ? new FluxTurns(listener, deps.clock, plan.options['force_end_turn'] === true)
      : new NovaTurns(listener, deps.clock);
    const samples = Math.ceil((REPLAY_MS * options.format.sampleRate) / 1000);
    this.#ring = new AudioRing(samples * this.#sampleBytes);
    this.#failures = new QuickFailures(
      deps.maxQuickFailures === undefined ? {} : { limit: deps.maxQuickFailures },
    );
    this.#connect();
    this.#armTick();
  }

  write(bytes: Uint8Array, mayWait = false): void {
    // A frame without bytes would end the stream.
    if (this.#over || bytes.length === 0) return;
    const waited = this.#sentTo < this.#ring.end;
    this.#ring.write(bytes);
    if (mayWait) return;
    if (waited) this.#sendWaiting();
    else if (this.#send(bytes)) this.#sentTo = this.#ring.end;
  }

  finalize(): void {
    if (this.#over) return;
    this.#sendWaiting();
    this.#asked = true;
    this.#turns.finalize((message) => void this.#socket?.send(JSON.stringify(message)));
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #close(): Promise<void> {
    this.#sendWaiting();
    this.#stop();
    this.#socket?.send('{"type":"CloseStream"}');
    return this.#socket?.[Symbol.asyncDispose]() ?? Promise.resolve();
  }

  #stop(): void {
    this.#over = true;
    this.#tickTimer?.cancel();
    this.#retryTimer?.cancel();
    this.#turns.dispose();
  }

  #connect(): void {
    const { agents, clock } = this.#deps;
    const { credential } = this.#plan;
    this.#socket = new ProviderSocket(
      {
        provider: NAME,
        url: this.#url,
        headers: () => (credential ? { authorization: `Token ${credential.reveal()}` } : {}),
        agents,
        clock,
        maxBufferedBytes: MAX_BUFFERED_BYTES,
      },
      {
        onOpen: () => this.#onOpen(),
        onMessage: (data, isBinary) => this.#onMessage(data, isBinary),
        onClosed: (end) => this.#onClosed(end),
      },
    );
  }

  #onOpen(): void {
    const wanted = this.#turns.restart(this.#ring.start / this.#bytesPerMs);
    const bytes = Math.round(wanted * this.#bytesPerMs);
    const from = Math.min(this.#ring.end, Math.max(this.#ring.start, bytes - (bytes % this.#sampleBytes)));
    this.#offsetMs = from / this.#bytesPerMs;
    this.#deafTicks = 0;
    this.#asked = false;
    this.#sentTo = from;
    this.#sendWaiting();
  }

  /** Sends what the connection has not been given yet. */
  #sendWaiting(): void {
    for (const piece of this.#ring.read(this.#sentTo, this.#pieceBytes)) if (!this.#send(piece)) return;
    this.#sentTo = this.#ring.end;
  }

  /** @returns false when there is no connection, or it does not get rid of what it was given */
  #send(bytes: Uint8Array): boolean {
    const socket = this.#socket;
    if (!socket?.isOpen) return false;
    const sent = socket.send(bytes);
    if (!sent) socket.fail('timeout', 'the connection accepts no more audio');
    return sent;
  }

  /** Whether this connection has had audio, or silence of our making. */
  get #sentAny(): boolean {
    return this.#sentTo / this.#bytesPerMs > this.#offsetMs;
  }

  #onMessage(data: Buffer, isBinary: boolean): void {
    this.#heard = true;
    this.#asked = false;
    if (this.#over || isBinary) return;
    try {
      const message: unknown = JSON.parse(data.toString());
      if (typeof message !== 'object' || message === null) return;
      const { type, code } = message as { type?: unknown; code?: unknown };
      if (type === 'Error') {
        const word = typeof code === 'string' && /^\w{1,64}$/.test(code) ? code : 'no code';
        this.#socket!.fail('unavailable', `the provider reported an error (${word})`);
        return;
      }
      this.#turns.read(message, this.#offsetMs);
    } catch (error) {
      // The next message says it again, or more.
      this.#deps.logger.warn(
        { provider: NAME, bytes: data.length, reason: (error as Error).name },
        'the STT provider sent an invalid message',
      );
    }
  }

  #onClosed(end: SocketEnd): void {
    this.#socket = undefined;
    if (this.#over) return;
    const refused = end.status !== undefined && end.status < 500;
    if (refused || end.reason.startsWith('DATA-0000')) {
      this.#fail(refused ? end.error : new ProviderError(NAME, 'protocol', 'the audio could not be decoded'));
      return;
    }
    if (this.#failures.add(end.aliveMs)) {
      this.#fail(end.error);
      return;
    }
    const attempt = this.#failures.count;
    this.#deps.logger.warn(
      { provider: NAME, code: end.code, attempt, err: end.error },
      'the connection to the STT provider was lost',
    );
    const waitMs = attempt === 0 ? 0 : backoffMs(attempt - 1, { firstMs: 200, maxMs: 2000 });
    this.#retryTimer = this.#deps.clock.setTimeout(() => this.#connect(), waitMs);
  }

  #fail(error: ProviderError): void {
    this.#stop();
    this.#listener.onFailed(error);
  }

  #armTick(): void {
    this.#tickTimer = this.#deps.clock.setTimeout(() => {
      this.#tick();
      if (!this.#over) this.#armTick();
    }, TICK_MS);
  }

  /** Watches once a second, so that a frame of audio costs nothing beside its sending. */
  #tick(): void {
    const sent = this.#ring.end > this.#sentAtTick;
    const heard = this.#heard;
    this.#sentAtTick = this.#ring.end;
    this.#heard = false;
    this.#quietTicks = sent ? 0 : this.#quietTicks + 1;
    if (!this.#socket?.isOpen) return;
    if (!sent) this.#sendWaiting();
    if (heard) this.#deafTicks = 0;
    else if (sent) this.#deafTicks += 1;
    const owesAnswer = this.#turns.open || this.#asked;
    if (this.#deafTicks >= (owesAnswer ? DEAF_TICKS_SPEECH : DEAF_TICKS_SILENCE)) {
      this.#socket.fail('timeout', 'no answer came to the audio sent');
    } else if (!sent) {
      this.#holdQuietConnection(this.#socket);
    }
  }

  #holdQuietConnection(socket: ProviderSocket): void {
    const due = this.#quietTicks % KEEP_ALIVE_TICKS === 0;
    if (this.#isFlux) {
      // Pings of the socket hold it; but a turn ends only when time passes in the audio.
      if (this.#turns.open) this.#sendSilence(socket, TICK_MS);
    } else if (due && !this.#sentAny) {
      // `KeepAlive` may not hold a connection that never had audio.
      this.#sendSilence(socket, FIRST_SILENCE_MS);
    } else if (due) {
      socket.send('{"type":"KeepAlive"}');
    }
  }

  /** Silence of our own making moves the connection's clock on, the stream's not. */
  #sendSilence(socket: ProviderSocket, ms: number): void {
    if (socket.send(silence(this.#format, ms))) this.#offsetMs -= ms;
  }
}

function novaQuery(plan: PlanProvider, options: SttOptions): URLSearchParams {
  const query = new URLSearchParams({
    model: plan.model,
    language: languageOption(plan) ?? (listensToAll(plan, options) ? 'multi' : options.language),
    encoding: ENCODINGS[options.format.encoding],
    sample_rate: String(options.format.sampleRate),
    channels: '1',
    interim_results: 'true',
    endpointing: String(options.endpointingMs ?? DEFAULT_ENDPOINTING_MS),
    utterance_end_ms: String(UTTERANCE_END_MS),
    vad_events: 'true',
    punctuate: 'true',
  });
  // Only Nova-3 knows keyterms, and it refuses what was there before.
  const name = plan.model.startsWith('nova-3') ? 'keyterm' : 'keywords';
  for (const keyword of options.keywords) query.append(name, keyword);
  applyOptions(query, plan, NOVA_OPTIONS);
  return query;
}

function fluxQuery(plan: PlanProvider, options: SttOptions, listener: SttListener): URLSearchParams {
  const query = new URLSearchParams({
    model: plan.model,
    encoding: ENCODINGS[options.format.encoding],
    sample_rate: String(options.format.sampleRate),
  });
  if (listener.onEagerTurnEnd) query.set('eager_eot_threshold', String(EAGER_THRESHOLD));
  if (plan.model === 'flux-general-multi')
    for (const language of new Set((options.among ?? [options.language]).map(baseOf)))
      query.append('language_hint', language);
  for (const keyword of options.keywords) query.append('keyterm', keyword);
  applyOptions(query, plan, FLUX_OPTIONS);
  return query;
}

function applyOptions(query: URLSearchParams, plan: PlanProvider, known: readonly string[]): void {
  for (const name of known) {
    const value = plan.options[name];
    if (value === undefined) continue;
    query.delete(name);
    // Null takes a default of ours back.
    if (value === null) continue;
    for (const one of Array.isArray(value) ? (value as unknown[]) : [value]) query.append(name, String(one));
  }
}

/** Languages of Nova-3's `language=multi`, which tells what was spoken. */
const NOVA_3_MULTI = new Set(['en', 'es', 'fr', 'de', 'hi', 'ru', 'pt', 'ja', 'it', 'nl']);

function listensToAll({ model }: PlanProvider, { among = [] }: SttOptions): boolean {
  return (
    model.startsWith('nova-3') && among.length > 1 && among.every((tag) => NOVA_3_MULTI.has(baseOf(tag)))
  );
}

function baseOf(tag: string): string {
  return tag.split('-', 1)[0]!.toLowerCase();
}

/** `multi`, for example: a way of listening rather than the agent's language. */
function languageOption(plan: PlanProvider): string | undefined {
  const language = plan.options['language'];
  return typeof language === 'string' ? language : undefined;
}
