import { toApiError } from './api-error.ts';
import { authorizedFetch } from './client.ts';
import { formFields } from './done-requests.ts';
import { apiUrl } from './page-settings.ts';

/** Sends a form with files. @returns what the server answers @throws ApiError */
export async function upload(path: string, form: FormData): Promise<unknown> {
  const request = new Request(`${apiUrl}${path}`, { method: 'POST', body: form });
  const response = await authorizedFetch(request, formFields(form));
  const answer: unknown = await response.json().catch(() => null);
  if (!response.ok) throw toApiError(response.status, answer, response.headers.get('x-request-id'));
  return answer;
}
