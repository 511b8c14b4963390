import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { systemClock } from '@parley/shared/time/clock';
import type { Clock } from '@parley/shared/time/clock';
import { seededRandom } from '@parley/shared/values/seeded-random';
import { AudioIntake, UndecodableAudioError } from './deepgram/audio-intake.ts';
import { parseFluxQuery, parseNovaQuery, QueryError } from './deepgram/listen-query.ts';
import type { FluxQuery, NovaQuery } from './deepgram/listen-query.ts';
import { modelInfo, newStats } from './deepgram/listen-settings.ts';
import type { DeepgramStats, ListenSettings } from './deepgram/listen-settings.ts';
import { serveFlux, serveNova } from './deepgram/listen-socket.ts';
import { NovaSession } from './deepgram/nova-session.ts';
import type { alternative } from './deepgram/nova-session.ts';
import { DEEPGRAM_FAULTS } from './deepgram/send-queue.ts';
import type { DeepgramFault, WireMessage } from './deepgram/send-queue.ts';
import type { Delay } from '../server/delays.ts';
import { openEmulatorServer, readBody } from '../server/emulator-server.ts';
import type {
  EmulatorExchange,
  EmulatorLog,
  EmulatorRequest,
  EmulatorServer,
  EmulatorServerOptions,
  EmulatorTls,
  HttpAnswer,
} from '../server/emulator-server.ts';
import { FaultPlan } from '../server/faults.ts';
import type { Fault } from '../server/faults.ts';
import { ScriptedEars } from '../recogniser/ears.ts';
import type { Ears } from '../recogniser/ears.ts';
import type { RawFormat } from '../recogniser/level-meter.ts';
import { openRecogniser } from '../recogniser/recogniser.ts';

/** All in milliseconds; a `Delay` is drawn anew for each message. */
export interface DeepgramDelays {
  /** Audio between two interims. */
  interimEveryMs?: number;
  interim?: Delay;
  speechStarted?: Delay;
  /** `speech_final` after the silence that `endpointing` asks for. */
  speechFinal?: Delay;
  /** The answer to `Finalize`. */
  finalize?: Delay;
  utteranceEnd?: Delay;
  /** Flux: voice before `StartOfTurn`, in ms of audio; none where a first word is enough. */
  startOfTurnMs?: number;
  /** Flux: silence before `EndOfTurn` at the default threshold of 0.7. */
  endOfTurn?: Delay;
}

