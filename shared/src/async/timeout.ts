/** A wait took longer than its bound. */
export class TimeoutError extends Error {
  constructor(what: string, timeoutMs: number) {
    super(`${what} did not finish within ${timeoutMs} ms.`);
    this.name = 'TimeoutError';
  }
}

/**
 * Waits for `promise`, at most `timeoutMs`. The work behind it is not stopped: pass it a signal for that.
 * @throws TimeoutError naming `what`; the reason of `signal` when it aborts first
 */
export async function withTimeout<T>(
  promise: Promise<T>,
  timeoutMs: number,
  what: string,
  signal?: AbortSignal,
): Promise<T> {
  if (signal?.aborted) {
    // Nobody waits for it any more, and its failure must not count as unhandled.
    promise.catch(() => undefined);
    throw signal.reason as Error;
  }
  let timer: NodeJS.Timeout | undefined;
  let onAbort: (() => void) | undefined;
  try {
    return await Promise.race([
      promise,
      new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new TimeoutError(what, timeoutMs)), timeoutMs);
        onAbort = () => reject(signal!.reason as Error);
        signal?.addEventListener('abort', onAbort, { once: true });
      }),
    ]);
  } finally {
    clearTimeout(timer);
    if (onAbort) signal?.removeEventListener('abort', onAbort);
  }
}

/** Resolves after `ms`, or rejects with the reason of `signal`. Leaves no listener behind. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal!.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
