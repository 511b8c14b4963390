import { z } from 'zod';
import type { AccountProblem, ExpectedAccount } from '../account-problem.ts';
import { readAnswer } from '../carrier-answer.ts';
import type { CarrierClient } from '../carrier-client.ts';

const applicationSchema = z.object({
  data: z.object({ active: z.boolean().nullish(), webhook_event_url: z.string().nullish() }),
});
const numbersSchema = z.object({ data: z.array(z.object({ connection_id: z.string().nullish() })) });
const errorsSchema = z.object({ errors: z.array(z.unknown()) });

/**
 * Whether calls can be dialled, and the numbers bring theirs here.
 * @param connectionId the Call Control Application, null when the account names none
 * @throws CarrierError
 */
export async function telnyxProblems(
  client: CarrierClient,
  connectionId: string | null,
  { voiceUrl, numbers }: ExpectedAccount,
  signal?: AbortSignal,
): Promise<AccountProblem[]> {
  const get = (path: string) =>
    client.call({ method: 'GET', path, alsoDone: (status) => status === 404, signal });
  const problems: AccountProblem[] = [];
  const add = (code: string, message: string) => problems.push({ code, message });
  if (connectionId === null) {
    add(
      'connection_missing',
      'The credentials have no connection_id: calls can be taken and not dialled. Add the id of the Call Control Application.',
    );
  } else {
    const body = await get(`/v2/call_control_applications/${encodeURIComponent(connectionId)}`);
    const application = readAnswer(applicationSchema, body)?.data;
    if (!application) {
      // What is neither says nothing.
      if (readAnswer(errorsSchema, body))
        add(
          'connection_missing',
          'The account has no Call Control Application with this connection_id at Telnyx. Copy its id from the portal.',
        );
    } else if (application.active === false) {
      add('connection_inactive', 'The Call Control Application is switched off at Telnyx. Activate it.');
    } else if (application.webhook_event_url !== voiceUrl) {
      add(
        'connection_elsewhere',
        `The Call Control Application sends its events to another address. Set its webhook URL to ${voiceUrl}.`,
      );
    }
  }
  for (const phone of numbers) {
    const found = readAnswer(
      numbersSchema,
      await get(`/v2/phone_numbers?filter[phone_number]=${encodeURIComponent(phone)}`),
    );
    if (!found) continue;
    const [number] = found.data;
    if (!number) {
      add('number_missing', `The account has no number ${phone} at Telnyx. Buy it there, or remove it here.`);
    } else if (!number.connection_id) {
      add(
        'connection_missing',
        `The number ${phone} has no connection at Telnyx. Assign the Call Control Application to it.`,
      );
    } else if (connectionId !== null && number.connection_id !== connectionId) {
      add(
        'number_elsewhere',
        `The number ${phone} belongs to another connection at Telnyx. Assign the Call Control Application to it.`,
      );
    }
  }
  return problems;
}
