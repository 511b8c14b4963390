import type { Dispatcher } from 'undici';
import { z } from 'zod';
import type { CarrierVerdict } from '@parley/shared/contracts/answer-detection';
import type { Clock } from '@parley/shared/time/clock';
import type { AccountProblem, ExpectedAccount } from '../account-problem.ts';
import { CarrierClient } from '../carrier-client.ts';
import { credentialText } from '../carrier-credentials.ts';
import { toE164 } from '../carrier-form.ts';
import {
  CarrierError,
  CarrierProtocolError,
  defineCarrier,
  type CallTreatment,
  type Carrier,
  type CarrierCallback,
  type CarrierDocument,
  type CarrierOptions,
  type CarrierRequest,
  type ConnectedCalls,
  type StreamTarget,
  type TransferTarget,
  type TreatmentStep,
} from '../carrier.ts';
import { telnyxEnd } from './telnyx-causes.ts';
import { STREAM_SETTINGS, TelnyxDialling } from './telnyx-dialling.ts';
import { TelnyxNumbers } from './telnyx-numbers.ts';
import { telnyxProblems } from './telnyx-problems.ts';
import { verifyTelnyxWebhook } from './telnyx-signature.ts';
import { treatmentCommand, treatmentStep } from './telnyx-treatment.ts';

export const TELNYX_API_URL = 'https://api.telnyx.com';

export interface TelnyxCredentials {
  apiKey: string;
  /** Base64 of the 32 bytes shown in the vendor's portal: signs callbacks. */
  publicKey: string;
  /** Of the application that calls are dialled by; without it none are. */
  connectionId?: string;
}

const webhookSchema = z.object({
  data: z.object({
    event_type: z.string(),
    payload: z.looseObject({
      call_control_id: z.string().min(1).max(256),
      client_state: z.string().nullish(),
      direction: z.string().optional(),
      from: z.string().optional(),
      to: z.string().optional(),
      hangup_cause: z.string().optional(),
      sip_hangup_cause: z.string().optional(),
      failure_reason: z.string().optional(),
      result: z.string().optional(),
      reason: z.string().nullish().catch(null),
      recording_id: z.string().nullish().catch(null),
    }),
  }),
});

/** What the leg to whom a caller is transferred says in its callbacks: of which transfer it is, of which call. */
const targetLegSchema = z.object({ transfer_id: z.string(), call_control_id: z.string() });

const deliverySchema = z.object({ meta: z.object({ delivered_to: z.string() }) });
/** A dial of ours, as `client_state` names it. */
const DIAL_ID = /^dia_[0-9a-z]{1,60}$/;
/** A telephony account of ours, in a callback's address. */
const ACCOUNT_ID = /\/(tel_[A-Za-z0-9_-]{1,64})/;

/** What machine detection comes to. Of silence nothing can be said. */
const MACHINE_RESULTS: Readonly<Record<string, CarrierVerdict>> = {
  human: 'human',
  human_residence: 'human',
  human_business: 'human',
  machine: 'machine',
  fax_detected: 'fax',
  silence: 'unknown',
  not_sure: 'unknown',
};

const EMPTY: CarrierDocument = { contentType: 'application/json', body: '{}' };

export const telnyx = defineCarrier({
  title: 'Telnyx',
  credentials: z.strictObject({
    api_key: credentialText(256),
    public_key: credentialText(64).refine(
      (key) => Buffer.from(key, 'base64').length === 32,
      'must be base64 of 32 bytes',
    ),
    connection_id: credentialText(64).optional(),
  }),
  // Of an account that is verified: a new one has two.
  maxConcurrentCalls: 10,
  open: ({ api_key, public_key, connection_id }, options) =>
    new TelnyxCarrier(
      {
        apiKey: api_key,
        publicKey: public_key,
        ...(connection_id !== undefined && { connectionId: connection_id }),
      },
      options,
    ),
});

/**
 * Telnyx by Call Control: JSON callbacks, and commands instead of documents. (TeXML is not used: the call id it
 * reports is not the one of the media stream.) Its upgrades carry no signature; the ticket alone admits.
 */
export class TelnyxCarrier implements Carrier {
  readonly name = 'telnyx';
  readonly answersByCommand = true;
  readonly dialling: TelnyxDialling;
  readonly numbers: TelnyxNumbers;
  readonly #publicKey: string;
  readonly #clock: Clock;
  readonly #client: CarrierClient;
  readonly #connectionId: string | null;

