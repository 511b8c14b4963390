import { isAscii } from 'node:buffer';
import { setMaxListeners } from 'node:events';
import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import type { Timer } from '@parley/shared/time/clock';
import * as z from 'zod';
import type { WireSocket } from '../../server/wire-socket.ts';
import { resetConnection } from '../../server/emulator-server.ts';
import type { SpeechEvent } from './paced-speech.ts';
import { SpeechContext } from './speech-context.ts';
import type { SpeechSettings } from './speech-settings.ts';
import type { SpeechChunk } from './voice-renderer.ts';

/** What a socket's URL said, checked. */
export interface SocketQuery {
  format: AudioFormat;
  autoMode: boolean;
  syncAlignment: boolean;
  inactivityMs: number;
  /** The upgrade carried no key: the first message must. */
  needsKey: boolean;
  keyIsGood: (key: string) => boolean;
  /** Why no speech will come of this socket, whatever it sends. */
  refusal: { error: string; message: string } | undefined;
}

const MAX_CONTEXTS = 5;
const MAX_BACKLOG_CHARACTERS = 40_000;
/** A client that reads this far behind has stopped reading. */
const MAX_UNSENT_BYTES = 8 * 1024 * 1024;
/** Of a close frame (RFC 6455, 5.5). */
const MAX_REASON_BYTES = 123;
const DEFAULT_CONTEXT = 'default';

const generationConfig = z.object({
  chunk_length_schedule: z.array(z.number().min(50).max(500)).min(1).max(50).optional(),
});
const singleMessage = z.object({
  text: z.string(),
  flush: z.boolean().optional(),
  try_trigger_generation: z.boolean().optional(),
  voice_settings: z.record(z.string(), z.unknown()).nullish(),
  generation_config: generationConfig.nullish(),
  'xi-api-key': z.string().optional(),
  xi_api_key: z.string().optional(),
});
const multiMessage = z
  .object({
    text: z.string().nullish(),
    context_id: z.string().nullish(),
    contextId: z.string().nullish(),
    flush: z.boolean().nullish(),
    close_context: z.boolean().nullish(),
    closeContext: z.boolean().nullish(),
    close_socket: z.boolean().nullish(),
    closeSocket: z.boolean().nullish(),
    voice_settings: z.record(z.string(), z.unknown()).nullish(),
    generation_config: generationConfig.nullish(),
    'xi-api-key': z.string().optional(),
    xi_api_key: z.string().optional(),
  })
  // The service reads snake case; its own type definitions say otherwise, so both are taken.
  .transform((message) => ({
    ...message,
    contextId: message.context_id ?? message.contextId ?? undefined,
    flush: message.flush ?? false,
    closeContext: message.close_context ?? message.closeContext ?? false,
    closeSocket: message.close_socket ?? message.closeSocket ?? false,
  }));

/** What both kinds of socket share: the ways to end, and to say why. */
class SocketEnd {
  readonly #socket: WireSocket;
  readonly #settings: SpeechSettings;
  readonly signal: AbortSignal;
  readonly #ended = new AbortController();

  constructor(socket: WireSocket, settings: SpeechSettings) {
    this.#socket = socket;
    this.#settings = settings;
    this.signal = this.#ended.signal;
    // Every context waits on it, some of them twice.
    setMaxListeners(4 * MAX_CONTEXTS, this.signal);
    settings.stats.sockets++;
    settings.stats.openSockets++;
    socket.on('close', () => {
      settings.stats.openSockets--;
      this.#stop();
    });
  }

