import type { ProviderName } from '@parley/shared/contracts/session-values';
import type { SafeFetch } from '@parley/shared/http/safe-fetch';
import type { ProviderAccount } from './provider-accounts.ts';
import { ALL_PROVIDERS, providerDescriptor } from './providers.ts';

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

/** How a provider's voices are found, heard and made. Each call keeps to the outgoing rule of `fetch`. */
export interface ProviderVoices {
  /** What the ids of its library's voices begin with; the rest is the provider's own id. */
  readonly idPrefix: string;
  /** The library of an account. @throws whatever the request met */
  list(account: ProviderAccount, fetch: SafeFetch): Promise<CatalogVoice[]>;
  /** Speaks a whole text. @throws ProviderFailure; the reason of `signal` */
  speak(
    account: ProviderAccount,
    fetch: SafeFetch,
    request: SpeechRequest,
    signal: AbortSignal,
  ): Promise<Buffer>;
  /** Left out by a provider that makes none. */
  readonly clones?: VoiceClones;
}

export interface VoiceClones {
  /** Makes a voice of recordings. @throws ProviderFailure */
  make(
    account: ProviderAccount,
    fetch: SafeFetch,
    request: { name: string; files: File[] },
    signal: AbortSignal,
  ): Promise<{ voiceId: string; needsVerification: boolean }>;
  /** One that is gone already is fine. @throws ProviderFailure */
  delete(account: ProviderAccount, fetch: SafeFetch, voiceId: string): Promise<void>;
}

/** Those with voices in accounts of theirs. */
export const VOICE_PROVIDERS = ALL_PROVIDERS.filter(({ voices }) => voices).map(({ provider }) => provider);

export function voicesOf(provider: ProviderName): ProviderVoices | undefined {
  return providerDescriptor(provider).voices;
}

/** The part of an id that is the provider's own; undefined for ids that are none of its library's. */
export function libraryVoiceId(provider: ProviderName, id: string): string | undefined {
  const prefix = voicesOf(provider)?.idPrefix;
  return prefix !== undefined && id.startsWith(prefix) ? id.slice(prefix.length) : undefined;
}

/** Whether an id is of some provider's library. */
export function isLibraryVoice(id: string): boolean {
  return VOICE_PROVIDERS.some((provider) => libraryVoiceId(provider, id) !== undefined);
}