  constructor(
    { apiKey, publicKey, connectionId }: TelnyxCredentials,
    options: Partial<CarrierOptions> &
      Pick<CarrierOptions, 'clock'> & { dispatcher?: Dispatcher | undefined },
  ) {
    this.#publicKey = publicKey;
    this.#clock = options.clock;
    this.#client = new CarrierClient({
      carrier: 'telnyx',
      baseUrl: options.apiBaseUrl ?? TELNYX_API_URL,
      authorization: `Bearer ${apiKey}`,
      dispatcher: options.dispatcher,
      clock: options.clock,
      onUnauthorized: options.onUnauthorized,
    });
    this.#connectionId = connectionId ?? null;
    this.dialling = new TelnyxDialling(this.#client, this.#connectionId);
    this.numbers = new TelnyxNumbers(this.#client);
  }

  verifyWebhook(request: CarrierRequest): boolean {
    const signed = verifyTelnyxWebhook(request, { publicKey: this.#publicKey, nowMs: this.#clock.now() });
    return signed && !isOfAnotherAccount(request);
  }

  verifyUpgrade(): boolean {
    return true;
  }

  parseCallback(request: CarrierRequest): CarrierCallback | undefined {
    const { event_type, payload } = parseWebhook(request.body);
    const carrierCallId = payload.call_control_id;
    // Both spellings have been seen.
    const type = event_type.replaceAll('_', '.');
    const target = targetLegOf(payload.client_state);
    if (target) return targetLegEvent(type, payload, target);
    const treated = treatmentStep(type, payload);
    if (treated) return { type: 'treated', ...treated };
    switch (type) {
      case 'call.initiated':
        if (payload.direction === 'outgoing') return { type: 'dialled', carrierCallId };
        return {
          type: 'incoming',
          carrierCallId,
          from: toE164(payload.from ?? null),
          to: toE164(payload.to ?? null),
          direction: 'inbound',
        };
      case 'call.answered':
        return { type: 'answered', carrierCallId };
      case 'call.hangup':
        return {
          type: 'ended',
          carrierCallId,
          ...telnyxEnd(payload.hangup_cause, payload.sip_hangup_cause),
        };
      case 'call.machine.detection.ended':
      case 'call.machine.premium.detection.ended': {
        const verdict = MACHINE_RESULTS[payload.result ?? ''];
        return verdict && { type: 'machine', carrierCallId, verdict, beep: false };
      }
      case 'call.machine.greeting.ended':
      case 'call.machine.premium.greeting.ended':
        if (payload.result !== 'beep_detected') return undefined;
        return { type: 'machine', carrierCallId, verdict: 'machine', beep: true };
      case 'call.recording.saved':
        return { type: 'recording', carrierCallId, recordingId: payload.recording_id ?? null, failure: null };
      case 'call.recording.error':
        return {
          ...{ type: 'recording', carrierCallId, recordingId: payload.recording_id ?? null },
          failure: payload.reason ?? 'error',
        };
      case 'streaming.started':
        return { type: 'stream', carrierCallId, phase: 'started', reason: null };
      case 'streaming.stopped':
        return { type: 'stream', carrierCallId, phase: 'stopped', reason: null };
      case 'streaming.failed':
        return { type: 'stream', carrierCallId, phase: 'failed', reason: payload.failure_reason ?? null };
      default:
        return undefined;
    }
  }

  /** Not the address: Telnyx signs bodies alone. */
  dialOf({ body }: CarrierRequest): string | null {
    const { client_state: state } = parseWebhook(body).payload;
    const dialId = Buffer.from(state ?? '', 'base64').toString('utf8');
    // Treatments and the legs of transfers have states of their own.
    return DIAL_ID.test(dialId) ? dialId : null;
  }

  async answer(
    carrierCallId: string,
    { streamUrl, again = false }: StreamTarget,
    signal?: AbortSignal,
  ): Promise<CarrierDocument> {
    const command = again ? 'streaming_start' : 'answer';
    await this.#action(carrierCallId, command, { stream_url: streamUrl, ...STREAM_SETTINGS }, signal);
    return EMPTY;
  }

  async refuse(
    carrierCallId: string,
    reason: 'busy' | 'rejected',
    signal?: AbortSignal,
  ): Promise<CarrierDocument> {
    await this.#action(
      carrierCallId,
      'reject',
      { cause: reason === 'busy' ? 'USER_BUSY' : 'CALL_REJECTED' },
      signal,
    );
    return EMPTY;
  }

  async treat(
    carrierCallId: string,
    treatment: CallTreatment,
    signal?: AbortSignal,
  ): Promise<CarrierDocument> {
    const { name, body } = treatmentCommand(carrierCallId, treatment, null);
    await this.#action(carrierCallId, name, body, signal);
    return EMPTY;
  }

  async continueTreatment(
    carrierCallId: string,
    treatment: CallTreatment,
    done: TreatmentStep,
    signal?: AbortSignal,
  ): Promise<void> {
    const { name, body } = treatmentCommand(carrierCallId, treatment, done);
    await this.#action(carrierCallId, name, body, signal);
  }

  acknowledge(): CarrierDocument {
    return EMPTY;
  }

  async hangup(carrierCallId: string, signal?: AbortSignal): Promise<void> {
    await this.#action(carrierCallId, 'hangup', {}, signal);
  }

  async transfer(carrierCallId: string, target: TransferTarget, signal?: AbortSignal): Promise<void> {
    await this.#action(
      carrierCallId,
      'transfer',
      {
        to: target.to,
        timeout_secs: target.ringTimeoutSeconds,
        ...(target.callerId === null ? {} : { from: target.callerId }),
        target_leg_client_state: targetLegState(carrierCallId, target.transferId),
      },
      signal,
    );
    // Whether a transfer leaves the stream open is not documented: the agent is to hear nothing more either way. Not before it is
    // taken: a caller whose transfer is refused is still with the agent.
    await this.#action(carrierCallId, 'streaming_stop', {}, signal).catch((error: unknown) => {
      if (!(error instanceof CarrierError)) throw error;
    });
  }

  transferDocument(): CarrierDocument {
    return EMPTY;
  }

  /** Unless it is told to park them, the carrier ends a call with the other one. */
  async connect({ callerCallId, targetCallId }: ConnectedCalls, signal?: AbortSignal): Promise<void> {
    await this.#action(callerCallId, 'bridge', { call_control_id: targetCallId }, signal);
  }

  conferenceDocument(): CarrierDocument {
    return EMPTY;
  }

  async sendDtmf(carrierCallId: string, digits: string, signal?: AbortSignal): Promise<void> {
    await this.#action(carrierCallId, 'send_dtmf', { digits }, signal);
  }

  async verifyCredentials(signal?: AbortSignal): Promise<void> {
    await this.#client.call({ method: 'GET', path: '/v2/balance', signal });
  }

  findProblems(expected: ExpectedAccount, signal?: AbortSignal): Promise<AccountProblem[]> {
    return telnyxProblems(this.#client, this.#connectionId, expected, signal);
  }

  async #action(carrierCallId: string, name: string, body: object, signal?: AbortSignal): Promise<void> {
    await this.#client.call({
      method: 'POST',
      // The id holds a colon.
      path: `/v2/calls/${encodeURIComponent(carrierCallId)}/actions/${name}`,
      json: body,
      alsoDone: (status, answer) => name === 'hangup' && status === 422 && answer.includes('90018'),
      signal,
    });
  }
}

