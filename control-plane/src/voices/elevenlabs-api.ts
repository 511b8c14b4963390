import { AppError } from '@parley/shared/errors/app-error';
import { OutboundFailedError, OutboundRefusedError } from '@parley/shared/http/outbound-errors';
import type { SafeFetch, SafeResponse } from '@parley/shared/http/safe-fetch';
import type { ProviderAccount } from '../providers/provider-accounts.ts';
import { accountHeaders } from '../providers/provider-check.ts';
import { fetchThrough } from '../providers/safe-transport.ts';

const SPEECH_TIMEOUT_MS = 30_000;
const CLONE_TIMEOUT_MS = 120_000;
const DELETE_TIMEOUT_MS = 15_000;
/** The range that the provider takes. */
const SPEED = { min: 0.7, max: 1.2 };

/** Why a provider did not do what it was asked for; a word for programs, with nothing of what it said. */
export type ProviderFault =
  'auth' | 'rate_limit' | 'refused' | 'unavailable' | 'timeout' | 'unexpected_answer';

const FAULT_TEXTS: Record<ProviderFault, string> = {
  auth: 'The provider rejected the credentials. Check them at the provider.',
  rate_limit: "The provider's rate limit for this account is reached. Retry later.",
  refused: 'The provider rejected the request.',
  unavailable: 'The provider cannot be reached.',
  timeout: 'The provider did not answer in time.',
  unexpected_answer: 'The provider returned an invalid response.',
};

/** A provider failed: 502, or 504 when it took too long. */
export class ProviderFailure extends AppError {
  readonly fault: ProviderFault;

  constructor(fault: ProviderFault, options?: { cause?: unknown }) {
    const late = fault === 'timeout';
    super(late ? 504 : 502, late ? 'provider_timeout' : 'provider_error', FAULT_TEXTS[fault], options);
    this.fault = fault;
  }
}

export interface SpeechRequest {
  model: string;
  voiceId: string;
  text: string;
  /** BCP 47; undefined = the model finds out. */
  language: string | undefined;
  speed: number | undefined;
  /** `pcm` is 16 kHz, 16 bit, little-endian, mono. */
  format: 'mp3' | 'pcm';
}

/** Speaks a whole text. @throws ProviderFailure; the reason of `signal` */
export async function speakElevenLabs(
  account: ProviderAccount,
  fetch: SafeFetch,
  request: SpeechRequest,
  signal: AbortSignal,
): Promise<Buffer> {
  const { model, voiceId, text, language, speed, format } = request;
  const answer = await send(() =>
    fetch.request({
      ...account.target,
      method: 'POST',
      url:
        `${account.baseUrl}/v1/text-to-speech/${encodeURIComponent(voiceId)}` +
        `?output_format=${format === 'mp3' ? 'mp3_44100_128' : 'pcm_16000'}`,
      headers: { 'content-type': 'application/json', ...accountHeaders(account) },
      body: JSON.stringify({
        text,
        model_id: model,
        // Other models refuse it.
        ...(language !== undefined && model.includes('v2_5') && { language_code: language.split('-')[0] }),
        ...(speed !== undefined && {
          voice_settings: { speed: Math.min(SPEED.max, Math.max(SPEED.min, speed)) },
        }),
      }),
      timeoutMs: SPEECH_TIMEOUT_MS,
      signal,
    }),
  );
  const type = answer.headers['content-type'] ?? '';
  if (answer.truncated || !/^(audio|application\/octet-stream)/.test(type)) {
    throw new ProviderFailure('unexpected_answer');
  }
  return answer.body;
}

/** A recording that the provider offers of one of its voices. @returns undefined when there is none to be had */
export async function fetchPreview(
  fetch: SafeFetch,
  url: string,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  try {
    const answer = await fetch.request({ purpose: 'provider', url, timeoutMs: SPEECH_TIMEOUT_MS, signal });
    const isAudio = (answer.headers['content-type'] ?? '').startsWith('audio/');
    return answer.status === 200 && isAudio && !answer.truncated ? answer.body : undefined;
  } catch (error) {
    if (error instanceof OutboundFailedError || error instanceof OutboundRefusedError) return undefined;
    throw error;
  }
}

/** Makes a voice of recordings. @throws ProviderFailure */
export async function cloneElevenLabs(
  account: ProviderAccount,
  fetch: SafeFetch,
  request: { name: string; files: File[] },
  signal: AbortSignal,
): Promise<{ voiceId: string; needsVerification: boolean }> {
  const client = await openClient(account, fetch, CLONE_TIMEOUT_MS);
  try {
    const made = await client.voices.ivc.create(request, { abortSignal: signal });
    return { voiceId: made.voiceId, needsVerification: made.requiresVerification };
  } catch (error) {
    throw toFailure(error);
  }
}

/** One that is gone already is fine. @throws ProviderFailure */
export async function deleteElevenLabs(
  account: ProviderAccount,
  fetch: SafeFetch,
  voiceId: string,
): Promise<void> {
  const client = await openClient(account, fetch, DELETE_TIMEOUT_MS);
  try {
    await client.voices.delete(voiceId);
  } catch (error) {
    if (statusOf(error) === 404 || JSON.stringify(bodyOf(error) ?? '').includes('voice_not_found')) return;
    throw toFailure(error);
  }
}

/** The SDK weighs 150 MB: it is loaded by the first who clones. */
async function openClient(account: ProviderAccount, fetch: SafeFetch, timeoutMs: number) {
  const { ElevenLabsClient } = await import('@elevenlabs/elevenlabs-js');
  return new ElevenLabsClient({
    // It insists on a key; emulators take any.
    apiKey: account.apiKey?.reveal() ?? 'none',
    baseUrl: account.baseUrl,
    maxRetries: 0,
    timeoutInSeconds: timeoutMs / 1000,
    fetch: fetchThrough(fetch, account.target, timeoutMs),
  });
}

async function send(request: () => Promise<SafeResponse>): Promise<SafeResponse> {
  let answer: SafeResponse;
  try {
    answer = await request();
  } catch (error) {
    throw toFailure(error);
  }
  if (answer.status === 200) return answer;
  throw new ProviderFailure(faultOf(answer.status));
}

function faultOf(status: number): ProviderFault {
  if (status === 401 || status === 403) return 'auth';
  if (status === 429) return 'rate_limit';
  if (status === 408 || status === 504) return 'timeout';
  if (status >= 500) return 'unavailable';
  return status >= 400 ? 'refused' : 'unexpected_answer';
}

/** What the caller sees of it: one word. What is not the provider's doing stays what it is. */
function toFailure(error: unknown): unknown {
  const chain = [error, (error as { cause?: unknown } | null)?.cause];
  const failed = chain.find((one) => one instanceof OutboundFailedError);
  if (failed)
    return new ProviderFailure(failed.code === 'timeout' ? 'timeout' : 'unavailable', { cause: failed });
  if (chain.some((one) => one instanceof OutboundRefusedError)) return new ProviderFailure('refused');
  const name = error instanceof Error ? error.name : '';
  if (name === 'ElevenLabsTimeoutError') return new ProviderFailure('timeout');
  const status = statusOf(error);
  if (status !== undefined) return new ProviderFailure(faultOf(status));
  return /^(ElevenLabs|UnprocessableEntity|ParseError|JsonError)/.test(name)
    ? new ProviderFailure('unexpected_answer')
    : error;
}

function statusOf(error: unknown): number | undefined {
  const status = (error as { statusCode?: unknown } | null)?.statusCode;
  return typeof status === 'number' ? status : undefined;
}

function bodyOf(error: unknown): unknown {
  return (error as { body?: unknown } | null)?.body;
}
