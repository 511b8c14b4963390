import { z } from 'zod';
import type { FailureReason } from '@parley/shared/contracts/session-values';
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
import { plivoRecordEnd } from './plivo-causes.ts';

/** Calls whose details are read one by one, as the vendor's lists hold ids alone. */
const MAX_DETAILS = 50;

const dialledSchema = z.object({ request_uuid: z.string() });
const idsSchema = z.object({ calls: z.array(z.string()) });
const detailSchema = z.object({
  direction: z.string(),
  from: z.string(),
  to: z.string(),
  call_uuid: z.string(),
});
const recordsSchema = z.object({
  objects: z.array(
    z.object({
      call_uuid: z.string(),
      from_number: z.string(),
      to_number: z.string(),
      initiation_time: z.string().nullish(),
      answer_time: z.string().nullish(),
      hangup_cause_code: z.union([z.number(), z.string()]).nullish(),
      hangup_cause_name: z.string().nullish(),
    }),
  ),
});

/** Outbound calls at Plivo. Its own SDK is not used: it repeats dials by itself. */
export class PlivoDialling implements CarrierDialling {
  readonly #client: CarrierClient;
  readonly #account: string;

  /** @param account path of the account, without a slash at its end */
  constructor(client: CarrierClient, account: string) {
    this.#client = client;
    this.#account = account;
  }

  async dial(request: DialRequest, signal?: AbortSignal): Promise<DialAnswer> {
    return this.#client.dial(
      {
        method: 'POST',
        path: `${this.#account}/Call/`,
        json: {
          from: digits(request.from),
          to: digits(request.to),
          answer_url: request.answerUrl,
          answer_method: 'POST',
          ring_url: request.statusUrl,
          ring_method: 'POST',
          // Unless it is given, the answer URL is told of hang-ups, too.
          hangup_url: request.statusUrl,
          hangup_method: 'POST',
          ring_timeout: request.ringTimeoutSeconds,
          time_limit: request.timeLimitSeconds,
          // With an address for its verdict the call goes on meanwhile.
          ...(request.machineUrl === null
            ? {}
            : {
                machine_detection: 'true',
                machine_detection_url: request.machineUrl,
                machine_detection_method: 'POST',
              }),
        },
        signal,
      },
      {
        // The call's own id comes with its first callback.
        placed: (body) => ({
          carrierCallId: null,
          requestId: readAnswer(dialledSchema, body)?.request_uuid ?? null,
        }),
        refused: (body, status) => ({ failure: failureOf(body, status), cause: errorText(body) }),
      },
    );
  }

  async cancel(
    dial: { carrierCallId: string | null; requestId: string | null },
    signal?: AbortSignal,
  ): Promise<void> {
    const paths = [
      dial.requestId === null ? null : `Request/${encodeURIComponent(dial.requestId)}/`,
      dial.carrierCallId === null ? null : `Call/${encodeURIComponent(dial.carrierCallId)}/`,
    ];
    for (const path of paths)
      if (path !== null)
        await this.#client.call({
          ...{ method: 'DELETE' as const, path: `${this.#account}/${path}` },
          alsoDone: (status) => status === 404,
          signal,
        });
  }

  /** Calls only move on, from queued to live to over: looked for in this order, none slips through. */
  async find(dial: SentDial, signal?: AbortSignal): Promise<FoundCall[]> {
    const found = new Map<string, FoundCall>();
    for (const stage of ['queued', 'live'] as const)
      for (const id of await this.#unfinished(dial, stage, signal))
        found.set(id, { carrierCallId: id, stage, end: null });
    for (const call of await this.#records(dial, signal)) found.set(call.carrierCallId!, call);
    return [...found.values()];
  }

  async #unfinished(
    dial: SentDial,
    status: 'queued' | 'live',
    signal: AbortSignal | undefined,
  ): Promise<string[]> {
    const { calls } = await this.#get(idsSchema, `Call/?status=${status}${filters(dial)}`, signal);
    if (calls.length > MAX_DETAILS) throw new CarrierError('plivo', 'unsupported');
    const mine: string[] = [];
    for (const id of calls) {
      const path = `Call/${encodeURIComponent(id)}/?status=${status}`;
      const answer = await this.#client.call({
        ...{ method: 'GET' as const, path: `${this.#account}/${path}`, signal },
        // It has moved on.
        alsoDone: (code) => code === 404,
      });
      const call = readAnswer(detailSchema, answer);
      if (
        call?.direction === 'outbound' &&
        digits(call.from) === digits(dial.from) &&
        digits(call.to) === digits(dial.to)
      )
        mine.push(id);
    }
    return mine;
  }

  async #records(dial: SentDial, signal: AbortSignal | undefined): Promise<FoundCall[]> {
    const since = dial.sentAtMs - CLOCK_SKEW_MS;
    const after = new Date(since).toISOString().slice(0, 19).replace('T', ' ');
    const path = `Call/?limit=20${filters(dial)}&end_time__gte=${encodeURIComponent(after)}`;
    const { objects } = await this.#get(recordsSchema, path, signal);
    return objects
      .filter(
        (record) =>
          digits(record.from_number) === digits(dial.from) &&
          digits(record.to_number) === digits(dial.to) &&
          // A time that cannot be read may be the one.
          !(Date.parse((record.initiation_time ?? '').replace(' ', 'T')) < since),
      )
      .map((record) => ({ carrierCallId: record.call_uuid, stage: 'over', end: plivoRecordEnd(record) }));
  }

  /** @throws CarrierError also for an answer that is not understood: then nothing is known */
  async #get<S extends z.ZodType>(
    schema: S,
    path: string,
    signal: AbortSignal | undefined,
  ): Promise<z.output<S>> {
    const body = await this.#client.call({ method: 'GET', path: `${this.#account}/${path}`, signal });
    const answer = readAnswer(schema, body);
    if (answer === undefined) throw new CarrierError('plivo', 'unavailable');
    return answer;
  }
}

const digits = (number: string) => number.replace(/^\+/, '');

function filters({ from, to }: SentDial): string {
  return `&call_direction=outbound&from_number=${digits(from)}&to_number=${digits(to)}`;
}

const errorSchema = z.object({ error: z.string() });

function errorText(body: string): string | null {
  return readAnswer(errorSchema, body)?.error.slice(0, 200) ?? null;
}

/** Plivo's refusals have no codes, but a sentence. */
function failureOf(body: string, status: number): FailureReason {
  const text = errorText(body) ?? '';
  if (/^to\b.*\binvalid/i.test(text)) return 'invalid_number';
  return status === 403 && /barred/i.test(text) ? 'blocked' : 'carrier_error';
}
