import type { SafeFetch, SafeResponse } from '@parley/shared/http/safe-fetch';
import type { AppDescriptor } from './app-descriptor.ts';

/** Requests to an app, whose answers have the status that HTTP has for what they say. */
export function appFetch(
  safeFetch: Pick<SafeFetch, 'request'>,
  { failures }: AppDescriptor,
): Pick<SafeFetch, 'request'> {
  if (!failures) return safeFetch;
  return {
    async request(request) {
      const answer = await safeFetch.request(request);
      return { ...answer, status: statusOf(answer, failures) };
    },
  };
}

function statusOf({ status, body }: SafeResponse, { unauthorized }: NonNullable<AppDescriptor['failures']>) {
  if (status !== 200) return status;
  try {
    const { ok, error } = JSON.parse(body.toString()) as { ok?: unknown; error?: unknown };
    if (ok !== false) return status;
    return typeof error === 'string' && unauthorized.includes(error) ? 401 : 400;
  } catch {
    return status;
  }
}
