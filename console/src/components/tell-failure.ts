import { notifications } from '@mantine/notifications';
import { ApiError } from '../api/api-error.ts';

/** What did not work in a line, with the id that finds the request in the server's log. */
export function failureText(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return error instanceof ApiError && error.requestId !== null ? `${message} (${error.requestId})` : message;
}

/** Says in passing what did not work, where the page has no place for it. */
export function tellFailure(title: string, error: unknown): void {
  notifications.show({ color: 'red', title, message: failureText(error), autoClose: 12_000 });
}
