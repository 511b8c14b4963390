import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { systemClock } from '@parley/shared/time/clock';
import type { Clock } from '@parley/shared/time/clock';
import type { LocalSpeech } from '@parley/shared/speech/flite';
import { seededRandom } from '@parley/shared/values/seeded-random';
import * as z from 'zod';
import type { Delay } from '../server/delays.ts';
import { speakPaced } from './elevenlabs/paced-speech.ts';
import { ELEVENLABS_FAULTS } from './elevenlabs/speech-settings.ts';
import type { ElevenLabsFault, ElevenLabsStats, SpeechSettings } from './elevenlabs/speech-settings.ts';
import { serveMulti, serveSingle } from './elevenlabs/tts-socket.ts';
import type { SocketQuery } from './elevenlabs/tts-socket.ts';
import { LANGUAGE_CODES, MODELS, VoiceLibrary } from './elevenlabs/voice-library.ts';
import { parseOutputFormat, speechRenderer, toneRenderer } from './elevenlabs/voice-renderer.ts';
import { answerVoiceRoute, failure, invalid, parseJson } from './elevenlabs/voice-routes.ts';
import { openEmulatorServer, readBody, resetConnection } from '../server/emulator-server.ts';
import type {
  EmulatorExchange,
  EmulatorLog,
  EmulatorResponse,
  EmulatorTls,
  HttpAnswer,
} from '../server/emulator-server.ts';
import { FaultPlan } from '../server/faults.ts';
import type { Fault } from '../server/faults.ts';

export interface ElevenLabsDelays {
  /** From the release of a text (flush, schedule, auto mode, HTTP request) to its first audio. 200 ms, 95 %: 400. */
  firstAudio?: Delay;
  /** How much faster than real time audio then comes; 5 unless given, `Infinity` for all at once. */
  realTimeFactor?: number;
}

export interface ElevenLabsEmulatorOptions {
  /** A voice that is lent, or tones, a word each: what a load generator can decode (../speech/tone-words.ts). */
  speech: LocalSpeech | 'tones';
  delays?: ElevenLabsDelays;
  faults?: readonly Fault<ElevenLabsFault>[];
  /** Keys that are accepted; any when absent. */
  keys?: readonly string[];
  /** Voice ids known besides the premade ones, or `any`. An unknown one is refused, as by the vendor. */
  voices?: readonly string[] | 'any';
  seed?: number;
  /** 0, the default, takes a free one. */
  port?: number;
  /** 127.0.0.1 unless given. */
  host?: string;
  /** Without it, it speaks in the clear. */
  tls?: EmulatorTls | undefined;
  clock?: Clock;
  log?: EmulatorLog;
}

export interface ElevenLabsEmulator {
  /** `http://127.0.0.1:port`, or https; the same origin takes WebSockets. */
  readonly url: string;
  readonly port: number;
  readonly stats: Readonly<ElevenLabsStats>;
  /** Replaces all faults. @throws ZodError */
  setFaults(faults: readonly Fault<ElevenLabsFault>[]): void;
  [Symbol.asyncDispose](): Promise<void>;
}

const SOCKET_PATH = /^\/v1\/text-to-speech\/([^/]+)\/(stream-input|multi-stream-input)$/;
const SPEECH_PATH = /^\/v1\/text-to-speech\/([^/]+)(\/stream)?$/;
const DEFAULT_FORMAT = 'mp3_44100_128';
const MAX_BODY_BYTES = 1024 * 1024;

const socketQuery = z.object({
  model_id: z.string().optional(),
  output_format: z.string().default(DEFAULT_FORMAT),
  inactivity_timeout: z.coerce.number().min(1).max(180).default(20),
  sync_alignment: z.stringbool().default(false),
  auto_mode: z.stringbool().default(false),
});
const speechBody = z.object({
  text: z.string().min(1),
  model_id: z.string().default('eleven_multilingual_v2'),
  language_code: z.string().optional(),
});

