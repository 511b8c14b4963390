import { toApiError, ApiError, unreachable } from './api-error.ts';
import { EventStreamReader } from './event-stream.ts';
import type { ServerEvent } from './event-stream.ts';
import { apiUrl } from './page-settings.ts';
import { reachability } from './reachability.ts';
import { accessToken, renewed } from './session.ts';

/** `waiting`: the connection was lost and is tried again. */
export type StreamState = 'connecting' | 'open' | 'waiting';

/** The server sends a comment each 15 s: after this long without a byte the connection is dead. */
const SILENCE_MS = 40_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

/**
 * Follows a stream of server-sent events of the API until `signal` aborts, or the server says that there is nothing more
 * (204) or that the person may not (a 4xx that is no 401, 408 or 429). Connects again, with `Last-Event-ID`, as often as it takes.
 * @param path with its query, such as `/v1/sessions/…/events`
 * @throws ApiError when the server refuses
 */
export async function followEvents(
  path: string,
  options: {
    onEvent(event: ServerEvent): void;
    onState?(state: StreamState): void;
    signal: AbortSignal;
    lastEventId?: string;
  },
): Promise<void> {
  const { onEvent, onState, signal } = options;
  let lastEventId = options.lastEventId ?? '';
  let pause = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    onState?.('connecting');
    try {
      const more = await followOnce(path, {
        signal,
        lastEventId,
        onOpen() {
          pause = FIRST_PAUSE_MS;
          onState?.('open');
        },
        onEvent(event) {
          lastEventId = event.id;
          onEvent(event);
        },
      });
      if (!more) return;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && isFinal(error.status)) throw error;
    }
    onState?.('waiting');
    await waited(pause * (0.75 + Math.random() / 2), signal);
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
  }
}

function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && ![408, 429].includes(status);
}

/** @returns whether the stream may go on later */
async function followOnce(
  path: string,
  options: {
    signal: AbortSignal;
    lastEventId: string;
    onOpen(): void;
    onEvent(event: ServerEvent): void;
  },
): Promise<boolean> {
  const { signal, lastEventId } = options;
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), SILENCE_MS);
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), SILENCE_MS);
  };
  try {
    const response = await connect(path, lastEventId, AbortSignal.any([signal, silence.signal]));
    if (response.status === 204 || !response.body) return false;
    options.onOpen();
    const reader = new EventStreamReader(lastEventId);
    const pieces = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let next = await pieces.read(); !next.done; next = await pieces.read()) {
      heard();
      for (const event of reader.read(next.value)) options.onEvent(event);
    }
    return true;
  } finally {
    clearTimeout(timer);
  }
}

async function connect(path: string, lastEventId: string, signal: AbortSignal): Promise<Response> {
  const ask = async () =>
    fetch(`${apiUrl}${path}`, {
      headers: {
        accept: 'text/event-stream',
        authorization: `Bearer ${(await accessToken()) ?? ''}`,
        ...(lastEventId !== '' && { 'last-event-id': lastEventId }),
      },
      signal,
    }).catch((error: unknown) => {
      if (signal.aborted) throw error;
      reachability.lost();
      throw unreachable(error);
    });
  let response = await ask();
  if (response.status === 401 && (await renewed())) response = await ask();
  if (!response.ok)
    throw toApiError(
      response.status,
      await response.json().catch(() => null),
      response.headers.get('x-request-id'),
    );
  return response;
}

/** Or until the server, which could not be reached, answers again. */
function waited(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    const stop = reachability.subscribe(() => reachability.isReachable && done());
    signal.addEventListener('abort', done, { once: true });
    function done() {
      clearTimeout(timer);
      stop();
      signal.removeEventListener('abort', done);
      resolve();
    }
  });
}
