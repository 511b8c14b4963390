import { createHash } from 'node:crypto';
import type { PlanProvider } from '@parley/shared/contracts/session-plan';
import { ProviderError } from '@parley/shared/errors/provider-error';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock, Timer } from '@parley/shared/time/clock';
import { ProviderSocket, socketUrl } from '../provider-socket.ts';
import type { SocketAgents, SocketEnd } from '../provider-socket.ts';
import { parseMessage } from './elevenlabs-messages.ts';
import type { Alignment } from './elevenlabs-messages.ts';

export interface PoolDeps {
  agents: SocketAgents;
  clock: Clock;
  logger: Logger;
}

/** What a context is told. After `onFinal` or `onFailed` nothing more comes. */
export interface ContextListener {
  /** @param audio base64 */
  onAudio(audio: string, alignment: Alignment | undefined): void;
  /** The provider has sent everything. */
  onFinal(): void;
  onFailed(error: ProviderError): void;
}

export const ELEVENLABS = 'elevenlabs';
/** One more, and the provider closes the whole socket. */
const CONTEXTS_PER_SOCKET = 5;
const MAX_SOCKETS = 64;
const TICK_MS = 5000;
/** Half of the 20 s after which the provider gives a silent context or socket up. */
const KEEP_ALIVE_MS = 10_000;
/** A cancelled context that has not been confirmed by then makes its socket suspect. */
const CONFIRM_MS = 10_000;
const IDLE_SOCKET_MS = 60_000;
/** How long sockets outlive the last call that used them. */
const LINGER_MS = 30_000;
const MAX_QUEUED = 500;

/** Parameters of the socket an installation may set for a model. */
const SOCKET_OPTIONS = ['enable_logging', 'enable_ssml_parsing', 'apply_text_normalization', 'seed'];

/** All sockets of a process: calls that use the same voice in the same form share them. */
export class ElevenLabsPools {
  readonly #deps: PoolDeps;
  readonly #pools = new Map<string, VoicePool>();
  #disposing: Promise<void> | undefined;

  constructor(deps: PoolDeps) {
    this.#deps = deps;
  }

  /** Lends the pool of one voice, model, format and language. Give it back with `release`. */
  acquire(plan: PlanProvider, outputFormat: string): VoicePool {
    const key = poolKey(plan, outputFormat);
    let pool = this.#pools.get(key);
    if (!pool || pool.isDisposed) {
      const fresh: VoicePool = new VoicePool(this.#deps, plan, outputFormat, () => {
        if (this.#pools.get(key) === fresh) this.#pools.delete(key);
      });
      pool = fresh;
      this.#pools.set(key, pool);
    }
    pool.retain();
    return pool;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#disposing ??= Promise.all(
      [...this.#pools.values()].map((pool) => pool[Symbol.asyncDispose]()),
    ).then(() => undefined);
    return this.#disposing;
  }
}

function poolKey(plan: PlanProvider, outputFormat: string): string {
  const secret = createHash('sha256')
    .update(plan.credential?.reveal() ?? '')
    .digest('base64');
  const options = SOCKET_OPTIONS.map((name) => plan.options[name] ?? null);
  return JSON.stringify([
    plan.base_url,
    secret,
    plan.voice,
    plan.model,
    outputFormat,
    plan.language,
    options,
  ]);
}

/** The sockets of one voice. */
export class VoicePool {
  readonly #deps: PoolDeps;
  readonly #plan: PlanProvider;
  readonly #url: URL;
  readonly #onGone: () => void;
  readonly #sockets = new Set<VoiceSocket>();
  #users = 0;
  #contexts = 0;
  #unusedSinceMs = 0;
  #tickTimer: Timer | undefined;
  #disposing: Promise<void> | undefined;

