import type { SessionPlanWire } from '@parley/shared/contracts/session-plan';
import type { ProviderName } from '@parley/shared/contracts/session-values';
import type { SafeFetch } from '@parley/shared/http/safe-fetch';
import type { ModelPrice, OwnModelRecord } from './own-model-model.ts';
import { sameOrigin } from './provider-accounts.ts';
import type { ProviderAccount, ProviderAccounts, ProviderSettings } from './provider-accounts.ts';
import type { ModelKind } from './provider-descriptor.ts';
import { CATALOG, providerDescriptor, standardUrl } from './providers.ts';
import type { OrgProviderSource } from './provider-store.ts';
import { fetchThrough } from './safe-transport.ts';

export type { ModelKind } from './provider-descriptor.ts';

export type ModelStatus = 'available' | 'needs_credentials' | 'disabled';
export type PlanProviderWire = SessionPlanWire['stt'][number];

/** A speech or language model that agents may name. */
export interface CatalogModel {
  id: string;
  kind: ModelKind;
  provider: ProviderName;
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
  /** What an org's own model brings besides. */
  own: OwnModelRecord | null;
  /** Only of an org's own models. */
  prices: ModelPrice[];
}

/**
 * The models that an org may name: the installation's and its own. `projectId` decides which of the org's credentials
 * count; without it, those that are open to all of its projects.
 */
export interface ModelCatalog {
  /** The org's own, the newest first, then the installation's. Null = the installation's as it is by itself. */
  list(orgId: string | null, projectId?: string | null): Promise<CatalogModel[]>;
  find(orgId: string, id: string, projectId?: string | null): Promise<CatalogModel | undefined>;
  /** What is used where nobody has chosen: the first model of the installation that can be used. */
  fallback(orgId: string, kind: ModelKind, projectId?: string | null): Promise<string | undefined>;
  /**
   * The model with its address and credential, as a plan or an analysis uses it.
   * @returns undefined when there is no such model, or it or the voice can't be used now
   */
  resolve(orgId: string, id: string, use: ModelUse): Promise<PlanProviderWire | undefined>;
  /** Whether what the org does with the model is on an account of the installation. */
  paidByInstallation(orgId: string, id: string, use: Pick<ModelUse, 'projectId' | 'voice'>): Promise<boolean>;
  /** Names the account that the model is used with; null for what runs inside the installation, or cannot be used. */
  credentialOf(orgId: string, id: string, projectId: string | null): Promise<string | null>;
  /** How a resolved model is called from here: its address may be a tenant's. */
  fetchFor(orgId: string): typeof globalThis.fetch;
  /** Whether agents of the org may speak with this voice of this TTS model. */
  hasVoice(orgId: string, ttsId: string, voiceId: string, projectId?: string | null): Promise<boolean>;
}

export interface ModelUse {
  language: string;
  projectId?: string | null;
  /** A voice's id, ours or the provider's own (TTS); null = the model's default voice. */
  voice?: string | null;
  options?: Record<string, unknown>;
}

/** A voice that somebody has named, as its provider knows it. */
export interface LocatedVoice {
  providerVoiceId: string;
  /** The account it lives in, for a clone: an org's credential, null = the installation's. */
  credentialId?: string | null;
}

/** What the catalogue has to know of voices. */
export interface VoiceSource {
  /** @returns null for what does not exist, is not ready, or belongs to others */
  locate(orgId: string, provider: ProviderName, voiceId: string): Promise<LocatedVoice | null>;
  /** False when the account's provider says that it has no such voice; true when it has, or could not be asked. */
  isListed(account: ProviderAccount, voiceId: string): Promise<boolean>;
}

/** A model ready to be called. */
export interface OpenModel {
  model: CatalogModel;
  /** Null for what runs inside the installation. */
  account: ProviderAccount | null;
  voice: string | undefined;
}

type Entry = (typeof CATALOG)[number];

const CAPABILITIES: Record<ModelKind, string[]> = {
  stt: ['streaming', 'word_times'],
  llm: ['streaming', 'tools'],
  tts: ['streaming', 'word_times'],
};

