import type { ApiRequest, FormField } from './curl.ts';

// What was changed by the API in this tab, so that a page can tell the command that does the same.

const KEPT = 5;
/** Their bodies are what people sign in with, or are sent as somebody types. */
const UNTOLD = /^\/auth\/|\/validate$/;

export interface DoneRequest extends ApiRequest {
  /** Of all that were done; tells two that are alike apart. */
  number: number;
}

let done: readonly DoneRequest[] = [];
let count = 0;
const listeners = new Set<() => void>();

export const doneRequests = {
  /** The newest first. */
  get list(): readonly DoneRequest[] {
    return done;
  },

  /** @returns takes the listener away */
  subscribe(listener: () => void): () => void {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  },

  add(request: ApiRequest): void {
    if (request.method === 'GET' || UNTOLD.test(request.path.replace(/\?.*/, ''))) return;
    count += 1;
    change([{ ...request, number: count }, ...done].slice(0, KEPT));
  },

  /** The next person is not to see what this one did. */
  clear(): void {
    change([]);
  },
};

function change(next: readonly DoneRequest[]): void {
  done = next;
  for (const listener of listeners) listener();
}

export function formFields(form: FormData): FormField[] {
  return [...form].map(([name, value]) =>
    typeof value === 'string'
      ? { name, value, kind: 'part' }
      : { name, value: (value as File).name, kind: 'file' },
  );
}