  constructor(deps: PoolDeps, plan: PlanProvider, outputFormat: string, onGone: () => void) {
    this.#deps = deps;
    this.#plan = plan;
    this.#onGone = onGone;
    const query = new URLSearchParams({
      model_id: plan.model,
      output_format: outputFormat,
      auto_mode: 'true',
      sync_alignment: 'true',
    });
    // Models before v2.5 take the language from the text and refuse to be told.
    if (/_v2_5$|_v3/.test(plan.model)) query.set('language_code', plan.language.split('-')[0]!);
    for (const name of SOCKET_OPTIONS) {
      const value = plan.options[name];
      if (value !== undefined && value !== null) query.set(name, String(value));
    }
    const path = `/v1/text-to-speech/${encodeURIComponent(plan.voice ?? '')}/multi-stream-input`;
    this.#url = socketUrl(plan.base_url, path, query);
  }

  get isDisposed(): boolean {
    return this.#disposing !== undefined;
  }

  retain(): void {
    this.#users += 1;
  }

  release(): void {
    this.#users -= 1;
    this.#unusedSinceMs = this.#deps.clock.monotonic();
    this.#armTick();
  }

  /** Opens a connection unless one has room. */
  warm(): void {
    if (!this.#disposing && !this.#withRoom()) this.#connect();
  }

  /**
   * Opens a context on a socket that has room for it. Nothing is sent before its first text.
   * @returns undefined when there is no room for another socket either
   */
  open(settings: object, listener: ContextListener): VoiceContext | undefined {
    if (this.#disposing) return undefined;
    const socket = this.#withRoom() ?? this.#connect();
    if (!socket) return undefined;
    this.#contexts += 1;
    const context = new VoiceContext(`r${this.#contexts}`, settings, socket, listener, this.#deps.clock);
    socket.contexts.set(context.id, context);
    // The next reply shall not wait for a handshake.
    if (!this.#withRoom()) this.#connect();
    return context;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#disposing ??= this.#dispose();
    return this.#disposing;
  }

  async #dispose(): Promise<void> {
    this.#tickTimer?.cancel();
    await Promise.all([...this.#sockets].map((socket) => socket[Symbol.asyncDispose]()));
    this.#onGone();
  }

  /** The least used one, and rather one that is open already. */
  #withRoom(): VoiceSocket | undefined {
    let best: VoiceSocket | undefined;
    for (const socket of this.#sockets) {
      if (socket.retired || socket.contexts.size >= CONTEXTS_PER_SOCKET) continue;
      if (!best || preferable(socket, best)) best = socket;
    }
    return best;
  }

  #connect(): VoiceSocket | undefined {
    if (this.#sockets.size >= MAX_SOCKETS) return undefined;
    const socket = new VoiceSocket(this.#deps, this.#plan, this.#url, () => this.#sockets.delete(socket));
    this.#sockets.add(socket);
    this.#armTick();
    return socket;
  }

  #armTick(): void {
    if (this.#tickTimer || this.#disposing) return;
    this.#tickTimer = this.#deps.clock.setTimeout(() => {
      this.#tickTimer = undefined;
      this.#tick(this.#deps.clock.monotonic());
    }, TICK_MS);
  }

  #tick(nowMs: number): void {
    if (this.#users === 0 && nowMs - this.#unusedSinceMs >= LINGER_MS) {
      void this[Symbol.asyncDispose]();
      return;
    }
    let spare = 0;
    for (const socket of this.#sockets) {
      socket.tick(nowMs);
      if (socket.contexts.size > 0) continue;
      spare += 1;
      const surplus = spare > 1 && nowMs - socket.usedAtMs >= IDLE_SOCKET_MS;
      if (surplus || socket.retired) void socket[Symbol.asyncDispose]();
    }
    if (this.#sockets.size > 0 || this.#users === 0) this.#armTick();
  }
}

/** One `multi-stream-input` socket. What is sent before it is open waits for it. */
class VoiceSocket {
  readonly contexts = new Map<string, VoiceContext>();
  usedAtMs: number;
  /** Takes no new contexts: something is wrong with it, or it is going. */
  retired = false;
  readonly #deps: PoolDeps;
  readonly #socket: ProviderSocket;
  readonly #onGone: () => void;
  #queue: { id: string; message: string }[] = [];
  #sentAtMs = 0;
  #vendorError: string | undefined;

  constructor(deps: PoolDeps, plan: PlanProvider, url: URL, onGone: () => void) {
    this.#deps = deps;
    this.#onGone = onGone;
    this.usedAtMs = deps.clock.monotonic();
    const { credential } = plan;
    this.#socket = new ProviderSocket(
      {
        provider: ELEVENLABS,
        url,
        headers: () => (credential ? { 'xi-api-key': credential.reveal() } : {}),
        agents: deps.agents,
        clock: deps.clock,
      },
      {
        onOpen: () => this.#onOpen(),
        onMessage: (data, isBinary) => this.#onMessage(data, isBinary),
        onClosed: (end) => this.#onClosed(end),
      },
    );
  }

  get isOpen(): boolean {
    return this.#socket.isOpen;
  }

  send(id: string, message: object): void {
    const text = JSON.stringify(message);
    this.#sentAtMs = this.#deps.clock.monotonic();
    if (this.#socket.isOpen) {
      if (!this.#socket.send(text)) this.#socket.fail('timeout', 'the connection accepts no more text');
    } else if (this.#queue.length < MAX_QUEUED) {
      this.#queue.push({ id, message: text });
    } else {
      this.#socket.fail('timeout', 'the connection could not be opened');
    }
  }

  /** Takes back what the provider has not been told yet. @returns false when it has been told */
  withdraw(id: string): boolean {
    if (this.#socket.isOpen) return false;
    this.#queue = this.#queue.filter((one) => one.id !== id);
    this.free(id);
    return true;
  }

  free(id: string): void {
    this.contexts.delete(id);
    this.usedAtMs = this.#deps.clock.monotonic();
  }

  tick(nowMs: number): void {
    if (!this.isOpen) return;
    for (const context of this.contexts.values()) {
      if (context.closedAtMs === undefined) context.keepAlive(nowMs - KEEP_ALIVE_MS);
      else if (nowMs - context.closedAtMs >= CONFIRM_MS) this.retired = true;
    }
    // Without a context id it holds the socket and opens nothing.
    if (this.contexts.size === 0 && nowMs - this.#sentAtMs >= KEEP_ALIVE_MS) this.send('', { text: '' });
    if (this.retired && [...this.contexts.values()].every((one) => one.closedAtMs !== undefined)) {
      void this[Symbol.asyncDispose]();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.retired = true;
    this.#onGone();
    this.#failAll(new ProviderError(ELEVENLABS, 'unavailable', 'the connection was abandoned'));
    this.#socket.send('{"close_socket":true}');
    await this.#socket[Symbol.asyncDispose]();
  }

  #onOpen(): void {
    this.#sentAtMs = this.#deps.clock.monotonic();
    for (const { message } of this.#queue) this.#socket.send(message);
    this.#queue = [];
  }

  #onMessage(data: Buffer, isBinary: boolean): void {
    const message = isBinary ? undefined : parseMessage(data);
    if (!message) {
      this.#deps.logger.warn(
        { provider: ELEVENLABS, bytes: data.length },
        'the TTS provider sent an invalid message',
      );
      return;
    }
    if (message.error) {
      // The socket is closed right after it, and that is when the contexts hear of it.
      this.#vendorError = message.error;
      return;
    }
    const context = message.contextId ? this.contexts.get(message.contextId) : undefined;
    if (!context) return;
    if (message.audio) context.audio(message.audio, message.alignment ?? undefined);
    if (message.isFinal) {
      this.free(context.id);
      context.final();
    }
  }

  #onClosed(end: SocketEnd): void {
    this.retired = true;
    this.#onGone();
    const error = this.#toError(end);
    const idle = this.contexts.size === 0 && end.aliveMs > 0;
    const fields = { provider: ELEVENLABS, code: end.code, contexts: this.contexts.size, err: error };
    if (idle) this.#deps.logger.debug(fields, 'the connection to the TTS provider was closed');
    else this.#deps.logger.warn(fields, 'the connection to the TTS provider was lost');
    this.#failAll(error);
  }

  #toError({ error, code, aliveMs }: SocketEnd): ProviderError {
    const word = this.#vendorError;
    if (word !== undefined) {
      const safe = /^[\w+-]{1,64}$/.test(word) ? word : 'no code';
      return new ProviderError(ELEVENLABS, faultOfWord(safe), `the connection was closed (${safe})`);
    }
    // Its way to say that nothing was sent for too long.
    if (code === 1008 && aliveMs > 0) {
      return new ProviderError(ELEVENLABS, 'timeout', 'the connection was closed with 1008');
    }
    return error;
  }

  #failAll(error: ProviderError): void {
    const contexts = [...this.contexts.values()];
    this.contexts.clear();
    for (const context of contexts) context.failed(error);
  }
}

/** One reply on a socket. It counts as open until the provider confirms its end, cancelled or not. */
export class VoiceContext {
  readonly id: string;
  closedAtMs: number | undefined;
  readonly #settings: object;
  readonly #socket: VoiceSocket;
  readonly #clock: Clock;
  #listener: ContextListener | undefined;
  #begun = false;
  #sentAtMs = 0;

