import { Pool } from 'undici';
import type { z } from 'zod';
import { backoffMs } from '@parley/shared/async/backoff';
import { sleep } from '@parley/shared/async/timeout';
import type { Secret } from '@parley/shared/config/secret';
import { GATEWAY_HEADER, INTERNAL_PATHS } from '@parley/shared/contracts/addresses';
import { admissionCheckResponse, internalError } from '@parley/shared/contracts/admission';
import type {
  AdmissionCheckRequest,
  AdmissionCheckResponse,
  InternalErrorCode,
  RedeemRequest,
} from '@parley/shared/contracts/admission';
import { handOverPart } from '@parley/shared/contracts/hand-over';
import type { HandOverPart, HandOverRequest } from '@parley/shared/contracts/hand-over';
import { knowledgeSearchAnswer } from '@parley/shared/contracts/knowledge';
import type { AssetRate } from '@parley/shared/contracts/audio-assets';
import type { KnowledgePassage, KnowledgeSearchRequest } from '@parley/shared/contracts/knowledge';
import { sessionPlanSchema } from '@parley/shared/contracts/session-plan';
import { toolCallAnswer } from '@parley/shared/contracts/tool-calls';
import type { ToolCallAnswer, ToolCallRequest } from '@parley/shared/contracts/tool-calls';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import { HTTP1_ONLY } from '@parley/shared/http/http1';
import { HandOverError } from '../call/agent-hand-over.ts';

const TIMEOUT_MS = 2000;
/** On top of the first try, with the same `claim_id`. */
const RETRIES = 2;
/** For an audio asset, which may have 55 MiB: whoever waits for it waits less. */
const AUDIO_TIMEOUT_MS = 30_000;
/** Answers larger than this are not ours. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

/** The control plane refuses the credential, or cannot be reached (`unavailable`). */
export class AdmissionError extends Error {
  readonly code: InternalErrorCode | 'unavailable';

  constructor(code: AdmissionError['code'], options?: ErrorOptions) {
    super(`The control plane refused the credential: ${code}.`, options);
    this.name = 'AdmissionError';
    this.code = code;
  }
}

/** The control plane's internal API: who may connect, and what a session consists of. */
export class SessionSource {
  readonly #pool: Pool;
  readonly #prefix: string;
  readonly #headers: Record<string, string>;
  readonly #timeoutMs: number;
  #disposing: Promise<void> | undefined;

