import { z } from 'zod';
import type { CarrierClient } from '../carrier-client.ts';
import {
  CLOCK_SKEW_MS,
  type CarrierDialling,
  type DialAnswer,
  type DialRequest,
  type FoundCall,
  type SentDial,
} from '../carrier-dialling.ts';
import { CarrierError } from '../carrier.ts';
import { readAnswer } from '../carrier-answer.ts';
import { isFinal, TWILIO_REFUSALS, twilioEnd } from './twilio-causes.ts';

const PAGE_SIZE = 100;
/** Calls between one pair of numbers that are looked through. */
const MAX_PAGES = 5;

const callSchema = z.object({ sid: z.string(), status: z.string() });
const listSchema = z.object({
  calls: z.array(callSchema.extend({ direction: z.string().nullish(), date_created: z.string().nullish() })),
  next_page_uri: z.string().nullish(),
});
const errorSchema = z.object({ code: z.number(), message: z.string().optional() });

/** Outbound calls at Twilio. */
export class TwilioDialling implements CarrierDialling {
  readonly #client: CarrierClient;
  readonly #account: string;

  /** @param account path of the account, without a slash at its end */
  constructor(client: CarrierClient, account: string) {
    this.#client = client;
    this.#account = account;
  }

  async dial(request: DialRequest, signal?: AbortSignal): Promise<DialAnswer> {
    const { from, to, answerUrl, statusUrl, machineUrl } = request;
    return this.#client.dial(
      {
        method: 'POST',
        path: `${this.#account}/Calls.json`,
        form: [
          ['To', to],
          ['From', from],
          ['Url', answerUrl],
          ['Method', 'POST'],
          ['StatusCallback', statusUrl],
          ['StatusCallbackMethod', 'POST'],
          // Unless they are named, only the end is told.
          ['StatusCallbackEvent', 'initiated'],
          ['StatusCallbackEvent', 'ringing'],
          ['StatusCallbackEvent', 'answered'],
          ['StatusCallbackEvent', 'completed'],
          ['Timeout', String(request.ringTimeoutSeconds)],
          ['TimeLimit', String(request.timeLimitSeconds)],
          ...(machineUrl === null ? [] : machineDetection(machineUrl)),
        ],
        signal,
      },
      {
        placed: (body) => ({ carrierCallId: readAnswer(callSchema, body)?.sid ?? null, requestId: null }),
        refused: (body) => {
          const error = readAnswer(errorSchema, body);
          return {
            failure: TWILIO_REFUSALS[error?.code ?? 0] ?? 'carrier_error',
            cause: error ? String(error.code) : null,
          };
        },
      },
    );
  }

  async cancel({ carrierCallId }: { carrierCallId: string | null }, signal?: AbortSignal): Promise<void> {
    if (carrierCallId === null) return;
    const call = {
      method: 'POST' as const,
      path: `${this.#account}/Calls/${encodeURIComponent(carrierCallId)}.json`,
      // 21220: the call is over.
      alsoDone: (status: number, body: string) =>
        status === 404 || readAnswer(errorSchema, body)?.code === 21220,
      signal,
    };
    const answer = await this.#client.call({ ...call, form: { Status: 'canceled' } });
    // It was answered meanwhile: that leaves it as it is.
    if (readAnswer(callSchema, answer)?.status === 'in-progress')
      await this.#client.call({ ...call, form: { Status: 'completed' } });
  }

  /** Calls are listed from the moment they are queued, the newest first. */
  async find(dial: SentDial, signal?: AbortSignal): Promise<FoundCall[]> {
    const since = dial.sentAtMs - CLOCK_SKEW_MS;
    const query = new URLSearchParams({ To: dial.to, From: dial.from, PageSize: String(PAGE_SIZE) });
    const found: FoundCall[] = [];
    let path: string | null = `${this.#account}/Calls.json?${query.toString()}`;
    for (let page = 0; path !== null; page++) {
      if (page === MAX_PAGES) throw new CarrierError('twilio', 'unsupported');
      const body = await this.#client.call({ method: 'GET', path, signal });
      const list: z.output<typeof listSchema> | undefined = readAnswer(listSchema, body);
      if (!list) throw new CarrierError('twilio', 'unavailable');
      // A time that cannot be read may be the one.
      const recent = list.calls.filter((call) => !(Date.parse(call.date_created ?? '') < since));
      found.push(...recent.filter(({ direction }) => direction === 'outbound-api').map(toFound));
      const older = recent.length < list.calls.length;
      path = older ? null : (list.next_page_uri ?? null);
    }
    return found;
  }
}

/** Asynchronous: otherwise the document waits for the verdict, and whoever answers hears nothing. */
function machineDetection(url: string): [string, string][] {
  return [
    ['MachineDetection', 'Enable'],
    ['AsyncAmd', 'true'],
    ['AsyncAmdStatusCallback', url],
    ['AsyncAmdStatusCallbackMethod', 'POST'],
  ];
}

function toFound({ sid, status }: z.output<typeof callSchema>): FoundCall {
  if (isFinal(status)) return { carrierCallId: sid, stage: 'over', end: twilioEnd(status, null) };
  return { carrierCallId: sid, stage: status === 'queued' ? 'queued' : 'live', end: null };
}
