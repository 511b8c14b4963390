import { z } from 'zod';
import type { SafeFetch } from '@parley/shared/http/safe-fetch';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { ProviderAccount } from '../providers/provider-accounts.ts';
import { accountHeaders } from '../providers/provider-check.ts';
import type { ProviderName } from '@parley/shared/contracts/session-values';

/** A voice of a provider's own library. */
export interface CatalogVoice {
  id: string;
  name: string;
  provider: ProviderName;
  ttsId: string;
  providerVoiceId: string;
  languages: string[];
  gender: string | null;
  description: string;
  tags: string[];
  /** Every account of the provider has it. */
  isPublic: boolean;
  previewUrl: string | null;
  createdAt: Date | null;
}

const ELEVENLABS_PREFIX = 'voc_elevenlabs_';
const ELEVENLABS_TTS = 'tts_elevenlabs_flash';

/** The built-in voice; always there. */
export const LOCAL_VOICE: CatalogVoice = {
  id: 'voc_flite_slt',
  name: 'Slt',
  provider: 'flite',
  ttsId: 'tts_local',
  providerVoiceId: 'slt',
  languages: ['en-US'],
  gender: 'female',
  description: 'The built-in voice: speaks English and requires no account.',
  tags: ['built-in'],
  isPublic: true,
  previewUrl: null,
  createdAt: null,
};

const KEPT_MS = 15 * 60_000;
/** A provider that did not answer is left alone for so long. */
const FAILED_KEPT_MS = 30_000;
const TIMEOUT_MS = 5000;
const MAX_ACCOUNTS = 200;
/** Of one account. */
export const MAX_CATALOG_VOICES = 500;

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

/** The part of an id that is the provider's own; undefined for ids of another form. */
export function elevenLabsVoiceId(id: string): string | undefined {
  return id.startsWith(ELEVENLABS_PREFIX) ? id.slice(ELEVENLABS_PREFIX.length) : undefined;
}

interface Remembered {
  voices: CatalogVoice[] | null;
  expiresAt: number;
  refreshing: Promise<CatalogVoice[] | null> | undefined;
}

/** Libraries of voices, asked of their providers and remembered for a quarter of an hour. */
export class VoiceCatalog {
  readonly #fetch: SafeFetch;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #accounts = new Map<string, Remembered>();

  constructor(deps: { fetch: SafeFetch; clock: Clock; logger: Logger }) {
    this.#fetch = deps.fetch;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** @returns null when the provider could not be asked, and has not been so far */
  async ofElevenLabs(account: ProviderAccount): Promise<CatalogVoice[] | null> {
    const key = `${account.version} ${account.baseUrl}`;
    let entry = this.#accounts.get(key);
    if (!entry) {
      entry = { voices: null, expiresAt: 0, refreshing: undefined };
      this.#accounts.set(key, entry);
      if (this.#accounts.size > MAX_ACCOUNTS) this.#accounts.delete(this.#accounts.keys().next().value!);
    }
    if (entry.expiresAt > this.#clock.monotonic()) return entry.voices;
    entry.refreshing ??= this.#refresh(account, entry);
    return entry.refreshing;
  }

  async #refresh(account: ProviderAccount, entry: Remembered): Promise<CatalogVoice[] | null> {
    try {
      entry.voices = await this.#ask(account);
      entry.expiresAt = this.#clock.monotonic() + KEPT_MS;
    } catch (error) {
      // What was known is still better than nothing.
      entry.expiresAt = this.#clock.monotonic() + FAILED_KEPT_MS;
      const code = error instanceof Error ? error.name : 'unknown';
      this.#logger.warn({ provider: account.provider, code }, 'voices could not be listed');
    }
    entry.refreshing = undefined;
    return entry.voices;
  }

  async #ask(account: ProviderAccount): Promise<CatalogVoice[]> {
    const answer = await this.#fetch.request({
      ...account.target,
      url: `${account.baseUrl}/v1/voices`,
      headers: { accept: 'application/json', ...accountHeaders(account) },
      timeoutMs: TIMEOUT_MS,
    });
    if (answer.status !== 200) throw new Error(`status ${answer.status}`);
    const { voices } = voiceListSchema.parse(JSON.parse(answer.body.toString('utf8')));
    return (
      voices
        .map((voice) => voiceSchema.safeParse(voice).data)
        .filter((voice) => voice !== undefined)
        // Others' clones may live in the installation's account.
        .filter((voice) => voice.category === 'premade' || account.credentialId !== null)
        .slice(0, MAX_CATALOG_VOICES)
        .map(toCatalogVoice)
    );
  }
}

function toCatalogVoice(voice: z.output<typeof voiceSchema>): CatalogVoice {
  const { gender, language, ...labels } = voice.labels;
  const languages = [...new Set([...voice.verified_languages.map((one) => one.language), language ?? ''])];
  const known = languages.filter((tag) => /^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$/.test(tag));
  return {
    id: `${ELEVENLABS_PREFIX}${voice.voice_id}`,
    name: voice.name.slice(0, 200),
    provider: 'elevenlabs',
    ttsId: ELEVENLABS_TTS,
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
