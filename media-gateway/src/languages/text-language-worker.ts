import { parentPort } from 'node:worker_threads';
import { eld } from 'eld/small';
import type { LanguageAnswer, LanguageQuestion } from './text-language.ts';

/** Tells languages of texts, in a thread of its own: its tables take long to load. */
parentPort!.on('message', ({ id, text, among }: LanguageQuestion) => {
  eld.setLanguageSubset([...among]);
  const answer: LanguageAnswer = { id, language: eld.detect(text).language || undefined };
  parentPort!.postMessage(answer);
});