  send(message: object): void {
    if (this.#mayWrite()) this.#socket.send(JSON.stringify(message));
  }

  sendChunk(chunk: EncodedChunk, tail: string, isAsciiTail = true): void {
    if (!this.#mayWrite()) return;
    const message = chunk.json + tail;
    if (chunk.isAscii && isAsciiTail) this.#socket.sendAscii(message);
    else this.#socket.send(message);
  }

  #mayWrite(): boolean {
    if (this.signal.aborted) return false;
    if (this.#socket.bufferedAmount <= MAX_UNSENT_BYTES) return true;
    this.#settings.log?.warn({ bufferedAmount: this.#socket.bufferedAmount }, 'client stopped reading');
    this.#socket.terminate();
    return false;
  }

  refuse(error: string, message: string): void {
    if (this.signal.aborted) return;
    this.#settings.stats.refusals++;
    this.send({ message, error, code: 1008 });
    this.close(1008, message);
  }

  close(code: number, reason = ''): void {
    this.#stop();
    // Cut by bytes; a character cut in two is dropped.
    const cut = Buffer.from(reason)
      .subarray(0, MAX_REASON_BYTES)
      .toString()
      .replace(/\ufffd$/, '');
    this.#socket.close(code, cut);
  }

  fault({ fault }: Extract<SpeechEvent, { type: 'fault' }>): void {
    if (fault.kind === 'cut') this.close(1011, 'Internal error (on demand).');
    if (fault.kind === 'reset') {
      this.#stop();
      resetConnection(this.#socket);
    }
    if (fault.kind === 'rate_limit') {
      this.refuse('too_many_concurrent_requests', 'Too many concurrent requests (on demand).');
    }
    if (fault.kind === 'garbage' && !this.signal.aborted) {
      this.#socket.send('{"audio": "AAAA", "isFi');
      this.#socket.send(Buffer.from([0xde, 0xad, 0xbe, 0xef]));
    }
  }

  failed(error: unknown): void {
    this.#settings.log?.warn({ err: error }, 'emulated voice failed');
    this.refuse('system_busy', 'The emulated voice failed.');
  }

  #stop(): void {
    this.#ended.abort(new Error('The WebSocket is closed.'));
  }
}

function parse<T>(schema: z.ZodType<T>, data: Buffer, isBinary: boolean): T | undefined {
  if (isBinary) return undefined;
  try {
    return schema.parse(JSON.parse(data.toString()));
  } catch {
    return undefined;
  }
}

interface EncodedChunk {
  /** The message up to where the name of its context goes. */
  json: string;
  isAscii: boolean;
}

/** Chunks of speech that is spoken again and again are encoded once, with and without times. */
const encoded = {
  timed: new WeakMap<SpeechChunk, EncodedChunk>(),
  plain: new WeakMap<SpeechChunk, EncodedChunk>(),
};

function encodeChunk(chunk: SpeechChunk, syncAlignment: boolean): EncodedChunk {
  const known = encoded[syncAlignment ? 'timed' : 'plain'];
  const found = known.get(chunk);
  if (found) return found;
  const { bytes, alignment } = chunk;
  const times = syncAlignment ? alignment : null;
  const json = JSON.stringify({
    audio: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64'),
    isFinal: null,
    alignment: times,
    normalizedAlignment: times,
  }).slice(0, -1);
  const made = { json, isAscii: isAscii(Buffer.from(json)) };
  known.set(chunk, made);
  return made;
}

function inactivityReason(inactivityMs: number): string {
  return (
    `Have not received a new text input within the timeout of ${inactivityMs / 1000} seconds. Streaming input ` +
    'terminated. Please make sure to either feed the input in the timely manner, or to send the end of input text ' +
    '(empty string "") when done.'
  );
}

/** `stream-input`: one text, one stream of audio. */
export function serveSingle(socket: WireSocket, query: SocketQuery, settings: SpeechSettings): void {
  const { format, autoMode, syncAlignment, inactivityMs, refusal } = query;
  const end = new SocketEnd(socket, settings);
  let context: SpeechContext | undefined;
  let opener: string | undefined;
  let finished = false;
  let timer: Timer | undefined;
  const touch = () => {
    timer?.cancel();
    timer = settings.clock.setTimeout(() => {
      settings.stats.refusals++;
      end.close(1008, inactivityReason(inactivityMs));
    }, inactivityMs);
  };
  end.signal.addEventListener('abort', () => timer?.cancel(), { once: true });

  function open(message: z.infer<typeof singleMessage>): void {
    if (message.text !== ' ') {
      end.refuse('invalid_first_message', 'The first message must have the text " " (one space).');
      return;
    }
    if (query.needsKey && !query.keyIsGood(message['xi-api-key'] ?? message.xi_api_key ?? '')) {
      end.refuse('invalid_api_key', 'Invalid API key');
      return;
    }
    settings.stats.contexts++;
    settings.stats.openContexts++;
    end.signal.addEventListener('abort', () => settings.stats.openContexts--, { once: true });
    opener = JSON.stringify([message.voice_settings, message.generation_config]);
    context = new SpeechContext(settings, {
      format,
      autoMode,
      schedule: message.generation_config?.chunk_length_schedule,
      signal: end.signal,
      emit: (event) => {
        if (event.type === 'fault') end.fault(event);
        else end.sendChunk(encodeChunk(event.chunk, syncAlignment), '}');
      },
      onFailure: (error) => end.failed(error),
    });
  }

  async function finish(spoken: SpeechContext): Promise<void> {
    finished = true;
    timer?.cancel();
    spoken.flush();
    await spoken.drained();
    end.send({ audio: null, isFinal: true });
    if (!end.signal.aborted) end.close(1000);
  }

  touch();
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (end.signal.aborted) return;
    const message = parse(singleMessage, data, isBinary);
    if (!message) return end.refuse('invalid_message', 'The message is not supported on this socket.');
    if (refusal) return end.refuse(refusal.error, refusal.message);
    if (finished) return end.refuse('input_after_end', 'Text came after the end of the stream.');
    touch();
    if (!context) return open(message);
    const again = message.voice_settings ?? message.generation_config;
    if (again && JSON.stringify([message.voice_settings, message.generation_config]) !== opener) {
      return end.refuse('settings_changed', 'Settings cannot change within a stream.');
    }
    if (message.text === '') return void finish(context);
    if (context.backlog + message.text.length > MAX_BACKLOG_CHARACTERS) {
      return end.refuse('max_character_limit_exceeded', 'Too much text is waiting.');
    }
    context.add(message.text, { tryTrigger: message.try_trigger_generation ?? false });
    if (message.flush) context.flush();
  });
}

