import { UnavailableError } from '@parley/shared/errors/app-error';
import type { SafeFetch } from '@parley/shared/http/safe-fetch';
import type { ProviderName } from '@parley/shared/contracts/session-values';
import { ALL_PROVIDERS, providerDescriptor } from '../../providers/providers.ts';
import type { ProviderAccounts } from '../../providers/provider-accounts.ts';
import { fetchThrough } from '../../providers/safe-transport.ts';
import type { SearchThread } from './search-thread.ts';
import { quantise } from './vectors.ts';

/** Keyword search alone. */
export const NO_EMBEDDING = 'none';
/** The model within the installation: English only. */
export const BUILT_IN_EMBEDDING = 'built-in-en';
const PROVIDERS = ALL_PROVIDERS.filter(({ openEmbeddings }) => openEmbeddings !== undefined).map(
  ({ provider }) => provider,
);
/** What `embedding` of a base may be: a provider's model is named as the provider names it. */
export const EMBEDDING_PATTERN = new RegExp(
  `^(${NO_EMBEDDING}|${BUILT_IN_EMBEDDING}|(${PROVIDERS.join('|')}):[A-Za-z0-9][A-Za-z0-9._/:@-]{0,99})$`,
);
/** The forms of it, for people. */
export const EMBEDDING_FORMS = [
  NO_EMBEDDING,
  BUILT_IN_EMBEDDING,
  ...PROVIDERS.map((one) => `${one}:<model>`),
];

const TIMEOUT_MS = 30_000;
const QUERY_TIMEOUT_MS = 3000;
/** Texts that go to a model at a time. */
const BATCH = { built_in: 16, provider: 64 } as const;

/** Makes vectors of passages. */
export interface Embedder {
  readonly batch: number;
  /** @throws UnavailableError when the model cannot be asked */
  embed(
    texts: readonly string[],
    options: { signal: AbortSignal | undefined; query: boolean },
  ): Promise<Int8Array[]>;
}

type Owner = { org_id: string; project_id: string; embedding: string };

/** The embedding models of bases: that of the installation, and those of servers that the org has an account at. */
export class Embedders {
  readonly #thread: Pick<SearchThread, 'ask'>;
  readonly #accounts: Pick<ProviderAccounts, 'choose'>;
  readonly #fetch: SafeFetch;

  /** @param deps.thread where the built-in model reads passages */
  constructor(deps: {
    thread: Pick<SearchThread, 'ask'>;
    accounts: Pick<ProviderAccounts, 'choose'>;
    fetch: SafeFetch;
  }) {
    this.#thread = deps.thread;
    this.#accounts = deps.accounts;
    this.#fetch = deps.fetch;
  }

  /** Whether the model of a new base can be used. */
  async has(owner: Owner): Promise<boolean> {
    const { provider } = modelOf(owner);
    return provider === undefined || (await this.#account(owner, provider)) !== null;
  }

  /** @returns undefined for a base that is searched by words alone */
  of(owner: Owner): Embedder | undefined {
    if (owner.embedding === NO_EMBEDDING) return undefined;
    if (owner.embedding === BUILT_IN_EMBEDDING)
      return { batch: BATCH.built_in, embed: (texts) => this.#thread.ask('embed', { texts }) };
    return {
      batch: BATCH.provider,
      embed: (texts, { signal, query }) =>
        this.#byProvider(owner, texts, query ? QUERY_TIMEOUT_MS : TIMEOUT_MS, signal),
    };
  }

  #account({ org_id, project_id }: Owner, provider: ProviderName) {
    return this.#accounts.choose(org_id, provider, project_id);
  }

  async #byProvider(
    owner: Owner,
    texts: readonly string[],
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Int8Array[]> {
    const { provider, model } = modelOf(owner);
    const account = provider && (await this.#account(owner, provider));
    if (!account) throw new UnavailableError('The embedding model has no credentials.');
    const fetch = fetchThrough(this.#fetch, { ...account.target, orgId: owner.org_id }, timeoutMs);
    const address = { base_url: account.baseUrl, credential: account.apiKey?.reveal() ?? null, model };
    try {
      const opened = await providerDescriptor(provider).openEmbeddings!(address, fetch);
      const vectors = await opened.embed(texts, signal);
      if (vectors.length !== texts.length) throw new Error('The embedding model has left texts out.');
      return vectors.map(quantise);
    } catch (cause) {
      signal?.throwIfAborted();
      throw new UnavailableError('The embedding model did not answer.', { cause });
    }
  }
}

function modelOf({ embedding }: Owner): { provider: ProviderName | undefined; model: string } {
  const [name, ...model] = embedding.split(':');
  return { provider: PROVIDERS.find((one) => one === name), model: model.join(':') };
}
