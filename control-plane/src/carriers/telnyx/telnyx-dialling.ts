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
import { TELNYX_REFUSALS } from './telnyx-causes.ts';

const PAGE_SIZE = 100;
const MAX_PAGES = 20;
/** The longest call that the vendor takes. */
const MAX_TIME_LIMIT_SECONDS = 14_400;
/** Refusals of an account, a profile or an application that has as many calls as it may. */
const FULL = ['D1', 'D2', 'D3'];

/** How a call's stream is to be, whatever begins it. */
export const STREAM_SETTINGS = {
  stream_track: 'inbound_track',
  stream_codec: 'PCMU',
  // Without this mode the vendor expects MP3 and plays nothing of ours.
  stream_bidirectional_mode: 'rtp',
  stream_bidirectional_codec: 'PCMU',
  stream_bidirectional_target_legs: 'self',
  send_silence_when_idle: true,
} as const;

const callSchema = z.object({ call_control_id: z.string() });
const dialledSchema = z.object({ data: callSchema });
const activeSchema = z.object({
  data: z.array(callSchema.extend({ client_state: z.string().nullish() })),
  meta: z.object({ cursors: z.object({ after: z.string().nullish() }).nullish() }).nullish(),
});
const eventsSchema = z.object({ data: z.array(z.object({ call_leg_id: z.string() })) });
const errorSchema = z.object({ errors: z.array(z.object({ code: z.coerce.string() })).min(1) });

/** Outbound calls at Telnyx, by Call Control. */
export class TelnyxDialling implements CarrierDialling {
  readonly #client: CarrierClient;
  readonly #connectionId: string | null;

  /** @param connectionId null where the account has no application to dial by: then every dial is refused */
  constructor(client: CarrierClient, connectionId: string | null) {
    this.#client = client;
    this.#connectionId = connectionId;
  }

  async dial(request: DialRequest, signal?: AbortSignal): Promise<DialAnswer> {
    if (this.#connectionId === null)
      return { placed: 'no', failure: 'carrier_error', code: 'unsupported', cause: null, again: false };
    return this.#client.dial(
      {
        method: 'POST',
        path: '/v2/calls',
        json: {
          connection_id: this.#connectionId,
          from: request.from,
          to: request.to,
          webhook_url: request.answerUrl,
          webhook_url_method: 'POST',
          timeout_secs: request.ringTimeoutSeconds,
          time_limit_secs: Math.min(MAX_TIME_LIMIT_SECONDS, request.timeLimitSeconds),
          client_state: clientState(request.dialId),
          command_id: request.dialId,
          // Verdicts come to `webhook_url`, as all events do.
          ...(request.machineUrl === null ? {} : { answering_machine_detection: 'detect_beep' }),
          ...(request.streamUrl === null ? {} : { stream_url: request.streamUrl, ...STREAM_SETTINGS }),
        },
        signal,
      },
      {
        placed: (body) => ({
          carrierCallId: readAnswer(dialledSchema, body)?.data.call_control_id ?? null,
          requestId: null,
        }),
        refused: (body) => {
          const code = readAnswer(errorSchema, body)?.errors[0]?.code ?? null;
          const failure = TELNYX_REFUSALS[code ?? ''] ?? 'carrier_error';
          return { failure, cause: code, ...(FULL.includes(code ?? '') && { again: true }) };
        },
      },
    );
  }

  async cancel({ carrierCallId }: { carrierCallId: string | null }, signal?: AbortSignal): Promise<void> {
    if (carrierCallId === null) return;
    await this.#client.call({
      method: 'POST',
      path: `/v2/calls/${encodeURIComponent(carrierCallId)}/actions/hangup`,
      json: {},
      // 90018: the call is over.
      alsoDone: (status, answer) => status === 404 || (status === 422 && answer.includes('90018')),
      signal,
    });
  }

  /** Live calls are known by our own id; of those that are over the carrier only says that there was one. */
  async find(dial: SentDial, signal?: AbortSignal): Promise<FoundCall[]> {
    if (this.#connectionId === null) throw new CarrierError('telnyx', 'unsupported');
    const live = await this.#live(dial, this.#connectionId, signal);
    if (live !== undefined) return [{ carrierCallId: live, stage: 'live', end: null }];
    const legs = await this.#legs('call.initiated', dial, signal);
    return legs.map(() => ({ carrierCallId: null, stage: 'over', end: null }));
  }

  /** A hang-up's cause is the same for calls that were answered and for some that were not. */
  async wasAnswered(dial: SentDial, signal?: AbortSignal): Promise<boolean> {
    return (await this.#legs('call.answered', dial, signal)).length > 0;
  }

  /** The calls between these two numbers since the dial left that the carrier has told such an event of. */
  async #legs(name: string, dial: SentDial, signal: AbortSignal | undefined): Promise<string[]> {
    if (this.#connectionId === null) throw new CarrierError('telnyx', 'unsupported');
    const query = new URLSearchParams({
      'filter[connection_id]': this.#connectionId,
      'filter[to]': dial.to,
      'filter[from]': dial.from,
      'filter[name]': name,
      'filter[occurred_at][gte]': new Date(dial.sentAtMs - CLOCK_SKEW_MS).toISOString(),
    });
    const { data } = await this.#get(eventsSchema, `/v2/call_events?${query.toString()}`, signal);
    return [...new Set(data.map((event) => event.call_leg_id))];
  }

  async #live(
    dial: SentDial,
    connectionId: string,
    signal: AbortSignal | undefined,
  ): Promise<string | undefined> {
    const wanted = clientState(dial.dialId);
    const base = `/v2/connections/${encodeURIComponent(connectionId)}/active_calls`;
    let after: string | undefined;
    for (let page = 0; page < MAX_PAGES; page++) {
      const query = new URLSearchParams({
        'page[limit]': String(PAGE_SIZE),
        ...(after === undefined ? {} : { 'page[after]': after }),
      });
      const { data, meta } = await this.#get(activeSchema, `${base}?${query.toString()}`, signal);
      const mine = data.find((call) => call.client_state === wanted);
      if (mine) return mine.call_control_id;
      after = meta?.cursors?.after ?? undefined;
      if (after === undefined || data.length === 0) return undefined;
    }
    throw new CarrierError('telnyx', 'unsupported');
  }

  /** @throws CarrierError also for an answer that is not understood: then nothing is known */
  async #get<S extends z.ZodType>(
    schema: S,
    path: string,
    signal: AbortSignal | undefined,
  ): Promise<z.output<S>> {
    const answer = readAnswer(schema, await this.#client.call({ method: 'GET', path, signal }));
    if (answer === undefined) throw new CarrierError('telnyx', 'unavailable');
    return answer;
  }
}

/** The field is base64. */
function clientState(dialId: string): string {
  return Buffer.from(dialId, 'utf8').toString('base64');
}