/** Of one request; libraries have shorter ones of their own. */
const REQUEST_TIMEOUT_MS = 60_000;

export function isCatalogueModel(id: string): boolean {
  return CATALOG.some((entry) => entry.id === id);
}

export class OrgModelCatalog implements ModelCatalog {
  readonly #accounts: ProviderAccounts;
  readonly #source: OrgProviderSource;
  readonly #voices: VoiceSource;
  readonly #fetch: Pick<SafeFetch, 'request'>;

  constructor(deps: {
    accounts: ProviderAccounts;
    source: OrgProviderSource;
    voices: VoiceSource;
    fetch: Pick<SafeFetch, 'request'>;
  }) {
    this.#accounts = deps.accounts;
    this.#source = deps.source;
    this.#voices = deps.voices;
    this.#fetch = deps.fetch;
  }

  async list(orgId: string | null, projectId: string | null = null): Promise<CatalogModel[]> {
    const own = orgId === null ? [] : (await this.#source.ofOrg(orgId)).models;
    return Promise.all([
      ...own.map(async (record) => (await this.#openOwn(record, projectId)).model),
      ...CATALOG.map(async (entry) => (await this.#openEntry(orgId, entry, projectId)).model),
    ]);
  }

  async find(orgId: string, id: string, projectId: string | null = null): Promise<CatalogModel | undefined> {
    return (await this.#find(orgId, id, projectId))?.model;
  }

  async fallback(
    orgId: string,
    kind: ModelKind,
    projectId: string | null = null,
  ): Promise<string | undefined> {
    for (const entry of CATALOG) {
      if (entry.kind !== kind) continue;
      if ((await this.#openEntry(orgId, entry, projectId)).model.status === 'available') return entry.id;
    }
    return undefined;
  }

  async resolve(orgId: string, id: string, use: ModelUse): Promise<PlanProviderWire | undefined> {
    const opened = await this.open(orgId, id, use);
    if (!opened) return undefined;
    const { model, account, voice } = opened;
    return {
      id,
      provider: model.provider,
      emulated: model.emulated,
      base_url: account?.baseUrl ?? '',
      tenant_address:
        account !== null && !this.#accounts.installationOrigins().includes(new URL(account.baseUrl).origin),
      credential: account?.apiKey?.reveal() ?? null,
      model: model.model,
      ...(voice === undefined ? {} : { voice }),
      language: use.language,
      options: use.options ?? {},
    };
  }

  /** As `resolve`, for calls that the control plane makes itself. */
  async open(
    orgId: string,
    id: string,
    use: Pick<ModelUse, 'projectId' | 'voice'>,
  ): Promise<OpenModel | undefined> {
    const projectId = use.projectId ?? null;
    const found = await this.#find(orgId, id, projectId);
    if (found?.model.status !== 'available') return undefined;
    const { model } = found;
    if (model.kind !== 'tts' || use.voice == null) return found;
    const voice = await this.#voices.locate(orgId, model.provider, use.voice);
    if (!voice) return undefined;
    const { providerVoiceId, credentialId } = voice;
    if (credentialId === undefined) return { ...found, voice: providerVoiceId };
    // A clone can only speak in the account that it was made in.
    const account =
      credentialId === null
        ? this.#accounts.installation(model.provider)
        : await this.#accounts.byCredential(orgId, credentialId, projectId);
    return account
      ? { model: { ...model, emulated: account.emulated }, account, voice: providerVoiceId }
      : undefined;
  }

  async paidByInstallation(
    orgId: string,
    id: string,
    use: Pick<ModelUse, 'projectId' | 'voice'>,
  ): Promise<boolean> {
    const opened = await this.open(orgId, id, use);
    return opened?.account?.credentialId === null && opened.model.orgId === null;
  }

  async credentialOf(orgId: string, id: string, projectId: string | null): Promise<string | null> {
    const account = (await this.#find(orgId, id, projectId))?.account;
    if (!account) return null;
    if (account.credentialId !== null) return account.credentialId;
    // One of the installation's, or a server that an own model names and that asks for no key.
    return account.version === 'installation' ? `installation:${account.provider}` : account.version;
  }

  fetchFor(orgId: string): typeof globalThis.fetch {
    const allow = this.#accounts.installationOrigins();
    return fetchThrough(this.#fetch, { purpose: 'provider', orgId, allow }, REQUEST_TIMEOUT_MS);
  }

  async hasVoice(
    orgId: string,
    ttsId: string,
    voiceId: string,
    projectId: string | null = null,
  ): Promise<boolean> {
    const found = await this.#find(orgId, ttsId, projectId);
    if (found?.model.kind !== 'tts') return false;
    if (!(await this.#voices.locate(orgId, found.model.provider, voiceId))) return false;
    return found.account === null || this.#voices.isListed(found.account, voiceId);
  }

  async #find(orgId: string, id: string, projectId: string | null): Promise<OpenModel | undefined> {
    const entry = CATALOG.find((candidate) => candidate.id === id);
    if (entry) return this.#openEntry(orgId, entry, projectId);
    const { models } = await this.#source.ofOrg(orgId);
    const own = models.find((record) => record._id === id);
    return own && this.#openOwn(own, projectId);
  }

  async #openEntry(orgId: string | null, entry: Entry, projectId: string | null): Promise<OpenModel> {
    const { voice, ...facts } = entry;
    const selfHosted = providerDescriptor(entry.provider).api === null;
    const account = selfHosted ? null : await this.#accounts.choose(orgId, entry.provider, projectId);
    // The operator's choice of a model is one for the operator's server.
    const settings: ProviderSettings | undefined =
      account?.credentialId === null ? this.#accounts.settings(entry.provider) : undefined;
    const model: CatalogModel = {
      ...facts,
      model: settings?.model ?? entry.model,
      selfHosted,
      orgId: null,
      emulated: account?.emulated ?? false,
      // A server of the operator's own may need no key: an address alone is enough then.
      status: selfHosted || account ? 'available' : 'needs_credentials',
      own: null,
      prices: [],
    };
    return { model, account, voice };
  }

  async #openOwn(record: OwnModelRecord, projectId: string | null): Promise<OpenModel> {
    const account = await this.#ownAccount(record, projectId);
    const model: CatalogModel = {
      id: record._id,
      kind: record.kind,
      provider: record.provider,
      model: record.model,
      name: record.name,
      languages: record.languages,
      capabilities: CAPABILITIES[record.kind],
      selfHosted: false,
      orgId: record.org_id,
      emulated: account?.emulated ?? false,
      status: record.disabled ? 'disabled' : account ? 'available' : 'needs_credentials',
      own: record,
      prices: record.prices,
    };
    return { model, account, voice: CATALOG.find(isVoiceOf(record.provider))?.voice };
  }

  /** Never the installation's: its keys stay at its own addresses. */
  async #ownAccount(record: OwnModelRecord, projectId: string | null): Promise<ProviderAccount | null> {
    const { provider, org_id: orgId } = record;
    const baseUrl = record.base_url ?? standardUrl(provider);
    if (record.credential_id !== null) {
      const account = await this.#accounts.byCredential(orgId, record.credential_id, projectId);
      // The credential may have moved to another address since: its key does not follow a model elsewhere.
      return account && sameOrigin(account.baseUrl, baseUrl) ? { ...account, baseUrl } : null;
    }
    if (!providerDescriptor(provider).api?.othersServe) return null;
    return {
      provider,
      baseUrl,
      apiKey: null,
      emulated: this.#accounts.isEmulated(provider, baseUrl),
      credentialId: null,
      version: record._id,
      target: { purpose: 'provider', orgId },
    };
  }
}

function isVoiceOf(provider: ProviderName) {
  return (entry: Entry) => entry.kind === 'tts' && entry.provider === provider;
}

/** Whether a list of languages (tags or `*`) covers the wanted one: `en` and `en-GB` fit each other, `en-US` and `en-GB` don't. */
export function coversLanguage(languages: readonly string[], wanted: string): boolean {
  const tag = wanted.toLowerCase();
  return languages.some((language) => {
    const own = language.toLowerCase();
    return own === '*' || own === tag || own.startsWith(`${tag}-`) || tag.startsWith(`${own}-`);
  });
}