  constructor(options: { internalUrl: string; token: Secret; gatewayId: string; timeoutMs?: number }) {
    const url = new URL(options.internalUrl);
    this.#prefix = url.pathname.replace(/\/+$/, '');
    this.#pool = new Pool(url.origin, {
      ...HTTP1_ONLY,
      connections: 64,
      keepAliveTimeout: 30_000,
      connect: { timeout: TIMEOUT_MS },
    });
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
    this.#headers = {
      authorization: `Bearer ${options.token.reveal()}`,
      [GATEWAY_HEADER]: options.gatewayId,
    };
  }

  /**
   * Whether a credential would be admitted. Changes nothing.
   * @throws AdmissionError
   */
  async check(request: AdmissionCheckRequest): Promise<AdmissionCheckResponse> {
    return this.#ask(INTERNAL_PATHS.check, request, admissionCheckResponse);
  }

  /**
   * Claims a credential for one socket and gets the plan. Asks again when an answer is lost: the claim is repeatable
   * by its `claim_id`.
   * @throws AdmissionError
   */
  async redeem(request: RedeemRequest): Promise<SessionPlan> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#ask(INTERNAL_PATHS.redeem, request, sessionPlanSchema);
      } catch (error) {
        const lost = error instanceof AdmissionError && error.code === 'unavailable';
        if (!lost || attempt === RETRIES) throw error;
        await sleep(backoffMs(attempt, { firstMs: 100, maxMs: 1000 }));
      }
    }
  }

  /**
   * Hands a call over to another agent. Asks again when an answer is lost: a hand-over is known by its id.
   * @throws HandOverError; Error for an answer that is not ours; the reason of `signal`
   */
  async handOver(sessionId: string, request: HandOverRequest, signal: AbortSignal): Promise<HandOverPart> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#ask(INTERNAL_PATHS.handover(sessionId), request, handOverPart, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof AdmissionError)) throw error;
        if (error.code !== 'unavailable') throw new HandOverError(error.code, { cause: error });
        if (attempt === RETRIES) throw error;
        await sleep(backoffMs(attempt, { firstMs: 100, maxMs: 1000 }));
      }
    }
  }

  /**
   * Searches the knowledge bases of a call's agent.
   * @throws Error when there is no answer; the reason of `signal`
   */
  async searchKnowledge(
    sessionId: string,
    request: KnowledgeSearchRequest,
    signal: AbortSignal,
  ): Promise<KnowledgePassage[]> {
    const { statusCode, body } = await this.#pool.request({
      method: 'POST',
      path: this.#prefix + INTERNAL_PATHS.knowledgeSearch(sessionId),
      headers: { ...this.#headers, 'content-type': 'application/json' },
      body: JSON.stringify(request),
      signal: AbortSignal.any([signal, AbortSignal.timeout(this.#timeoutMs)]),
    });
    const answer = await readJson(body);
    if (statusCode !== 200)
      throw new Error(`The control plane answered a search with the status ${statusCode}.`);
    return knowledgeSearchAnswer.parse(answer).passages;
  }

  /**
   * The samples of an audio asset: PCM16, one channel.
   * @throws Error when there is no answer, or it is larger than `maxBytes`
   */
  async audioSamples(assetId: string, rate: AssetRate, maxBytes: number): Promise<Uint8Array> {
    const { statusCode, body } = await this.#pool.request({
      method: 'GET',
      path: this.#prefix + INTERNAL_PATHS.audioAsset(assetId, rate),
      headers: this.#headers,
      signal: AbortSignal.timeout(AUDIO_TIMEOUT_MS),
    });
    if (statusCode !== 200) {
      await body.dump({ limit: 64 * 1024 });
      throw new Error(`The control plane answered a request for audio with the status ${statusCode}.`);
    }
    return await readInto(Buffer.allocUnsafeSlow(maxBytes), body);
  }

  /**
   * Has the control plane run a tool of a call. Asks again when the connection fails: a tool call is known by its id.
   * @param timeoutMs for both tries
   * @throws Error when there is no answer; the reason of `signal`
   */
  async runTool(
    sessionId: string,
    request: ToolCallRequest,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<ToolCallAnswer> {
    const within = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const ask = async () => {
      const { statusCode, body } = await this.#pool.request({
        method: 'POST',
        path: this.#prefix + INTERNAL_PATHS.toolCalls(sessionId),
        headers: { ...this.#headers, 'content-type': 'application/json' },
        body: JSON.stringify(request),
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
        signal: within,
      });
      return { statusCode, answer: await readJson(body) };
    };
    const { statusCode, answer } = await ask().catch((error: unknown) => {
      within.throwIfAborted();
      if (error instanceof Error) return ask();
      throw error;
    });
    if (statusCode !== 200)
      throw new Error(`The control plane answered a tool call with the status ${statusCode}.`);
    return toolCallAnswer.parse(answer);
  }

  /**
   * Hands a recording over. A repeat with the same content is harmless.
   * @param sha256 hex
   * @returns the HTTP status, 204 when it was stored
   */
  async uploadRecording(
    recordingId: string,
    file: { body: NodeJS.ReadableStream; sizeBytes: number; sha256: string },
    signal: AbortSignal,
  ): Promise<number> {
    const { statusCode, body } = await this.#pool.request({
      method: 'PUT',
      path: this.#prefix + INTERNAL_PATHS.recording(recordingId),
      headers: {
        ...this.#headers,
        'content-type': 'application/octet-stream',
        'content-length': String(file.sizeBytes),
        // RFC 3230: base64, unlike everywhere else.
        digest: `sha-256=${Buffer.from(file.sha256, 'hex').toString('base64')}`,
      },
      body: file.body as import('node:stream').Readable,
      bodyTimeout: 60_000,
      headersTimeout: 60_000,
      signal,
    });
    await body.dump({ limit: 64 * 1024 });
    return statusCode;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#disposing ??= this.#pool.destroy();
    return this.#disposing;
  }

  async #ask<T extends z.ZodType>(
    path: string,
    request: object,
    schema: T,
    signal?: AbortSignal,
  ): Promise<z.output<T>> {
    let status: number;
    let answer: unknown;
    try {
      const { statusCode, body } = await this.#pool.request({
        method: 'POST',
        path: this.#prefix + path,
        headers: { ...this.#headers, 'content-type': 'application/json' },
        body: JSON.stringify(request),
        signal: AbortSignal.any([...(signal ? [signal] : []), AbortSignal.timeout(this.#timeoutMs)]),
      });
      status = statusCode;
      answer = await readJson(body);
    } catch (error) {
      throw new AdmissionError('unavailable', { cause: error });
    }
    if (status === 200) {
      const parsed = schema.safeParse(answer);
      if (parsed.success) return parsed.data;
      // The answer holds secrets: only the names of its fields are in the message.
      const fields = parsed.error.issues.map((issue) => issue.path.join('.')).join(', ');
      throw new Error(`The control plane's answer to ${path} is invalid in: ${fields}`);
    }
    const refusal = internalError.safeParse(answer);
    if (status >= 500 || !refusal.success) {
      throw new AdmissionError('unavailable', { cause: new Error(`HTTP ${status} from ${path}`) });
    }
    throw new AdmissionError(refusal.data.code as InternalErrorCode);
  }
}

async function readJson(body: AsyncIterable<Uint8Array>): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > MAX_ANSWER_BYTES) throw new Error('The answer is larger than 4 MiB.');
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString();
  try {
    return text === '' ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined; // a proxy's page, perhaps; the status says enough
  }
}

/** Piece by piece: to put megabytes together at the end would hold up the audio of all calls. */
async function readInto(buffer: Buffer, body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  let length = 0;
  for await (const chunk of body) {
    if (length + chunk.length > buffer.length)
      throw new Error(`The answer is larger than ${buffer.length} bytes.`);
    buffer.set(chunk, length);
    length += chunk.length;
  }
  return buffer.subarray(0, length);
}
