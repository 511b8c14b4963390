import type { SafeFetch } from '@parley/shared/http/safe-fetch';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { ProviderAccount } from '../providers/provider-accounts.ts';
import { voicesOf, type CatalogVoice } from '../providers/provider-voices.ts';

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
const MAX_ACCOUNTS = 200;
/** Of one account. */
const MAX_CATALOG_VOICES = 500;

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
  async of(account: ProviderAccount): Promise<CatalogVoice[] | null> {
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
      const voices = (await voicesOf(account.provider)?.list(account, this.#fetch)) ?? [];
      entry.voices = voices.slice(0, MAX_CATALOG_VOICES);
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
}
