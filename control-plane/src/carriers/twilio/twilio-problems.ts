import { z } from 'zod';
import type { AccountProblem, ExpectedAccount } from '../account-problem.ts';
import { readAnswer } from '../carrier-answer.ts';
import type { CarrierClient } from '../carrier-client.ts';

const numbersSchema = z.object({
  incoming_phone_numbers: z.array(
    z.object({
      voice_url: z.string().nullish(),
      voice_application_sid: z.string().nullish(),
      capabilities: z.object({ voice: z.boolean().nullish() }).nullish(),
    }),
  ),
});

/**
 * Whether the numbers are the account's, take calls, and bring them here.
 * @param account path of the account, without a suffix
 * @throws CarrierError
 */
export async function twilioProblems(
  client: CarrierClient,
  account: string,
  { voiceUrl, numbers }: ExpectedAccount,
  signal?: AbortSignal,
): Promise<AccountProblem[]> {
  const problems: AccountProblem[] = [];
  for (const phone of numbers) {
    const path = `${account}/IncomingPhoneNumbers.json?PhoneNumber=${encodeURIComponent(phone)}`;
    const found = readAnswer(numbersSchema, await client.call({ method: 'GET', path, signal }));
    // What is not understood says nothing.
    if (!found) continue;
    const add = (code: string, message: string) => problems.push({ code, message });
    const [number] = found.incoming_phone_numbers;
    if (!number) {
      add('number_missing', `The account has no number ${phone} at Twilio. Buy it there, or remove it here.`);
    } else if (number.capabilities?.voice === false) {
      add(
        'number_without_voice',
        `The number ${phone} cannot take calls at Twilio: it has no voice capability.`,
      );
    } else if (number.voice_application_sid) {
      add(
        'application_elsewhere',
        `The number ${phone} has a TwiML app at Twilio, which wins over its voice URL. Remove the app from the number.`,
      );
    } else if (number.voice_url !== voiceUrl) {
      add(
        'number_elsewhere',
        `The number ${phone} sends calls to another address at Twilio. Set its voice URL to ${voiceUrl} (POST).`,
      );
    }
  }
  return problems;
}
