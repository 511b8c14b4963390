import type { SafeFetch } from '@parley/shared/http/safe-fetch';
import { toText, valueAt } from '@parley/shared/tools/tool-template';
import { appFetch } from './app-fetch.ts';
import { fillRequest } from './app-request.ts';
import type { InstalledApp } from './app-settings.ts';
import { AppVendorError } from './app-vendor-error.ts';

const TIMEOUT_MS = 10_000;
const MAX_LABEL = 200;

/**
 * Asks an app whose account a credential is of.
 * @returns a name for people; null where the app has none
 * @throws AppVendorError `refused`, `unreachable`; the reason of `signal`
 */
export async function accountOf(
  safeFetch: Pick<SafeFetch, 'request'>,
  { name, descriptor, apiUrl, allow }: InstalledApp,
  token: string,
  { orgId, signal }: { orgId: string; signal: AbortSignal },
): Promise<string | null> {
  const { account } = descriptor;
  if (!account) return null;
  const request = fillRequest(apiUrl, account.request, {})!;
  let answer;
  try {
    answer = await appFetch(safeFetch, descriptor).request({
      ...request,
      headers: { ...descriptor.headers, ...request.headers, authorization: `Bearer ${token}` },
      timeoutMs: TIMEOUT_MS,
      signal,
      purpose: 'tool',
      orgId,
      allow,
    });
  } catch (error) {
    signal.throwIfAborted();
    throw new AppVendorError('unreachable', `${name} could not be reached.`, { cause: error });
  }
  const { status, body } = answer;
  if (status === 401 || status === 403)
    throw new AppVendorError('refused', `${name} refuses the credential.`);
  if (status > 299) throw new AppVendorError('unreachable', `${name} answered with status ${status}.`);
  try {
    return toText(valueAt(JSON.parse(body.toString()), account.label)).slice(0, MAX_LABEL) || null;
  } catch {
    return null;
  }
}
