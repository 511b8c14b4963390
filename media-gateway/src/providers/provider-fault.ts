import type { ProviderFault } from '@parley/shared/errors/provider-error';

/** What an HTTP status of a provider means to a turn, refused WebSocket upgrades included. */
export function faultOfStatus(status: number): ProviderFault {
  if (status === 401 || status === 403) return 'auth';
  // 402: the account is empty. Both heal without a change on our side, and both are a case for the fallback.
  if (status === 402 || status === 429) return 'rate_limit';
  if (status === 408 || status === 504) return 'timeout';
  return status >= 500 ? 'unavailable' : 'protocol';
}
