import { OutboundFailedError, OutboundRefusedError } from '@parley/shared/http/outbound-errors';
import type { SafeFetch } from '@parley/shared/http/safe-fetch';
import type { ProviderAccount } from './provider-accounts.ts';
import { providerDescriptor } from './providers.ts';

/** What a provider's own API says of an account; words of an open list. */
export type CheckResult = { ok: true } | { ok: false; error: CheckError };
export type CheckError =
  'auth' | 'rate_limit' | 'unavailable' | 'timeout' | 'address_not_allowed' | 'unexpected_answer';

const TIMEOUT_MS = 10_000;

/** Headers that a provider takes an account's key in. */
export function accountHeaders({ provider, apiKey }: ProviderAccount): Record<string, string> {
  return apiKey ? (providerDescriptor(provider).api?.toHeaders(apiKey.reveal()) ?? {}) : {};
}

/** Asks the provider whether it takes the account's key. */
export async function checkAccount(
  account: ProviderAccount,
  fetch: SafeFetch,
  signal: AbortSignal,
): Promise<CheckResult> {
  const { api } = providerDescriptor(account.provider);
  if (!api) return { ok: true };
  try {
    const answer = await fetch.request({
      ...account.target,
      url: `${account.baseUrl}${api.checkPath}`,
      headers: { accept: 'application/json', ...accountHeaders(account) },
      timeoutMs: TIMEOUT_MS,
      signal,
    });
    const { status } = answer;
    if (status === 401 || status === 403) return { ok: false, error: 'auth' };
    if (status === 429) return { ok: false, error: 'rate_limit' };
    if (status >= 500) return { ok: false, error: 'unavailable' };
    return status === 200 && isJson(answer.body) ? { ok: true } : { ok: false, error: 'unexpected_answer' };
  } catch (error) {
    if (error instanceof OutboundRefusedError) return { ok: false, error: 'address_not_allowed' };
    if (!(error instanceof OutboundFailedError)) throw error;
    return { ok: false, error: error.code === 'timeout' ? 'timeout' : 'unavailable' };
  }
}

function isJson(body: Buffer): boolean {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'));
    return typeof value === 'object' && value !== null;
  } catch {
    return false;
  }
}