export interface DeepgramEmulatorOptions {
  /**
   * - `script`, for load: hears energy only and tells the n-th line of `sentences` for the n-th utterance
   * - `recognise`, for calls and tests: tells which of the taught sentences it hears, or nothing
   */
  mode: 'script' | 'recognise';
  /**
   * In script mode the lines of each connection, by the connection's `tag` where it is a record (`default` for the
   * others); an empty line is noise that has no words. In recognise mode the sentences known from the start.
   */
  sentences?: readonly string[] | Readonly<Record<string, readonly string[]>>;
  delays?: DeepgramDelays;
  faults?: readonly Fault<DeepgramFault>[];
  /** Keys that are accepted; any when absent. */
  keys?: readonly string[];
  /** Root mean square, of 32768, above which script mode calls 10 ms of audio voiced. */
  threshold?: number;
  /**
   * Script mode believes marks in the audio (voice-mark.ts) where there are any: it hears the words of the caller in any
   * noise, and nobody else's.
   */
  marked?: boolean;
  /** Of `/v1/listen`. 10 s at the vendor's. */
  idleTimeoutMs?: number;
  /** Of `/v2/listen`. 60 s at the vendor's. */
  fluxIdleTimeoutMs?: number;
  keepAliveNeedsAudio?: boolean;
  /** After `CloseStream`: 1000, or 1005 for none. */
  closeCode?: 1000 | 1005;
  forceEndTurn?: boolean;
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

export interface DeepgramEmulator {
  /** `http://127.0.0.1:port`, or https; the same origin takes WebSockets. */
  readonly url: string;
  readonly port: number;
  readonly stats: Readonly<DeepgramStats>;
  /** Adds sentences to those that recognise mode knows. Resolves when they would be heard. */
  teach(sentences: readonly string[]): Promise<void>;
  /** Replaces all faults. @throws ZodError */
  setFaults(faults: readonly Fault<DeepgramFault>[]): void;
  [Symbol.asyncDispose](): Promise<void>;
}

const lessonSchema = z.strictObject({ sentences: z.array(z.string().min(1).max(500)).max(1000) });
const MAX_LESSON_BYTES = 1024 * 1024;
const MAX_FILE_BYTES = 100 * 1024 * 1024;

type Admitted = { kind: 'nova'; query: NovaQuery } | { kind: 'flux'; query: FluxQuery };

/**
 * Deepgram's speech recognition on a local port: `/v1/listen` as WebSocket and as POST, `/v2/listen` (Flux) and
 * `GET /v1/projects`. Written from the vendor's documents alone.
 */
export async function openDeepgramEmulator(options: DeepgramEmulatorOptions): Promise<DeepgramEmulator> {
  const { clock = systemClock, log, seed = 1 } = options;
  const random = seededRandom(seed);
  const faults = new FaultPlan<DeepgramFault>(DEEPGRAM_FAULTS, seededRandom(seed + 1));
  if (options.faults) faults.set(options.faults);
  const stats = newStats();
  const settings = toSettings(options);
  const owned = new DisposableList();
  const recogniser = options.mode === 'recognise' ? owned.add(await openRecogniser()) : undefined;
  const listen = recogniser ? (format: RawFormat) => recogniser.listen(format) : scriptedListener(options);
  const admitted = new WeakMap<EmulatorRequest, Admitted>();
  // An upgrade is admitted, answered and handed over in one turn of the loop.
  let requestId = '';

  function refuse(status: number, code: string, message: string): HttpAnswer {
    stats.refused += 1;
    const id = randomUUID();
    return {
      status,
      headers: { 'dg-request-id': id, 'dg-error': message },
      body: { err_code: code, err_msg: message, request_id: id },
    };
  }

  function authenticate(request: EmulatorRequest): HttpAnswer | undefined {
    const key = readCredential(request);
    if (key !== undefined && (options.keys?.includes(key) ?? true)) return undefined;
    return refuse(401, 'INVALID_AUTH', 'Invalid credentials.');
  }

  function admitSocket({ request, url }: EmulatorExchange): HttpAnswer | undefined {
    const refused = authenticate(request);
    if (refused) return refused;
    try {
      if (url.pathname === '/v1/listen') {
        admitted.set(request, { kind: 'nova', query: parseNovaQuery(url.searchParams) });
      } else if (url.pathname === '/v2/listen') {
        admitted.set(request, { kind: 'flux', query: parseFluxQuery(url.searchParams) });
      } else {
        return refuse(404, 'NOT_FOUND', 'Endpoint not found.');
      }
    } catch (error) {
      if (error instanceof QueryError) return refuse(400, error.code, error.message);
      throw error;
    }
    requestId = randomUUID();
    return undefined;
  }

  async function onRequest({ request, url }: EmulatorExchange): Promise<HttpAnswer> {
    stats.requests += 1;
    const refused = authenticate(request);
    if (refused) return refused;
    if (url.pathname === '/v1/projects' && request.method === 'GET') {
      return {
        status: 200,
        headers: { 'dg-request-id': randomUUID() },
        body: { projects: [{ project_id: '00000000-0000-4000-8000-000000000001', name: 'Parley emulator' }] },
      };
    }
    if (url.pathname === '/v1/listen' && request.method === 'POST') return transcribe(request, url);
    return refuse(404, 'NOT_FOUND', 'Endpoint not found.');
  }

  async function transcribe(request: EmulatorRequest, url: URL): Promise<HttpAnswer> {
    try {
      const query = parseNovaQuery(url.searchParams);
      if (request.headers['content-type']?.startsWith('application/json')) {
        return refuse(
          400,
          'Bad Request',
          'This emulator does not fetch audio from a URL. Send the file itself.',
        );
      }
      const file = await readBody(request, MAX_FILE_BYTES);
      const id = randomUUID();
      const heard = await hearFile(file, query, settings, listen);
      return {
        status: 200,
        headers: { 'dg-request-id': id },
        body: {
          metadata: {
            transaction_key: 'deprecated',
            request_id: id,
            created: new Date(clock.now()).toISOString(),
            duration: heard.durationMs / 1000,
            channels: heard.channels.length,
            models: ['00000000-0000-4000-8000-000000000000'],
            model_info: { '00000000-0000-4000-8000-000000000000': modelInfo(query.model) },
          },
          results: {
            channels: heard.channels.map((one) => ({ alternatives: [one] })),
          },
        },
      };
    } catch (error) {
      if (error instanceof QueryError) return refuse(400, error.code, error.message);
      if (error instanceof UndecodableAudioError) return refuse(400, 'Bad Request', error.message);
      throw error;
    }
  }

  async function teach(sentences: readonly string[]): Promise<void> {
    if (!recogniser) throw new Error('Only the recognise mode can be scripted.');
    await recogniser.teach(sentences);
  }

  /** `POST /__emulator/sentences` */
  async function teachRemotely(request: EmulatorRequest): Promise<HttpAnswer> {
    if (!recogniser) return { status: 409, body: { error: 'Only the recognise mode can be scripted.' } };
    // A web page cannot send this type across origins without asking first, and nobody answers it.
    if (!request.headers['content-type']?.startsWith('application/json')) {
      return { status: 415, body: { error: 'Unsupported content type. Send application/json.' } };
    }
    const lesson = lessonSchema.safeParse(parseJson(await readBody(request, MAX_LESSON_BYTES)));
    if (!lesson.success) return { status: 422, body: { error: lesson.error.issues } };
    await recogniser.teach(lesson.data.sentences);
    return { status: 200, body: { known: recogniser.known } };
  }

  const serverOptions: EmulatorServerOptions<DeepgramFault> = {
    name: 'deepgram',
    port: options.port,
    host: options.host,
    tls: options.tls,
    faults,
    stats: () => ({ ...stats, known_sentences: recogniser?.known ?? 0 }),
    refusal: (status) => refuse(status, ...refusalText(status)),
    upgradeHeaders: () => ({ 'dg-request-id': requestId }),
    onRequest,
    admitSocket,
    onSocket(socket, { request }) {
      const deps = { socket, requestId, settings, stats, faults, clock, random, listen };
      const admission = admitted.get(request)!;
      if (admission.kind === 'nova') serveNova(deps, admission.query);
      else serveFlux(deps, admission.query);
    },
    control: async ({ request, url }) =>
      url.pathname === '/__emulator/sentences' && request.method === 'POST'
        ? teachRemotely(request)
        : undefined,
    clock,
    log,
  };
  let server: EmulatorServer;
  try {
    await recogniser?.teach(allSentences(options));
    server = owned.add(await openEmulatorServer<DeepgramFault>(serverOptions));
  } catch (error) {
    await owned.dispose();
    throw error;
  }
  return {
    url: server.url,
    port: server.port,
    stats,
    teach,
    setFaults: (list) => faults.set(list),
    [Symbol.asyncDispose]: () => owned.dispose(),
  };
}

function toSettings(options: DeepgramEmulatorOptions): ListenSettings {
  const { delays = {}, mode } = options;
  // Published figures. Under load the same delay each time, so that what is measured is not the emulator's dice.
  const usual = (p50Ms: number, p95Ms: number): Delay => (mode === 'script' ? p50Ms : { p50Ms, p95Ms });
  return {
    nova: {
      interimEveryMs: delays.interimEveryMs ?? (mode === 'script' ? 200 : 1000),
      interim: delays.interim ?? usual(250, 600),
      speechStarted: delays.speechStarted ?? usual(80, 200),
      speechFinal: delays.speechFinal ?? usual(150, 350),
      finalize: delays.finalize ?? usual(80, 250),
      utteranceEnd: delays.utteranceEnd ?? usual(80, 250),
      maxSegmentMs: 5000,
      finalizeMinMs: 100,
    },
    flux: {
      updateEveryMs: 250,
      startOfTurnMs: delays.startOfTurnMs ?? 0,
      endOfTurn: delays.endOfTurn ?? usual(260, 500),
      idleUpdates: true,
      forceEndTurn: options.forceEndTurn ?? true,
      idleTimeoutMs: options.fluxIdleTimeoutMs ?? 60_000,
    },
    idleTimeoutMs: options.idleTimeoutMs ?? 10_000,
    keepAliveNeedsAudio: options.keepAliveNeedsAudio ?? true,
    closeCode: options.closeCode === 1005 ? undefined : 1000,
  };
}

function allSentences({ sentences = [] }: DeepgramEmulatorOptions): string[] {
  return Array.isArray(sentences) ? [...(sentences as readonly string[])] : Object.values(sentences).flat();
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

function scriptedListener({ sentences = [], threshold, marked = false }: DeepgramEmulatorOptions) {
  const options = { marked, ...(threshold === undefined ? {} : { threshold }) };
  const split = (lines: readonly string[]) => lines.map((line) => line.split(/\s+/).filter(Boolean));
  const byTag = new Map<string, string[][]>();
  if (Array.isArray(sentences)) byTag.set('default', split(sentences as readonly string[]));
  else
    for (const [tag, lines] of Object.entries(sentences)) byTag.set(tag, split(lines as readonly string[]));
  return (format: RawFormat, tag: string | undefined): Ears =>
    new ScriptedEars(format, byTag.get(tag ?? 'default') ?? byTag.get('default') ?? [], options);
}

type Alternative = ReturnType<typeof alternative>;

/** Hears a whole file at once: per channel, all finals in a row. */
async function hearFile(
  file: Buffer,
  query: NovaQuery,
  settings: ListenSettings,
  listen: (format: RawFormat, tag: string | undefined) => Ears,
): Promise<{ durationMs: number; channels: Alternative[] }> {
  const ears: Ears[] = [];
  const sessions: NovaSession[] = [];
  const finals: Alternative[][] = [];
  const intake = new AudioIntake({
    format: query.format,
    channels: query.channels,
    onFormat(format, count) {
      for (let channel = 0; channel < count; channel++) {
        const own = listen(format, query.tag);
        const told: Alternative[] = [];
        ears.push(own);
        finals.push(told);
        const sink = {
          withholdsEnd: false,
          startUtterance: () => undefined,
          send(message: WireMessage) {
            if (message['is_final'] !== true) return;
            told.push((message['channel'] as { alternatives: [Alternative] }).alternatives[0]);
          },
        };
        sessions.push(
          new NovaSession({ ears: own, query, timing: settings.nova, sink, channel, metadata: {} }),
        );
      }
    },
    onAudio: (channel, bytes) => ears[channel]!.push(bytes),
  });
  try {
    intake.push(file);
    await Promise.all(ears.map((one) => new Promise<void>((resolve) => one.flush(resolve))));
    for (const session of sessions) session.finish();
    return { durationMs: ears[0]?.atMs ?? 0, channels: finals.map(joinAlternatives) };
  } finally {
    for (const one of ears) one.close();
  }
}

function joinAlternatives(parts: readonly Alternative[]): Alternative {
  const words = parts.flatMap((part) => part.words);
  const confidence = words.reduce((sum, word) => sum + word.confidence, 0) / Math.max(1, words.length);
  const transcript = parts
    .map((part) => part.transcript)
    .filter(Boolean)
    .join(' ');
  return { transcript, confidence, words };
}

/** The key or token of `Authorization`, or of the subprotocols that browsers pass it in. */
function readCredential({ headers }: EmulatorRequest): string | undefined {
  const header = /^(?:token|bearer)\s+(\S+)\s*$/i.exec(headers.authorization ?? '');
  if (header) return header[1];
  return /^(?:token|bearer)\s*,\s*([^\s,]+)/i.exec(headers['sec-websocket-protocol'] ?? '')?.[1];
}

function refusalText(status: number): [code: string, message: string] {
  if (status === 401) return ['INVALID_AUTH', 'Invalid credentials.'];
  if (status === 402)
    return ['ASR_PAYMENT_REQUIRED', 'Project does not have enough credits for an ASR request.'];
  if (status === 403)
    return ['INSUFFICIENT_PERMISSIONS', 'The project has no access to the requested model.'];
  if (status === 413) return ['PAYLOAD_TOO_LARGE', 'The payload is too large.'];
  if (status === 429) return ['TOO_MANY_REQUESTS', 'Too many requests. Please try again later.'];
  if (status < 500) return ['Bad Request', 'The request was refused.'];
  return ['INTERNAL_SERVER_ERROR', 'The service is not available.'];
}
