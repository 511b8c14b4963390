import type { Usage } from '@parley/shared/contracts/usage';
import type { Clock } from '@parley/shared/time/clock';
import { countTokens } from './count-tokens.ts';
import type { LlmProvider, LlmRequest } from './llm-provider.ts';

/** What a model wrote, or why there is nothing. */
export type ShortAnswer = { text: string } | { missing: 'late' | 'failed' };

/**
 * Asks a model once for a few words, and waits for all of them no longer than it may take. Never rejects.
 * @param deps.signal ends the request; the answer is then `late`
 */
export async function shortAnswer(
  llm: LlmProvider,
  request: Omit<LlmRequest, 'tools' | 'timeoutMs'>,
  { clock, withinMs, usage, signal }: { clock: Clock; withinMs: number; usage: Usage; signal: AbortSignal },
): Promise<ShortAnswer> {
  const late: ShortAnswer = { missing: 'late' };
  const abort = new AbortController();
  const over = Promise.withResolvers<ShortAnswer>();
  const stop = () => {
    abort.abort(new Error('Nobody waits for the answer.'));
    over.resolve(late);
  };
  if (signal.aborted) return late;
  signal.addEventListener('abort', stop, { once: true });
  const timer = clock.setTimeout(stop, withinMs);
  const read = async (): Promise<ShortAnswer> => {
    let text = '';
    for await (const event of llm.stream({ ...request, tools: [], timeoutMs: withinMs }, abort.signal)) {
      if (event.type === 'text') text += event.text;
      else if (event.type === 'usage') countTokens(usage, llm, event);
    }
    return { text };
  };
  try {
    return await Promise.race([over.promise, read()]);
  } catch {
    return { missing: 'failed' };
  } finally {
    timer.cancel();
    signal.removeEventListener('abort', stop);
  }
}
