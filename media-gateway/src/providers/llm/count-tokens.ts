import type { Usage } from '@parley/shared/contracts/usage';
import { countUse } from '@parley/shared/contracts/call-prices';
import type { LlmEvent, LlmProvider } from './llm-provider.ts';

/** Counts what a model says that an answer took. */
export function countTokens(
  usage: Usage,
  llm: Pick<LlmProvider, 'model'>,
  { inputTokens, outputTokens }: Extract<LlmEvent, { type: 'usage' }>,
): void {
  countUse(usage, llm.model, { llm_input_tokens: inputTokens, llm_output_tokens: outputTokens });
}
