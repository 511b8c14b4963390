import { toApiError } from '../../api/api-error.ts';
import { authorizedFetch } from '../../api/client.ts';
import { apiUrl } from '../../api/page-settings.ts';
import { roleAtLeast } from '../../app/roles.ts';
import type { Role } from '../../app/roles.ts';
import type { RecordOperation } from './record-operations.ts';

/** A request by the description. @throws ApiError */
export async function request(method: string, address: string, body?: unknown): Promise<unknown> {
  const init =
    body === undefined
      ? { method }
      : body instanceof URLSearchParams
        ? { method, body }
        : { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const response = await authorizedFetch(new Request(`${apiUrl}${address}`, init));
  const answer: unknown = response.status === 204 ? null : await response.json().catch(() => null);
  if (!response.ok) throw toApiError(response.status, answer, response.headers.get('x-request-id'));
  return answer;
}

/** Whether a role may do what an operation does, by the description. */
export function mayDo(operation: RecordOperation | undefined, role: Role): boolean {
  const least = operation?.about['x-required-role']?.user;
  return (
    operation !== undefined && least !== undefined && (least === 'any' || roleAtLeast(role, least as Role))
  );
}