type TargetLeg = z.output<typeof targetLegSchema>;

/** Base64, as the vendor asks for. */
function targetLegState(carrierCallId: string, transferId: string): string {
  const leg: TargetLeg = { transfer_id: transferId, call_control_id: carrierCallId };
  return Buffer.from(JSON.stringify(leg)).toString('base64');
}

/** @returns undefined for any other leg */
function targetLegOf(clientState: string | null | undefined): TargetLeg | undefined {
  if (clientState == null) return undefined;
  return targetLegSchema.safeParse(parseJson(Buffer.from(clientState, 'base64'))).data;
}

function targetLegEvent(
  type: string,
  payload: { call_control_id: string; hangup_cause?: string | undefined },
  { transfer_id: transferId, call_control_id: carrierCallId }: TargetLeg,
): CarrierCallback | undefined {
  if (type === 'call.answered')
    return { type: 'transfer_answered', carrierCallId, transferId, targetCallId: payload.call_control_id };
  if (type !== 'call.hangup') return undefined;
  const cause = payload.hangup_cause ?? null;
  return { type: 'transfer_ended', carrierCallId, transferId, bridged: false, cause };
}

/**
 * Whether a body, which is signed, says that it was delivered to another account's address, which is not: then it was
 * sent on from there. Telnyx names no account of its own in calls' events.
 */
function isOfAnotherAccount({ body, url }: CarrierRequest): boolean {
  const delivered = deliverySchema.safeParse(parseJson(body)).data?.meta.delivered_to;
  const account = ACCOUNT_ID.exec(delivered ?? '')?.[1];
  return account !== undefined && account !== ACCOUNT_ID.exec(new URL(url).pathname)?.[1];
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

function parseWebhook(body: Buffer): z.infer<typeof webhookSchema>['data'] {
  const json = parseJson(body);
  if (json === undefined) throw new CarrierProtocolError('telnyx', 'the body is not JSON');
  const parsed = webhookSchema.safeParse(json);
  if (!parsed.success) throw new CarrierProtocolError('telnyx', 'the body is not an event');
  return parsed.data.data;
}
