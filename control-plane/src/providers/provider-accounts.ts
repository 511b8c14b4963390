import type { ProviderName } from '@parley/shared/contracts/session-values';
import { Secret } from '@parley/shared/config/secret';
import type { SafeTarget } from '@parley/shared/http/safe-fetch';
import { z } from 'zod';
import type { SecretBox } from '../crypto/secret-box.ts';
import type { ProviderCredentialRecord } from './provider-credential-model.ts';
import { standardUrl } from './providers.ts';
import type { OrgProviderSource } from './provider-store.ts';

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
export type InstallationProviders = Partial<Record<ProviderName, ProviderSettings | undefined>>;

/** Where and as whom a provider is called. */
export interface ProviderAccount {
  provider: ProviderName;
  baseUrl: string;
  apiKey: Secret | null;
  emulated: boolean;
  /** The org's credential behind it; null = the installation's. */
  credentialId: string | null;
  /** Changes with its credential: a key for what is remembered of it. */
  version: string;
  /** What the outgoing rule says of its address: the installation's own is exempt. */
  target: SafeTarget;
}

const storedValues = z.object({ api_key: z.string() });

/** Accounts at providers: the org's own win over the installation's, and each is used at its own address only. */
export class ProviderAccounts {
  readonly #source: OrgProviderSource;
  readonly #box: Pick<SecretBox, 'decryptSecret'>;
  readonly #installation: InstallationProviders;

  constructor(deps: {
    source: OrgProviderSource;
    box: Pick<SecretBox, 'decryptSecret'>;
    installation: InstallationProviders;
  }) {
    this.#source = deps.source;
    this.#box = deps.box;
    this.#installation = deps.installation;
  }

  /**
   * The account that an org's calls use. A credential of the org that the provider has refused stands in the way of
   * the installation's: what is wrong is said, not papered over.
   * @param orgId null = the installation's account alone
   * @param projectId null = what all of the org's projects share
   */
  async choose(
    orgId: string | null,
    provider: ProviderName,
    projectId: string | null,
  ): Promise<ProviderAccount | null> {
    if (orgId === null) return this.installation(provider);
    const { credentials } = await this.#source.ofOrg(orgId);
    const own = credentials
      .filter((credential) => credential.provider === provider && isOpenTo(credential, projectId))
      .sort((a, b) => preference(b) - preference(a))[0];
    if (!own) return this.installation(provider);
    return own.status === 'invalid' ? null : this.open(own);
  }

  /** The account of one credential; null when it is gone, refused or not open to the project. */
  async byCredential(
    orgId: string,
    credentialId: string,
    projectId: string | null,
  ): Promise<ProviderAccount | null> {
    const { credentials } = await this.#source.ofOrg(orgId);
    const own = credentials.find(({ _id }) => _id === credentialId);
    return own && own.status !== 'invalid' && isOpenTo(own, projectId) ? this.open(own) : null;
  }

  installation(provider: ProviderName): ProviderAccount | null {
    const settings = this.settings(provider);
    if (!settings) return null;
    const { baseUrl, apiKey, emulated } = settings;
    const target: SafeTarget = { purpose: 'provider', allow: [new URL(baseUrl).origin] };
    return { provider, baseUrl, apiKey, emulated, credentialId: null, version: 'installation', target };
  }

  /** Origins of the operator's own choice. */
  installationOrigins(): string[] {
    return Object.values(this.#installation).flatMap((settings?: ProviderSettings) =>
      settings ? [new URL(settings.baseUrl).origin] : [],
    );
  }

  settings(provider: ProviderName): ProviderSettings | undefined {
    return this.#installation[provider];
  }

  open(credential: ProviderCredentialRecord): ProviderAccount {
    const { provider, org_id: orgId } = credential;
    const baseUrl = credential.base_url ?? standardUrl(provider);
    const values = storedValues.parse(JSON.parse(this.#box.decryptSecret(credential.values)));
    return {
      provider,
      baseUrl,
      apiKey: new Secret(values.api_key),
      emulated: this.isEmulated(provider, baseUrl),
      credentialId: credential._id,
      version: `${credential._id}@${credential.updated_at.getTime()}`,
      target: { purpose: 'provider', orgId },
    };
  }

  /** Whether one of our emulators is known to stand behind an address. */
  isEmulated(provider: ProviderName, baseUrl: string): boolean {
    const settings = this.settings(provider);
    return settings?.emulated === true && sameOrigin(settings.baseUrl, baseUrl);
  }
}

export function sameOrigin(a: string, b: string): boolean {
  return URL.canParse(a) && URL.canParse(b) && new URL(a).origin === new URL(b).origin;
}

export function isOpenTo(
  { project_ids: projects }: Pick<ProviderCredentialRecord, 'project_ids'>,
  projectId: string | null,
): boolean {
  return projects === null || (projectId !== null && projects.includes(projectId));
}

/** Usable before refused, made for the project before open to all; the oldest decides between equals. */
function preference({ status, project_ids }: ProviderCredentialRecord): number {
  return (status === 'invalid' ? 0 : 2) + (project_ids === null ? 0 : 1);
}