  constructor(id: string, settings: object, socket: VoiceSocket, listener: ContextListener, clock: Clock) {
    this.id = id;
    this.#settings = settings;
    this.#socket = socket;
    this.#listener = listener;
    this.#clock = clock;
  }

  /** Speaks `text`, which is a whole sentence or phrase. */
  speak(text: string): void {
    if (this.closedAtMs !== undefined) return;
    if (!this.#begun) {
      this.#begun = true;
      this.#send({ text: ' ', context_id: this.id, voice_settings: this.#settings });
    }
    this.#send({ text: `${text} `, context_id: this.id });
  }

  /** No more text: everything is spoken, and `onFinal` follows. */
  end(): void {
    if (this.closedAtMs !== undefined) return;
    this.#send({ context_id: this.id, flush: true });
    this.#close();
  }

  /** Stops at once: whatever still comes is dropped. */
  cancel(): void {
    this.#listener = undefined;
    if (!this.#begun) this.#socket.free(this.id);
    else if (this.closedAtMs === undefined && !this.#socket.withdraw(this.id)) this.#close();
  }

  keepAlive(sentBeforeMs: number): void {
    if (this.#begun && this.#sentAtMs <= sentBeforeMs) this.#send({ context_id: this.id, text: '' });
  }

  audio(audio: string, alignment: Alignment | undefined): void {
    this.#listener?.onAudio(audio, alignment);
  }

  final(): void {
    const listener = this.#listener;
    this.#listener = undefined;
    listener?.onFinal();
  }

  failed(error: ProviderError): void {
    const listener = this.#listener;
    this.#listener = undefined;
    this.closedAtMs ??= this.#clock.monotonic();
    listener?.onFailed(error);
  }

  #close(): void {
    this.closedAtMs = this.#clock.monotonic();
    this.#send({ context_id: this.id, close_context: true });
  }

  #send(message: object): void {
    this.#sentAtMs = this.#clock.monotonic();
    this.#socket.send(this.id, message);
  }
}

function preferable(one: VoiceSocket, other: VoiceSocket): boolean {
  if (one.isOpen !== other.isOpen) return one.isOpen;
  return one.contexts.size < other.contexts.size;
}

function faultOfWord(word: string) {
  if (/api_key|auth|permission|only_for/.test(word)) return 'auth';
  if (/concurrent|max_active|quota|rate|busy/.test(word)) return 'rate_limit';
  if (/not_found|invalid|settings|limit_exceeded/.test(word)) return 'protocol';
  return /timeout/.test(word) ? 'timeout' : 'unavailable';
}
