/** Providers that the platform speaks to. Wire names; the list is open. */
export const PROVIDER_NAMES = ['deepgram', 'openai_compatible', 'elevenlabs', 'flite'] as const;
export type ProviderName = (typeof PROVIDER_NAMES)[number];

export type ModelKind = 'stt' | 'llm' | 'tts';

export interface ProviderDefinition {
  provider: ProviderName;
  name: string;
  /** Kinds of models that run on it. */
  kinds: readonly ModelKind[];
  /** Keys of a credential's `values`. */
  credentialFields: readonly { name: string; label: string; required: boolean }[];
  /** Runs inside this installation: no account, no address. */
  selfHosted: boolean;
  /** The vendor's own address; used when a credential names none. */
  standardUrl: string | null;
}

const API_KEY = [{ name: 'api_key', label: 'API key', required: true }] as const;

export const PROVIDERS: readonly ProviderDefinition[] = [
  {
    provider: 'deepgram',
    name: 'Deepgram',
    kinds: ['stt'],
    credentialFields: API_KEY,
    selfHosted: false,
    standardUrl: 'https://api.deepgram.com',
  },
  {
    provider: 'openai_compatible',
    name: 'OpenAI and compatible servers',
    kinds: ['llm'],
    credentialFields: API_KEY,
    selfHosted: false,
    standardUrl: 'https://api.openai.com/v1',
  },
  {
    provider: 'elevenlabs',
    name: 'ElevenLabs',
    kinds: ['tts'],
    credentialFields: API_KEY,
    selfHosted: false,
    standardUrl: 'https://api.elevenlabs.io',
  },
  {
    provider: 'flite',
    name: 'Built-in voice',
    kinds: ['tts'],
    credentialFields: [],
    selfHosted: true,
    standardUrl: null,
  },
];

export function providerDefinition(name: ProviderName): ProviderDefinition {
  return PROVIDERS.find(({ provider }) => provider === name)!;
}