interface OpenContext {
  speech: SpeechContext;
  timer: Timer | undefined;
}

/** `multi-stream-input`: contexts that come and go on one socket. */
export function serveMulti(socket: WireSocket, query: SocketQuery, settings: SpeechSettings): void {
  const { format, autoMode, syncAlignment, inactivityMs, refusal } = query;
  const end = new SocketEnd(socket, settings);
  /** Those that take text. A closed one lives on, nameless, until its last audio has been sent. */
  const contexts = new Map<string, OpenContext>();
  let live = 0;
  let closing = false;
  let keyed = !query.needsKey;
  let idleTimer: Timer | undefined;

  end.signal.addEventListener(
    'abort',
    () => {
      idleTimer?.cancel();
      for (const { timer } of contexts.values()) timer?.cancel();
      settings.stats.openContexts -= live;
      live = 0;
    },
    { once: true },
  );
  const startTimer = () =>
    settings.clock.setTimeout(() => {
      settings.stats.refusals++;
      end.close(1008, inactivityReason(inactivityMs));
    }, inactivityMs);
  /** The socket's own patience counts while no context is open. */
  const touchSocket = () => {
    idleTimer?.cancel();
    idleTimer = contexts.size === 0 && !closing ? startTimer() : undefined;
  };

  function open(name: string, schedule: readonly number[] | undefined): OpenContext {
    live++;
    settings.stats.contexts++;
    settings.stats.openContexts++;
    const contextId = JSON.stringify(name);
    const tail = `,"contextId":${contextId}}`;
    const isAsciiName = isAscii(Buffer.from(contextId));
    const speech = new SpeechContext(settings, {
      format,
      autoMode,
      schedule,
      signal: end.signal,
      emit: (event) => {
        if (event.type === 'fault') end.fault(event);
        else end.sendChunk(encodeChunk(event.chunk, syncAlignment), tail, isAsciiName);
      },
      onFailure: (error) => end.failed(error),
    });
    const context: OpenContext = { speech, timer: undefined };
    contexts.set(name, context);
    return context;
  }

  async function close(name: string, { speech, timer }: OpenContext): Promise<void> {
    contexts.delete(name);
    timer?.cancel();
    touchSocket();
    await speech.drained();
    if (end.signal.aborted) return;
    live--;
    settings.stats.openContexts--;
    end.send({ isFinal: true, contextId: name });
  }

  async function closeAll(): Promise<void> {
    closing = true;
    idleTimer?.cancel();
    await Promise.all(
      [...contexts].map(([name, context]) => {
        context.speech.flush();
        return close(name, context);
      }),
    );
    closingWhenSilent();
  }

  function closingWhenSilent(): void {
    if (closing && live === 0 && !end.signal.aborted) end.close(1000);
  }

  touchSocket();
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (end.signal.aborted) return;
    const message = parse(multiMessage, data, isBinary);
    if (!message) return end.refuse('invalid_message', 'The message is not supported on this socket.');
    if (refusal) return end.refuse(refusal.error, refusal.message);
    keyed ||= query.keyIsGood(message['xi-api-key'] ?? message.xi_api_key ?? '');
    if (!keyed) return end.refuse('invalid_api_key', 'Invalid API key');
    if (closing) return;
    if (message.closeSocket) return void closeAll();
    // Without a name and without text it keeps the connection alive, and opens nothing.
    if (message.contextId === undefined && !message.text && !message.flush && !message.closeContext) {
      return touchSocket();
    }
    const name = message.contextId ?? DEFAULT_CONTEXT;
    let context = contexts.get(name);
    if (message.closeContext) {
      if (context) void close(name, context).then(closingWhenSilent);
      return;
    }
    const configured = message.voice_settings ?? message.generation_config;
    if (context && configured) {
      return end.refuse('settings_changed', 'Settings belong in the first message of a context.');
    }
    const isNew = context === undefined;
    if (!context) {
      if (live >= MAX_CONTEXTS) {
        return end.refuse(
          'max_active_conversations',
          `Maximum simultaneous contexts per WebSocket connection exceeded (${MAX_CONTEXTS}). Please close an ` +
            'existing context before opening a new one.',
        );
      }
      context = open(name, message.generation_config?.chunk_length_schedule);
    }
    context.timer?.cancel();
    context.timer = startTimer();
    touchSocket();
    const text = message.text ?? '';
    if (context.speech.backlog + text.length > MAX_BACKLOG_CHARACTERS) {
      return end.refuse('max_character_limit_exceeded', 'Too much text is waiting.');
    }
    // The blank that opens a context is there because something must be: it is not spoken.
    if (text !== '' && !(isNew && text === ' ')) context.speech.add(text);
    if (message.flush) context.speech.flush();
  });
}
