import { OutboundFailedError, OutboundRefusedError } from '@parley/shared/http/outbound-errors';
import type { SafeFetch } from '@parley/shared/http/safe-fetch';

const TIMEOUT_MS = 30_000;

/** A recording that the provider offers of one of its voices. @returns undefined when there is none to be had */
export async function fetchPreview(
  fetch: SafeFetch,
  url: string,
  signal: AbortSignal,
): Promise<Buffer | undefined> {
  try {
    const answer = await fetch.request({ purpose: 'provider', url, timeoutMs: TIMEOUT_MS, signal });
    const isAudio = (answer.headers['content-type'] ?? '').startsWith('audio/');
    return answer.status === 200 && isAudio && !answer.truncated ? answer.body : undefined;
  } catch (error) {
    if (error instanceof OutboundFailedError || error instanceof OutboundRefusedError) return undefined;
    throw error;
  }
}
