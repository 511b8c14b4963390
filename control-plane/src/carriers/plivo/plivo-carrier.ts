import { z } from 'zod';
import type { AccountProblem, ExpectedAccount } from '../account-problem.ts';
import type { CarrierClient } from '../carrier-client.ts';
import { credentialText } from '../carrier-credentials.ts';
import { formFields, toE164 } from '../carrier-form.ts';
import {
  CarrierProtocolError,
  defineCarrier,
  type CallTreatment,
  type Carrier,
  type CarrierCallback,
  type CarrierDocument,
  type CarrierRequest,
  type ConnectedCalls,
  type StreamTarget,
  type TransferTarget,
} from '../carrier.ts';
import { nearestLanguage } from '../spoken-language.ts';
import { escapeXml, responseDocument } from '../xml.ts';
import { openPlivoApi, type PlivoApiOptions, type PlivoCredentials } from './plivo-api.ts';
import { plivoEnd } from './plivo-causes.ts';
import { PLIVO_CALLBACK_TEXT, PlivoComplaints } from './plivo-complaints.ts';
import { PlivoDialling } from './plivo-dialling.ts';
import { PlivoNumbers } from './plivo-numbers.ts';
import { plivoProblems } from './plivo-problems.ts';
import { verifyPlivoUpgrade, verifyPlivoWebhook } from './plivo-signature.ts';

/** Languages of the voice `WOMAN`, by the vendor's page on `<Speak>`. */
const SPOKEN = [
  ...['en-US', 'en-GB', 'en-AU', 'da-DK', 'nl-NL', 'fr-FR', 'fr-CA', 'de-DE', 'it-IT', 'pl-PL', 'pt-BR'],
  ...['ru-RU', 'es-ES', 'es-US', 'sv-SE'],
];

export const plivo = defineCarrier({
  title: 'Plivo',
  credentials: z.strictObject({ auth_id: credentialText(64), auth_token: credentialText(128) }),
  maxConcurrentCalls: 10,
  complaints: {
    callbackText: PLIVO_CALLBACK_TEXT,
    open: ({ auth_id, auth_token }, options) =>
      new PlivoComplaints(openPlivoApi({ authId: auth_id, authToken: auth_token }, options)),
  },
  open: ({ auth_id, auth_token }, options) =>
    new PlivoCarrier({ authId: auth_id, authToken: auth_token }, options),
});

/** Plivo: XML documents, form callbacks, signature V3, numbers without `+`. */
export class PlivoCarrier implements Carrier {
  readonly name = 'plivo';
  readonly answersByCommand = false;
  readonly dialling: PlivoDialling;
  readonly numbers: PlivoNumbers;
  readonly #authId: string;
  readonly #authToken: string;
  readonly #client: CarrierClient;
  readonly #account: string;

