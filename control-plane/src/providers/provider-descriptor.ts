import type { ProviderName } from '@parley/shared/contracts/session-values';
import type { ChatAddress, ChatModel, EmbeddingModel } from './chat.ts';
import type { ProviderVoices } from './provider-voices.ts';

export type ModelKind = 'stt' | 'llm' | 'tts';

/** A model of the catalogue: every installation has it, and can use it once it has an account. */
export interface CatalogEntry {
  id: string;
  kind: ModelKind;
  model: string;
  name: string;
  /** BCP 47 tags or `*`. */
  languages: string[];
  capabilities: string[];
  /** Voice when the agent names none. */
  voice?: string;
}

/** What the platform has to know of a provider. */
export interface ProviderDescriptor {
  readonly name: string;
  /** Kinds of models that run on it. */
  readonly kinds: readonly ModelKind[];
  /** Keys of a credential's `values`. */
  readonly credentialFields: readonly { name: string; label: string; required: boolean }[];
  /** Where it is called; null for what runs inside this installation: no account, no address. */
  readonly api: ProviderApi | null;
  /** In the order in which they are chosen where nobody has chosen. */
  readonly models: readonly CatalogEntry[];
  /** Its language models, as they are asked outside of calls; whoever has some has this. */
  openChat?(address: ChatAddress, fetch: typeof globalThis.fetch): Promise<ChatModel>;
  /** Its embedding models; whoever has some has this. */
  openEmbeddings?(address: ChatAddress, fetch: typeof globalThis.fetch): Promise<EmbeddingModel>;
  /** Its voices, where an account of it has some. */
  readonly voices?: ProviderVoices;
}

export interface ProviderApi {
  /**
   * The installation's own account is in the variables `<VARIABLE>_API_KEY` and `<VARIABLE>_BASE_URL`;
   * `EMULATED_PROVIDERS` has it in lower case.
   */
  readonly variable: string;
  /** `<VARIABLE>_MODEL` may name another model than the catalogue's. */
  readonly operatorNamesModel?: boolean;
  /** The vendor's own address; used when a credential names none. */
  readonly standardUrl: string;
  /** Its models are mostly others' servers: an org's own model needs an address, and may need no key. */
  readonly othersServe?: boolean;
  /** The cheapest call that needs a good key and costs nothing. */
  readonly checkPath: string;
  /** Headers that an account's key is taken in. */
  toHeaders(apiKey: string): Record<string, string>;
}

export const API_KEY = [{ name: 'api_key', label: 'API key', required: true }] as const;

export interface NamedProvider extends ProviderDescriptor {
  readonly provider: ProviderName;
}
