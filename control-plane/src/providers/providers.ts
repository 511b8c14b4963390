import { PROVIDERS, type ProviderName } from '@parley/shared/contracts/session-values';
import type { ModelKind, NamedProvider, ProviderDescriptor } from './provider-descriptor.ts';
import { deepgram } from './vendors/deepgram.ts';
import { elevenLabs } from './vendors/elevenlabs.ts';
import { flite } from './vendors/flite.ts';
import { openAiCompatible } from './vendors/openai-compatible.ts';

/** The providers of speech and language models: the only place that names them. */
const byName = {
  deepgram,
  openai_compatible: openAiCompatible,
  elevenlabs: elevenLabs,
  flite,
} as const satisfies Record<ProviderName, ProviderDescriptor>;

type Api = NonNullable<(typeof byName)[ProviderName]['api']>;
/** What the names of a provider's variables begin with. */
export type ProviderVariable = Api['variable'];
export type ModelVariable = `${Extract<Api, { operatorNamesModel: true }>['variable']}_MODEL`;

export function providerDescriptor(name: ProviderName): ProviderDescriptor {
  return byName[name];
}

export const ALL_PROVIDERS: readonly NamedProvider[] = PROVIDERS.map((provider) => ({
  provider,
  ...providerDescriptor(provider),
}));

/** Those that are called somewhere, with the names of their variables. */
export const CALLED_PROVIDERS = PROVIDERS.flatMap((provider) => {
  const { api } = byName[provider];
  return api === null ? [] : [{ provider, api }];
});

/** The vendor's address, where neither a credential nor a model names one. @throws for what runs inside */
export function standardUrl(name: ProviderName): string {
  const { api } = providerDescriptor(name);
  if (!api) throw new Error(`${name} is called nowhere.`);
  return api.standardUrl;
}

/** The catalogue, in the order of the providers. */
export const CATALOG = ALL_PROVIDERS.flatMap(({ provider, models }) =>
  models.map((entry) => ({ provider, ...entry })),
);

export type { ModelKind };
