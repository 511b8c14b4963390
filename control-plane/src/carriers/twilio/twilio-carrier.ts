import type { Dispatcher } from 'undici';
import { z } from 'zod';
import { systemClock, type Clock } from '@parley/shared/time/clock';
import type { AccountProblem, ExpectedAccount } from '../account-problem.ts';
import { CarrierClient } from '../carrier-client.ts';
import { credentialText } from '../carrier-credentials.ts';
import { formFields, toE164 } from '../carrier-form.ts';
import {
  toCarrierVerdict,
  CarrierError,
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
import { isFinal, twilioEnd } from './twilio-causes.ts';
import { TwilioDialling } from './twilio-dialling.ts';
import { TwilioNumbers } from './twilio-numbers.ts';
import { twilioProblems } from './twilio-problems.ts';
import { verifyTwilioUpgrade, verifyTwilioWebhook } from './twilio-signature.ts';

export const TWILIO_API_URL = 'https://api.twilio.com';
const TWILIO_PRICES_URL = 'https://pricing.twilio.com';

/** What `<Say>` takes as `language`, by the vendor's SDK. */
const SPOKEN = [
  ...[
    'en-US',
    'en-GB',
    'en-AU',
    'en-CA',
    'en-IE',
    'en-IN',
    'en-NZ',
    'en-ZA',
    'af-ZA',
    'am-ET',
    'ar-XA',
    'ar-AE',
  ],
  ...[
    'bg-BG',
    'bn-IN',
    'ca-ES',
    'cmn-CN',
    'cmn-TW',
    'zh-CN',
    'zh-HK',
    'zh-TW',
    'yue-HK',
    'cs-CZ',
    'cy-GB',
    'da-DK',
  ],
  ...[
    'de-DE',
    'de-AT',
    'el-GR',
    'es-ES',
    'es-MX',
    'es-US',
    'fi-FI',
    'fil-PH',
    'fr-FR',
    'fr-BE',
    'fr-CA',
    'gu-IN',
  ],
  ...[
    'he-IL',
    'hi-IN',
    'hu-HU',
    'id-ID',
    'is-IS',
    'it-IT',
    'ja-JP',
    'kn-IN',
    'ko-KR',
    'lv-LV',
    'ml-IN',
    'mr-IN',
  ],
  ...[
    'ms-MY',
    'nb-NO',
    'nl-NL',
    'nl-BE',
    'pa-IN',
    'pl-PL',
    'pt-BR',
    'pt-PT',
    'ro-RO',
    'ru-RU',
    'sk-SK',
    'sr-RS',
  ],
  ...['sv-SE', 'ta-IN', 'te-IN', 'th-TH', 'tr-TR', 'uk-UA', 'vi-VN'],
];

export interface TwilioCredentials {
  accountSid: string;
  /** The primary one: it signs, whatever REST uses. */
  authToken: string;
}

export const twilio = defineCarrier({
  title: 'Twilio',
  credentials: z.strictObject({ account_sid: credentialText(64), auth_token: credentialText(128) }),
  maxConcurrentCalls: 10,
  open: ({ account_sid, auth_token }, options) =>
    new TwilioCarrier({ accountSid: account_sid, authToken: auth_token }, options),
});

/** Twilio: TwiML, form callbacks, SHA-1 signature over the URL as requested. */
export class TwilioCarrier implements Carrier {
  readonly name = 'twilio';
  readonly answersByCommand = false;
  readonly dialling: TwilioDialling;
  readonly numbers: TwilioNumbers;
  readonly #accountSid: string;
  readonly #authToken: string;
  readonly #client: CarrierClient;
  readonly #account: string;

  constructor(
    { accountSid, authToken }: TwilioCredentials,
    options: {
      clock?: Clock;
      apiBaseUrl?: string | undefined;
      dispatcher?: Dispatcher | undefined;
      onUnauthorized?: (() => void) | undefined;
    } = {},
  ) {
    this.#accountSid = accountSid;
    this.#authToken = authToken;
    this.#account = `/2010-04-01/Accounts/${encodeURIComponent(accountSid)}`;
    const rest = {
      carrier: 'twilio' as const,
      authorization: `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}`,
      dispatcher: options.dispatcher,
      clock: options.clock ?? systemClock,
      onUnauthorized: options.onUnauthorized,
    };
    this.#client = new CarrierClient({ ...rest, baseUrl: options.apiBaseUrl ?? TWILIO_API_URL });
    this.dialling = new TwilioDialling(this.#client, this.#account);
    const prices = new CarrierClient({ ...rest, baseUrl: options.apiBaseUrl ?? TWILIO_PRICES_URL });
    this.numbers = new TwilioNumbers(this.#client, prices, this.#account);
  }

  verifyWebhook(request: CarrierRequest): boolean {
    if (!verifyTwilioWebhook(request, this.#authToken)) return false;
    // Signed by this account, and yet of another one: not a callback of Twilio's.
    const sid = formFields(request).get('AccountSid');
    return sid === null || sid === this.#accountSid;
  }

  verifyUpgrade(url: string, headers: Readonly<Record<string, string | undefined>>): boolean {
    return verifyTwilioUpgrade(url, headers, this.#authToken);
  }

  parseCallback(request: CarrierRequest): CarrierCallback | undefined {
    const fields = formFields(request);
    const carrierCallId = fields.get('CallSid');
    if (!carrierCallId) throw new CarrierProtocolError('twilio', 'no CallSid');
    const streamEvent = fields.get('StreamEvent');
    if (streamEvent !== null) {
      const phase = STREAM_PHASES[streamEvent];
      return phase && { type: 'stream', carrierCallId, phase, reason: fields.get('StreamError') };
    }
    // Others have the verdict beside the status that they are about.
    const answeredBy = fields.get('AnsweredBy');
    if (answeredBy !== null && !fields.has('CallStatus')) {
      const verdict = answeredBy.startsWith('machine') ? 'machine' : toCarrierVerdict(answeredBy);
      return { type: 'machine', carrierCallId, verdict, beep: answeredBy === 'machine_end_beep' };
    }
    const recording = fields.get('RecordingStatus');
    if (recording !== null) {
      if (recording === 'in-progress') return undefined;
      const failure = recording === 'completed' ? null : recording;
      return { type: 'recording', carrierCallId, recordingId: fields.get('RecordingSid'), failure };
    }
    const dialStatus = fields.get('DialCallStatus');
    if (dialStatus !== null) {
      return {
        type: 'transfer_ended',
        carrierCallId,
        bridged: dialStatus === 'completed',
        cause: dialStatus,
      };
    }
    const status = fields.get('CallStatus') ?? '';
    if (fields.get('CallbackSource') === 'call-progress-events' || isFinal(status)) {
      if (status === 'ringing') return { type: 'ringing', carrierCallId };
      if (status === 'in-progress') return { type: 'answered', carrierCallId };
      if (!isFinal(status)) return undefined;
      return { type: 'ended', carrierCallId, ...twilioEnd(status, fields.get('SipResponseCode')) };
    }
    return {
      type: 'incoming',
      carrierCallId,
      from: toE164(fields.get('From')),
      to: toE164(fields.get('To')),
      direction: fields.get('Direction')?.startsWith('outbound') ? 'outbound' : 'inbound',
    };
  }

  dialOf({ url }: CarrierRequest): string | null {
    return new URL(url).searchParams.get('dial');
  }

  answer(_carrierCallId: string, { streamUrl, statusUrl }: StreamTarget): Promise<CarrierDocument> {
    // `<Connect>`, not `<Start>`: the latter is one-way and our audio would never be heard.
    return Promise.resolve(
      responseDocument(
        `<Connect><Stream url="${escapeXml(streamUrl)}" statusCallback="${escapeXml(statusUrl)}"` +
          ' statusCallbackMethod="POST"/></Connect>',
        '<Hangup/>',
      ),
    );
  }

  refuse(_carrierCallId: string, reason: 'busy' | 'rejected'): Promise<CarrierDocument> {
    return Promise.resolve(responseDocument(`<Reject reason="${reason}"/>`));
  }

  treat(_carrierCallId: string, { say, forward }: CallTreatment): Promise<CarrierDocument> {
    const speech =
      say && `<Say language="${nearestLanguage(say.language, SPOKEN)}">${escapeXml(say.text)}</Say>`;
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
      method: 'POST',
      path: this.#call(carrierCallId),
      form: { Status: 'completed' },
      alsoDone: (status) => status === 404,
      signal,
    });
  }

  async transfer(carrierCallId: string, target: TransferTarget, signal?: AbortSignal): Promise<void> {
    await this.#client.call({
      method: 'POST',
      path: this.#call(carrierCallId),
      form: { Twiml: this.transferDocument(target).body },
      signal,
    });
  }

  transferDocument(target: TransferTarget): CarrierDocument {
    return responseDocument(dialElement(target, resultAttributes(target.resultUrl)), '<Hangup/>');
  }

  /** The document replaces that of each call at once: its stream ends. */
  async connect(calls: ConnectedCalls, signal?: AbortSignal): Promise<void> {
    for (const callId of [calls.targetCallId, calls.callerCallId])
      await this.#client.call({
        method: 'POST',
        path: this.#call(callId),
        form: { Url: calls.documentUrl, Method: 'POST' },
        signal,
      });
  }

  conferenceDocument(name: string): CarrierDocument {
    return responseDocument(
      `<Dial><Conference endConferenceOnExit="true">${escapeXml(name)}</Conference></Dial>`,
      '<Hangup/>',
    );
  }

  /** Tones would need a new document, and that ends the media stream. */
  sendDtmf(): Promise<void> {
    return Promise.reject(new CarrierError('twilio', 'unsupported'));
  }

  async verifyCredentials(signal?: AbortSignal): Promise<void> {
    await this.#client.call({ method: 'GET', path: `${this.#account}.json`, signal });
  }

  findProblems(expected: ExpectedAccount, signal?: AbortSignal): Promise<AccountProblem[]> {
    return twilioProblems(this.#client, this.#account, expected, signal);
  }

  #call(carrierCallId: string): string {
    return `${this.#account}/Calls/${encodeURIComponent(carrierCallId)}.json`;
  }
}

const STREAM_PHASES: Record<string, 'started' | 'stopped' | 'failed'> = {
  'stream-started': 'started',
  'stream-stopped': 'stopped',
  'stream-error': 'failed',
};

/** Who is told of the end, and asked what is next. */
function resultAttributes(url: string): string {
  return ` action="${escapeXml(url)}" method="POST"`;
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
  const from = callerId === null ? '' : ` callerId="${escapeXml(callerId)}"`;
  // Half a second is the one pause that it documents for numbers.
  const keys = extension === null ? '' : ` sendDigits="${escapeXml(extension.replaceAll('W', 'ww'))}"`;
  return `<Dial${from} timeout="${ringTimeoutSeconds}"${action}><Number${keys}>${escapeXml(to)}</Number></Dial>`;
}