  constructor(credentials: PlivoCredentials, options: PlivoApiOptions = {}) {
    this.#authId = credentials.authId;
    this.#authToken = credentials.authToken;
    const { client, account } = openPlivoApi(credentials, options);
    this.#client = client;
    this.#account = account;
    this.dialling = new PlivoDialling(this.#client, this.#account);
    this.numbers = new PlivoNumbers(this.#client, this.#account);
  }

  verifyWebhook(request: CarrierRequest): boolean {
    if (!verifyPlivoWebhook(request, this.#authToken)) return false;
    // Signed by this account, and yet of others alone: no callback of Plivo's. Calls of a sub-account name it first,
    // and the account above it second; many callbacks name none.
    const fields = formFields(request);
    const accounts = [fields.get('AuthID'), fields.get('ParentAuthID')].filter(
      (id) => id !== null && id !== '',
    );
    return accounts.length === 0 || accounts.includes(this.#authId);
  }

  verifyUpgrade(url: string, headers: Readonly<Record<string, string | undefined>>): boolean {
    return verifyPlivoUpgrade(url, headers, this.#authToken);
  }

  parseCallback(request: CarrierRequest): CarrierCallback | undefined {
    const fields = formFields(request);
    const carrierCallId = fields.get('CallUUID') ?? fields.get('DialALegUUID');
    if (!carrierCallId) throw new CarrierProtocolError('plivo', 'no CallUUID');
    if (fields.has('DialStatus')) {
      const status = fields.get('DialStatus');
      return {
        type: 'transfer_ended',
        carrierCallId,
        bridged: status === 'completed',
        cause: fields.get('DialHangupCause') ?? status,
      };
    }
    const event = fields.get('Event');
    const recordingId = fields.get('RecordingID');
    if (event === null && (recordingId !== null || fields.has('RecordUrl')))
      return { type: 'recording', carrierCallId, recordingId, failure: null };
    switch (event) {
      case 'StartApp':
        return {
          type: 'incoming',
          carrierCallId,
          from: toE164(fields.get('From')),
          to: toE164(fields.get('To')),
          direction: fields.get('Direction') === 'outbound' ? 'outbound' : 'inbound',
        };
      case 'Ring':
        return { type: 'ringing', carrierCallId };
      case 'MachineDetection':
        // Of people mostly nothing is told.
        return {
          type: 'machine',
          carrierCallId,
          verdict: fields.get('Machine') === 'true' ? 'machine' : 'human',
          beep: false,
        };
      case 'Hangup':
        return { type: 'ended', carrierCallId, ...plivoEnd(fields) };
      case 'StartStream':
        return { type: 'stream', carrierCallId, phase: 'started', reason: null };
      case 'StopStream':
        return { type: 'stream', carrierCallId, phase: 'stopped', reason: fields.get('StatusReason') };
      case 'DroppedStream':
        return { type: 'stream', carrierCallId, phase: 'failed', reason: fields.get('StatusReason') };
      case 'DegradedStream':
        return { type: 'stream', carrierCallId, phase: 'degraded', reason: fields.get('StatusReason') };
      case null:
        // The document of a transfer is asked for without an event.
        return { type: 'answered', carrierCallId };
      default:
        return undefined;
    }
  }

  dialOf({ url }: CarrierRequest): string | null {
    return new URL(url).searchParams.get('dial');
  }

  answer(_carrierCallId: string, { streamUrl, statusUrl }: StreamTarget): Promise<CarrierDocument> {
    // `keepCallAlive` holds the document at the stream; what follows runs when the stream is over.
    const stream =
      '<Stream bidirectional="true" keepCallAlive="true" audioTrack="inbound"' +
      ' contentType="audio/x-mulaw;rate=8000" streamTimeout="86400"' +
      ` statusCallbackUrl="${escapeXml(statusUrl)}" statusCallbackMethod="POST">${escapeXml(streamUrl)}</Stream>`;
    return Promise.resolve(responseDocument(stream, '<Hangup/>'));
  }

  refuse(_carrierCallId: string, reason: 'busy' | 'rejected'): Promise<CarrierDocument> {
    return Promise.resolve(responseDocument(`<Hangup reason="${reason}"/>`));
  }

  treat(_carrierCallId: string, { say, forward }: CallTreatment): Promise<CarrierDocument> {
    const speech =
      say &&
      `<Speak voice="WOMAN" language="${nearestLanguage(say.language, SPOKEN)}">${escapeXml(say.text)}</Speak>`;
    const dial = forward && dialElement(forward, resultAttributes(forward.resultUrl));
    return Promise.resolve(responseDocument(speech ?? '', dial ?? '', '<Hangup/>'));
  }

  continueTreatment(): Promise<void> {
    return Promise.resolve();
  }

  acknowledge(next?: 'hangup'): CarrierDocument {
    return next ? responseDocument('<Hangup/>') : responseDocument();
  }

  async hangup(carrierCallId: string, signal?: AbortSignal): Promise<void> {
    await this.#client.call({
      method: 'DELETE',
      path: this.#call(carrierCallId),
      alsoDone: (status) => status === 404,
      signal,
    });
  }

  async transfer(carrierCallId: string, target: TransferTarget, signal?: AbortSignal): Promise<void> {
    await this.#client.call({
      method: 'POST',
      path: this.#call(carrierCallId),
      json: { legs: 'aleg', aleg_url: target.documentUrl, aleg_method: 'POST' },
      signal,
    });
  }

  transferDocument(target: TransferTarget): CarrierDocument {
    return responseDocument(dialElement(target, resultAttributes(target.resultUrl)), '<Hangup/>');
  }

  /** Each call fetches the document when its stream ends. */
  async connect(calls: ConnectedCalls, signal?: AbortSignal): Promise<void> {
    for (const callId of [calls.targetCallId, calls.callerCallId])
      await this.#client.call({
        method: 'POST',
        path: this.#call(callId),
        json: { legs: 'aleg', aleg_url: calls.documentUrl, aleg_method: 'POST' },
        signal,
      });
  }

  conferenceDocument(name: string): CarrierDocument {
    return responseDocument(
      `<Conference endConferenceOnExit="true">${escapeXml(name)}</Conference>`,
      '<Hangup/>',
    );
  }

  async sendDtmf(carrierCallId: string, digits: string, signal?: AbortSignal): Promise<void> {
    await this.#client.call({
      method: 'POST',
      path: `${this.#call(carrierCallId)}DTMF/`,
      json: { digits, leg: 'aleg' },
      signal,
    });
  }

  async verifyCredentials(signal?: AbortSignal): Promise<void> {
    await this.#client.call({ method: 'GET', path: `${this.#account}/`, signal });
  }

  findProblems(expected: ExpectedAccount, signal?: AbortSignal): Promise<AccountProblem[]> {
    return plivoProblems({ client: this.#client, account: this.#account }, expected, signal);
  }

  /** The trailing slash matters. */
  #call(carrierCallId: string): string {
    return `${this.#account}/Call/${encodeURIComponent(carrierCallId)}/`;
  }
}

/** Who is told of the end, and asked what is next. */
function resultAttributes(url: string): string {
  return ` action="${escapeXml(url)}" method="POST" redirect="true"`;
}

/** @param action attributes that say who is told of the end */
function dialElement(
  {
    to,
    callerId,
    ringTimeoutSeconds,
    extension = null,
  }: Pick<TransferTarget, 'to' | 'callerId' | 'ringTimeoutSeconds'> & { extension?: string | null },
  action: string,
): string {
  const from = callerId === null ? '' : ` callerId="${escapeXml(callerId.replace(/^\+/, ''))}"`;
  const number = escapeXml(to.replace(/^\+/, ''));
  const keys = extension === null ? '' : ` sendDigits="${escapeXml(extension)}"`;
  return `<Dial${from} timeout="${ringTimeoutSeconds}"${action}><Number${keys}>${number}</Number></Dial>`;
}
