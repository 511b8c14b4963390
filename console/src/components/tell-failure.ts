import { notifications } from '@mantine/notifications';
import { ApiError } from '../api/api-error.ts';

/** Says in passing what did not work, where the page has no place for it, and by which request it is found in the log. */
export function tellFailure(title: string, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  const request = error instanceof ApiError && error.requestId !== null ? ` (${error.requestId})` : '';
  notifications.show({ color: 'red', title, message: `${message}${request}`, autoClose: 12_000 });
}
