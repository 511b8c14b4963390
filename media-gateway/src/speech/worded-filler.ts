import type { Usage } from '@parley/shared/contracts/usage';
import { languageName } from '@parley/shared/languages/language-name';
import type { Clock } from '@parley/shared/time/clock';
import type { LlmMessage, LlmProvider } from '../providers/llm/llm-provider.ts';
import { shortAnswer } from '../providers/llm/short-answer.ts';
import type { WordFiller } from './reply-fillers.ts';

const MAX_TOKENS = 40;
const MAX_CHARACTERS = 160;

/**
 * Has a model word fillers that fit what the caller said last.
 * @param messages the conversation at the time
 * @param mayBeSaid looks at what it wrote; undefined: all may
 */
export function wordedFiller(deps: {
  llm: LlmProvider;
  /** BCP 47. */
  language: string;
  cacheKey: string;
  clock: Clock;
  usage: Usage;
  messages: () => readonly LlmMessage[];
  mayBeSaid: ((text: string, signal: AbortSignal) => Promise<boolean>) | undefined;
}): WordFiller {
  return async ({ said, withinMs, signal }) => {
    const question = deps.messages().findLast(({ role }) => role === 'user')?.content;
    if (question === undefined) return undefined;
    const answer = await shortAnswer(
      deps.llm,
      {
        messages: [
          { role: 'system', content: rulesIn(deps.language, said) },
          { role: 'user', content: question },
        ],
        temperature: 0.7,
        maxOutputTokens: MAX_TOKENS,
        cacheKey: `${deps.cacheKey}:filler`,
      },
      { ...deps, withinMs, signal },
    );
    const text = 'text' in answer ? oneSentence(answer.text) : undefined;
    if (text === undefined || said.includes(text)) return undefined;
    return !deps.mayBeSaid || (await deps.mayBeSaid(text, signal)) ? text : undefined;
  };
}

function rulesIn(language: string, said: readonly string[]): string {
  return [
    'You speak on the telephone and need a moment to find the answer to what the caller has just said.',
    `Say one short sentence in ${languageName(language)}, of at most ten words, that fits it and says that you are looking.`,
    'Do not answer, promise or ask anything. Write the sentence alone.',
    ...(said.length === 0 ? [] : [`You have said this already: ${said.join(' ')} Say something else.`]),
  ].join(' ');
}

/** @returns undefined for what is no short sentence */
function oneSentence(text: string): string | undefined {
  const sentence = text
    .trim()
    .replace(/^["'“„«]+|["'”“»]+$/gu, '')
    .trim();
  return sentence === '' || sentence.length > MAX_CHARACTERS || /[\n*#`{[]/.test(sentence)
    ? undefined
    : sentence;
}
