import { z } from 'zod';
import { OutboundFailedError, OutboundRefusedError } from '@parley/shared/http/outbound-errors';
import type { SafeFetch, SafeResponse } from '@parley/shared/http/safe-fetch';
import type { ProviderAccount } from '../provider-accounts.ts';
import { ProviderFailure, type ProviderFault } from '../provider-failure.ts';
import type { CatalogVoice, ProviderVoices, SpeechRequest } from '../provider-voices.ts';
import { fetchThrough } from '../safe-transport.ts';

const ID_PREFIX = 'voc_elevenlabs_';
export const FLASH = 'tts_elevenlabs_flash';

const LIST_TIMEOUT_MS = 5000;
const SPEECH_TIMEOUT_MS = 30_000;
const CLONE_TIMEOUT_MS = 120_000;
const DELETE_TIMEOUT_MS = 15_000;
/** The range that the provider takes. */
const SPEED = { min: 0.7, max: 1.2 };

const text = z.string().catch('');
const voiceListSchema = z.object({
  voices: z.array(z.unknown()),
});
const voiceSchema = z.object({
  voice_id: z.string().regex(/^[A-Za-z0-9_-]{1,48}$/),
  name: z.string().min(1),
  category: z.string().nullish(),
  labels: z.record(z.string(), z.string()).catch({}),
  description: text,
  preview_url: z
    .url({ protocol: /^https$/ })
    .nullable()
    .catch(null),
  verified_languages: z.array(z.object({ language: z.string() })).catch([]),
  created_at_unix: z.number().nullable().catch(null),
});

const refusalSchema = z.object({
  detail: z.object({ status: z.string().optional(), param: z.string().optional() }),
});

/** The header that the vendor takes a key in. */
export function toHeaders(apiKey: string): Record<string, string> {
  return { 'xi-api-key': apiKey };
}

export const elevenLabsVoices: ProviderVoices = {
  idPrefix: ID_PREFIX,
  list,
  speak,
  clones: { make: makeClone, delete: deleteClone },
};

async function list(account: ProviderAccount, fetch: SafeFetch): Promise<CatalogVoice[]> {
  const answer = await fetch.request({
    ...account.target,
    url: `${account.baseUrl}/v1/voices`,
    headers: { accept: 'application/json', ...headersOf(account) },
    timeoutMs: LIST_TIMEOUT_MS,
  });
  if (answer.status !== 200) throw new Error(`status ${answer.status}`);
  const { voices } = voiceListSchema.parse(JSON.parse(answer.body.toString('utf8')));
  return (
    voices
      .map((voice) => voiceSchema.safeParse(voice).data)
      .filter((voice) => voice !== undefined)
      // Others' clones may live in the installation's account.
      .filter((voice) => voice.category === 'premade' || account.credentialId !== null)
      .map(toCatalogVoice)
  );
}

async function speak(
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
      headers: { 'content-type': 'application/json', ...headersOf(account) },
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

async function makeClone(
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

async function deleteClone(account: ProviderAccount, fetch: SafeFetch, voiceId: string): Promise<void> {
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
  throw new ProviderFailure(isOfLanguage(answer) ? 'language' : faultOf(answer.status));
}

/** Whether it is the model that does not speak the language of the request. */
function isOfLanguage({ status, body }: SafeResponse): boolean {
  if (status !== 400 && status !== 422) return false;
  try {
    const { detail } = refusalSchema.parse(JSON.parse(body.toString('utf8')));
    return detail.status === 'unsupported_language' || detail.param === 'language_code';
  } catch {
    return false;
  }
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

function headersOf({ apiKey }: ProviderAccount): Record<string, string> {
  return apiKey ? toHeaders(apiKey.reveal()) : {};
}

function toCatalogVoice(voice: z.output<typeof voiceSchema>): CatalogVoice {
  const { gender, language, ...labels } = voice.labels;
  const languages = [...new Set([...voice.verified_languages.map((one) => one.language), language ?? ''])];
  const known = languages.filter((tag) => /^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/.test(tag));
  return {
    id: `${ID_PREFIX}${voice.voice_id}`,
    name: voice.name.slice(0, 200),
    provider: 'elevenlabs',
    ttsId: FLASH,
    providerVoiceId: voice.voice_id,
    // Its models speak every language with every voice; some were checked.
    languages: known.length > 0 ? known : ['*'],
    gender: gender ?? null,
    description: voice.description.slice(0, 1000),
    tags: Object.values(labels)
      .filter((label) => label !== '')
      .slice(0, 20),
    isPublic: voice.category === 'premade',
    previewUrl: voice.preview_url,
    createdAt: voice.created_at_unix === null ? null : new Date(voice.created_at_unix * 1000),
  };
}
