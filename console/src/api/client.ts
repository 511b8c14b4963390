import createClient from 'openapi-fetch';
import { toApiError, unreachable } from './api-error.ts';
import type { ApiRequest, FormField } from './curl.ts';
import { doneRequests } from './done-requests.ts';
import { apiUrl } from './page-settings.ts';
import type { paths } from './schema.d.ts';
import { reachability } from './reachability.ts';
import { accessToken, renewed } from './session.ts';

export { ApiError } from './api-error.ts';
export { followEvents } from './follow-events.ts';

/** The platform's API, by its own description. */
export const api = createClient<paths>({ baseUrl: apiUrl, fetch: (request) => authorizedFetch(request) });

/**
 * Sends a request as the person who is signed in. Where the sign-in ran out meanwhile, once more with a new token, which may
 * take until the person has signed in again.
 * @param form the fields of a body that is a form, which is not read here
 */
export async function authorizedFetch(request: Request, form?: readonly FormField[]): Promise<Response> {
  const again = request.clone();
  const told = form ? { form } : await bodyOf(request);
  const response = await send(request);
  if (response.status !== 401 || !(await renewed())) return noted(response, request, told);
  return noted(await send(again), request, told);
}

async function bodyOf(request: Request): Promise<Pick<ApiRequest, 'body' | 'form'>> {
  const type = request.headers.get('content-type') ?? '';
  if (type.startsWith('application/json')) return { body: await request.clone().json() };
  if (!type.startsWith('application/x-www-form-urlencoded')) return {};
  const fields = new URLSearchParams(await request.clone().text());
  return { form: [...fields].map(([name, value]) => ({ name, value, kind: 'urlencoded' })) };
}

/** Keeps what was done for whoever wants to do it by a command. */
function noted(
  response: Response,
  { method, url }: Request,
  told: Pick<ApiRequest, 'body' | 'form'>,
): Response {
  if (response.ok)
    doneRequests.add({ method: method as ApiRequest['method'], path: url.slice(apiUrl.length), ...told });
  return response;
}

async function send(request: Request): Promise<Response> {
  const token = await accessToken();
  if (token !== undefined) request.headers.set('authorization', `Bearer ${token}`);
  try {
    return await fetch(request);
  } catch (error) {
    if (request.signal.aborted) throw error;
    reachability.lost();
    throw unreachable(error);
  }
}

/** The data of a request of `api`. @throws ApiError */
export async function take<Data>(
  answer: Promise<{ data?: Data; error?: unknown; response: Response }>,
): Promise<Data> {
  const { data, error, response } = await answer;
  if (!response.ok) throw toApiError(response.status, error, response.headers.get('x-request-id'));
  return data as Data;
}

/** The bytes of a route that answers with a file, such as an export. @throws ApiError */
export async function takeFile(path: string, signal?: AbortSignal): Promise<Blob> {
  const response = await authorizedFetch(new Request(`${apiUrl}${path}`, signal ? { signal } : {}));
  if (!response.ok)
    throw toApiError(
      response.status,
      await response.json().catch(() => null),
      response.headers.get('x-request-id'),
    );
  return response.blob();
}