/**
 * Emulates ElevenLabs' text to speech: both sockets, the HTTP stream, voices and models. Written from the vendor's
 * documents and what clients have met; it says that it is an emulator in its headers, models and voices. MP3 and Opus
 * are not spoken: ask for `ulaw_8000`, `alaw_8000` or `pcm_*`. Settings of a voice are kept but change nothing.
 */
export async function openElevenLabsEmulator(
  options: ElevenLabsEmulatorOptions,
): Promise<ElevenLabsEmulator> {
  const { clock = systemClock, keys, delays = {} } = options;
  const random = seededRandom(options.seed ?? 1);
  const faults = new FaultPlan(ELEVENLABS_FAULTS, random);
  faults.set(options.faults ?? []);
  const library = new VoiceLibrary(options.voices === 'any' ? [] : (options.voices ?? []));
  const stats: ElevenLabsStats = {
    sockets: 0,
    openSockets: 0,
    contexts: 0,
    openContexts: 0,
    refusals: 0,
    httpRequests: 0,
    utterances: 0,
    characters: 0,
    audioMs: 0,
    abandoned: 0,
  };
  const settings: SpeechSettings = {
    renderer: options.speech === 'tones' ? toneRenderer() : speechRenderer(options.speech),
    faults,
    random,
    firstAudio: delays.firstAudio ?? { p50Ms: 200, p95Ms: 400 },
    realTimeFactor: delays.realTimeFactor ?? 5,
    clock,
    stats,
    log: options.log,
  };
  const knowsVoice = (id: string) => options.voices === 'any' || library.get(id) !== undefined;
  const keyIsGood = (key: string) => key !== '' && (keys === undefined || keys.includes(key));
  let streams = 0;

  function keyOf({ request, url }: EmulatorExchange): string | undefined {
    const header = request.headers['xi-api-key'];
    return typeof header === 'string' ? header : (url.searchParams.get('authorization') ?? undefined);
  }

  function admitSocket(exchange: EmulatorExchange): HttpAnswer | undefined {
    if (!SOCKET_PATH.test(exchange.url.pathname))
      return failure(404, 'not_found', 'WebSocket endpoint not found.');
    const key = keyOf(exchange);
    if (key !== undefined && !keyIsGood(key)) return failure(401, 'invalid_api_key', 'Invalid API key');
    const parsed = socketQuery.safeParse(Object.fromEntries(exchange.url.searchParams));
    if (!parsed.success) return invalid('query', parsed.error);
    if (!parseOutputFormat(parsed.data.output_format)) return unspoken(parsed.data.output_format);
    return undefined;
  }

  function querySocket(exchange: EmulatorExchange, voiceId: string): SocketQuery {
    const query = socketQuery.parse(Object.fromEntries(exchange.url.searchParams));
    const modelId = query.model_id ?? 'eleven_multilingual_v2';
    let refusal: SocketQuery['refusal'];
    if (!knowsVoice(voiceId)) {
      refusal = { error: 'voice_not_found', message: `A voice with the id ${voiceId} was not found.` };
    } else if (!MODELS.some(({ model_id }) => model_id === modelId)) {
      refusal = {
        error: 'model_not_found',
        message: `The model ${modelId} is not available on this socket.`,
      };
    }
    return {
      format: parseOutputFormat(query.output_format)!,
      autoMode: query.auto_mode,
      syncAlignment: query.sync_alignment,
      inactivityMs: query.inactivity_timeout * 1000,
      needsKey: keyOf(exchange) === undefined,
      keyIsGood,
      refusal,
    };
  }

  async function answer(exchange: EmulatorExchange, response: EmulatorResponse): Promise<HttpAnswer | void> {
    const { request, url } = exchange;
    stats.httpRequests++;
    response.setHeader('request-id', randomUUID());
    if (!keyIsGood(keyOf(exchange) ?? '')) return failure(401, 'invalid_api_key', 'Invalid API key');
    const path = SPEECH_PATH.exec(url.pathname);
    if (path && request.method === 'POST') return speak(decodeURIComponent(path[1]!), exchange, response);
    const answered = await answerVoiceRoute(library, request, url, clock.now());
    return (
      answered ??
      failure(404, 'not_found', `This emulator does not support ${request.method} ${url.pathname}.`)
    );
  }

  async function speak(
    voiceId: string,
    { request, url, signal }: EmulatorExchange,
    response: EmulatorResponse,
  ): Promise<HttpAnswer | void> {
    const requestedAt = clock.monotonic();
    const body = speechBody.safeParse(parseJson(await readBody(request, MAX_BODY_BYTES)));
    if (!body.success) return invalid('body', body.error);
    const { text, model_id: modelId, language_code: language } = body.data;
    const formatName = url.searchParams.get('output_format') ?? DEFAULT_FORMAT;
    const format = parseOutputFormat(formatName);
    if (!format) return unspoken(formatName);
    if (!knowsVoice(voiceId))
      return failure(404, 'voice_not_found', `A voice with the id ${voiceId} was not found.`);
    const model = MODELS.find(({ model_id }) => model_id === modelId);
    if (!model) return failure(400, 'model_not_found', `The model ${modelId} was not found.`);
    if (language !== undefined && !LANGUAGE_CODES.has(language)) {
      const message = `The model ${modelId} does not support the language_code ${language}.`;
      return failure(400, 'unsupported_language', message);
    }
    if (text.length > model.maximum_text_length_per_request) {
      return failure(400, 'max_character_limit_exceeded', 'The text is too long for this model.');
    }
    streams++;
    try {
      const type = format.encoding === 'pcm16' ? 'audio/pcm' : 'audio/basic';
      response.setHeader('current-concurrent-requests', streams);
      response.setHeader('maximum-concurrent-requests', 1000);
      response.setHeader('content-type', type);
      for await (const event of speakPaced(settings, { text, format, requestedAt, signal })) {
        if (event.type === 'chunk') {
          if (!response.write(event.chunk.bytes)) await once(response, 'drain', { signal });
        } else if (event.fault.kind === 'garbage') {
          response.write('<html>an intermediary speaks</html>');
        } else if (event.fault.kind === 'cut') {
          break;
        } else {
          // Once a body has begun, an HTTP stream has no other way to fail.
          resetConnection(response);
          return;
        }
      }
      response.end();
    } catch (error) {
      if (signal.aborted) stats.abandoned++;
      throw error;
    } finally {
      streams--;
    }
  }

  const server = await openEmulatorServer<ElevenLabsFault>({
    name: 'elevenlabs',
    port: options.port,
    host: options.host,
    tls: options.tls,
    faults,
    stats: () => ({ ...stats }),
    refusal,
    onRequest: answer,
    admitSocket,
    onSocket: (socket, exchange) => {
      const [, voiceId, kind] = SOCKET_PATH.exec(exchange.url.pathname)!;
      const query = querySocket(exchange, decodeURIComponent(voiceId!));
      if (kind === 'stream-input') serveSingle(socket, query, settings);
      else serveMulti(socket, query, settings);
    },
    clock,
    log: options.log,
  });
  return {
    url: server.url,
    port: server.port,
    stats,
    setFaults: (list) => faults.set(list),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function refusal(status: number): HttpAnswer {
  if (status === 401) return failure(401, 'invalid_api_key', 'Invalid API key (on demand).');
  if (status === 429) {
    return failure(429, 'too_many_concurrent_requests', 'Too many concurrent requests (on demand).');
  }
  return failure(status, 'system_busy', 'The system is busy (on demand).');
}

function unspoken(format: string): HttpAnswer {
  return failure(
    400,
    'output_format_not_emulated',
    `This emulator does not support the output format ${format}.`,
  );
}
