import type { SessionPlanWire } from '@parley/shared/contracts/session-plan';
import type { Secret } from '@parley/shared/config/secret';

/** A provider of the installation; set in the environment, never by a tenant. */
export interface ProviderSettings {
  baseUrl: string;
  apiKey: Secret | null;
  /** An emulator of ours stands behind `baseUrl`. */
  emulated: boolean;
  /** Model name for the built-in catalogue entry, where the operator chose another. */
  model?: string | undefined;
}

/** A provider without settings has no models that can be used. */
export interface InstallationProviders {
  deepgram?: ProviderSettings | undefined;
  openai?: ProviderSettings | undefined;
  elevenlabs?: ProviderSettings | undefined;
}

export type ModelKind = 'stt' | 'llm' | 'tts';
export type ModelStatus = 'available' | 'needs_credentials' | 'disabled';
export type PlanProviderWire = SessionPlanWire['stt'][number];

/** A speech or language model that agents may name. */
export interface CatalogModel {
  id: string;
  kind: ModelKind;
  provider: 'deepgram' | 'openai_compatible' | 'elevenlabs' | 'flite';
  model: string;
  name: string;
  /** BCP 47 tags or `*`. */
  languages: string[];
  capabilities: string[];
  selfHosted: boolean;
  /** Owner of an own model; null for the installation's. */
  orgId: string | null;
  status: ModelStatus;
  emulated: boolean;
}

/** Where models come from. Org models will be a second source behind the same interface. */
export interface ModelCatalog {
  /** Models the org may see. */
  list(orgId: string): Promise<CatalogModel[]>;
  find(orgId: string, id: string): Promise<CatalogModel | undefined>;
  /** What is used where nobody has chosen: the first model of the kind that can be used. */
  fallback(orgId: string, kind: ModelKind): Promise<string | undefined>;
  /**
   * The model with its address and credential, as a plan or an analysis uses it.
   * @returns undefined when there is no such model, or it can't be used now
   */
  resolve(orgId: string, id: string, use: ModelUse): Promise<PlanProviderWire | undefined>;
}

export interface ModelUse {
  language: string;
  /** The provider's own voice id (TTS); null = the model's default voice. */
  voice?: string | null;
  options?: Record<string, unknown>;
}

interface Entry extends Omit<CatalogModel, 'status' | 'orgId' | 'emulated' | 'selfHosted'> {
  settings: keyof InstallationProviders | null;
  /** Voice when the agent names none. */
  voice?: string;
}

const ENTRIES: readonly Entry[] = [
  {
    id: 'stt_deepgram_nova3',
    kind: 'stt',
    provider: 'deepgram',
    model: 'nova-3',
    name: 'Deepgram Nova-3',
    languages: ['*'],
    capabilities: ['streaming', 'word_times'],
    settings: 'deepgram',
  },
  {
    id: 'stt_deepgram_flux',
    kind: 'stt',
    provider: 'deepgram',
    model: 'flux-general-en',
    name: 'Deepgram Flux',
    languages: ['en'],
    capabilities: ['streaming', 'turn_detection'],
    settings: 'deepgram',
  },
  {
    id: 'llm_openai_gpt41_mini',
    kind: 'llm',
    provider: 'openai_compatible',
    model: 'gpt-4.1-mini',
    name: 'OpenAI GPT-4.1 mini',
    languages: ['*'],
    capabilities: ['streaming', 'tools', 'json_schema'],
    settings: 'openai',
  },
  {
    id: 'tts_elevenlabs_flash',
    kind: 'tts',
    provider: 'elevenlabs',
    model: 'eleven_flash_v2_5',
    name: 'ElevenLabs Flash v2.5',
    languages: ['*'],
    capabilities: ['streaming', 'word_times'],
    settings: 'elevenlabs',
    // "Rachel", of the vendor's premade voices.
    voice: '21m00Tcm4TlvDq8ikWAM',
  },
  {
    id: 'tts_local',
    kind: 'tts',
    provider: 'flite',
    model: 'flite',
    name: 'Built-in voice',
    languages: ['en'],
    capabilities: [],
    settings: null,
    voice: 'slt',
  },
];

/** The models this installation offers to every org. */
export class InstallationModelCatalog implements ModelCatalog {
  readonly #providers: InstallationProviders;

  constructor(providers: InstallationProviders) {
    this.#providers = providers;
  }

  list(_orgId: string): Promise<CatalogModel[]> {
    return Promise.resolve(ENTRIES.map((entry) => this.#toModel(entry)));
  }

  find(_orgId: string, id: string): Promise<CatalogModel | undefined> {
    const entry = ENTRIES.find((candidate) => candidate.id === id);
    return Promise.resolve(entry && this.#toModel(entry));
  }

  fallback(_orgId: string, kind: ModelKind): Promise<string | undefined> {
    const usable = ENTRIES.find(
      (entry) => entry.kind === kind && this.#toModel(entry).status === 'available',
    );
    return Promise.resolve(usable?.id);
  }

  resolve(_orgId: string, id: string, use: ModelUse): Promise<PlanProviderWire | undefined> {
    const entry = ENTRIES.find((candidate) => candidate.id === id);
    if (!entry || this.#toModel(entry).status !== 'available') return Promise.resolve(undefined);
    const settings = this.#settings(entry);
    const voice = use.voice ?? entry.voice;
    return Promise.resolve({
      id: entry.id,
      provider: entry.provider,
      emulated: settings?.emulated ?? false,
      base_url: settings?.baseUrl ?? '',
      credential: settings?.apiKey?.reveal() ?? null,
      model: settings?.model ?? entry.model,
      ...(entry.kind === 'tts' && voice !== undefined ? { voice } : {}),
      language: use.language,
      options: use.options ?? {},
    });
  }

  #settings(entry: Entry): ProviderSettings | undefined {
    return entry.settings === null ? undefined : this.#providers[entry.settings];
  }

  #toModel({ settings: _settings, voice: _voice, ...entry }: Entry): CatalogModel {
    const settings = _settings === null ? undefined : this.#providers[_settings];
    // A server of the operator's own may need no key: an address alone is enough then.
    const usable = _settings === null || settings !== undefined;
    return {
      ...entry,
      model: (entry.kind === 'llm' ? settings?.model : undefined) ?? entry.model,
      selfHosted: _settings === null,
      orgId: null,
      emulated: settings?.emulated ?? false,
      status: usable ? 'available' : 'needs_credentials',
    };
  }
}
