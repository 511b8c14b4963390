import { z } from 'zod';
import type { AccountProblem, ExpectedAccount } from '../account-problem.ts';
import { readAnswer } from '../carrier-answer.ts';
import type { PlivoApi } from './plivo-api.ts';

const numberSchema = z.object({
  number: z.string(),
  voice_enabled: z.boolean().nullish(),
  /** Path of it. */
  application: z.string().nullish(),
});
const applicationSchema = z.object({ answer_url: z.string().nullish() });
const errorSchema = z.object({ error: z.string() });

/** Whether the numbers are the account's, take calls, and bring them here. @throws CarrierError */
export async function plivoProblems(
  { client, account }: PlivoApi,
  { voiceUrl, numbers }: ExpectedAccount,
  signal?: AbortSignal,
): Promise<AccountProblem[]> {
  const get = (path: string) =>
    client.call({ method: 'GET', path, alsoDone: (status) => status === 404, signal });
  const problems: AccountProblem[] = [];
  const answerUrls = new Map<string, string | null | undefined>();
  const answerUrlOf = async (path: string) => {
    if (!answerUrls.has(path))
      answerUrls.set(path, readAnswer(applicationSchema, await get(path))?.answer_url ?? null);
    return answerUrls.get(path);
  };
  for (const phone of numbers) {
    const add = (code: string, message: string) => problems.push({ code, message });
    const body = await get(`${account}/Number/${phone.replace(/^\+/, '')}/`);
    const number = readAnswer(numberSchema, body);
    if (!number) {
      // What is neither says nothing.
      if (readAnswer(errorSchema, body))
        add(
          'number_missing',
          `The account has no number ${phone} at Plivo. Buy it there, or remove it here.`,
        );
    } else if (number.voice_enabled === false) {
      add('number_without_voice', `The number ${phone} cannot take calls at Plivo: voice is not enabled.`);
    } else if (!number.application?.includes('/Application/')) {
      add(
        'application_missing',
        `The number ${phone} has no application at Plivo. Assign one whose answer URL is ${voiceUrl} (POST).`,
      );
    } else if ((await answerUrlOf(number.application)) !== voiceUrl) {
      add(
        'application_elsewhere',
        `The application of ${phone} at Plivo sends calls to another address. Set its answer URL to ${voiceUrl} (POST).`,
      );
    }
  }
  return problems;
}
