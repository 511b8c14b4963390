import { randomBytes, randomUUID } from 'node:crypto';
import { AnswerDocumentError, parseAnswerDocument, type XmlElement } from './answer-document.ts';
import { CallWait } from '../callers/call-wait.ts';
import type { AccountCall } from './carrier-account.ts';
import { dialects, type CarrierDialect } from '../callers/carrier-dialect.ts';
import { CarrierLine } from '../callers/carrier-line.ts';
import { PendingWebhooks, postForm } from './carrier-webhook.ts';
import {
  CallProgress,
  transferOutcome,
  type EmulatedCallEnd,
  type PlaceCallOptions,
} from '../callers/emulated-call.ts';
import { signPlivoRequest, signPlivoUpgrade } from './plivo-webhook-signature.ts';
import { deaf, toL16, withEncoding, withExtraHeaders, withStart } from '../callers/stream-dialect.ts';

/** Plivo dials the stream three times before it gives up. */
const STREAM_TRIES = 3;
const STREAM_RETRY_MS = 100;
/** Without `keepCallAlive` the call is over this soon after the document. */
const END_OF_XML_MS = 2000;
const MAX_STREAM_URL = 2048;
const MAX_EXTRA_HEADERS = 512;

const digitsOf = (number: string) => number.replace(/^\+/, '');

/** How a call ended, in Plivo's words; carriers 1.4. */
interface PlivoCause {
  source: EmulatedCallEnd['source'];
  status: string;
  code: string;
  cause: string;
  name: string;
  hangupSource: string;
}

const CAUSES = {
  caller: cause('caller', 'completed', '4000', 'NORMAL_CLEARING', 'Normal Hangup', 'Caller'),
  cancelled: cause('caller', 'no-answer', '1000', 'ORIGINATOR_CANCEL', 'Cancelled', 'Caller'),
  api: cause('api', 'completed', '4000', 'NORMAL_CLEARING', 'Normal Hangup', 'API Request'),
  document: cause('document', 'completed', '4000', 'NORMAL_CLEARING', 'Normal Hangup', 'Answer XML'),
  endOfXml: cause(
    'document',
    'completed',
    '4010',
    'NORMAL_CLEARING',
    'End Of XML Instructions',
    'Answer XML',
  ),
  rejected: cause('document', 'failed', '3020', 'CALL_REJECTED', 'Rejected', 'Answer XML'),
  busy: cause('document', 'busy', '3010', 'USER_BUSY', 'Busy Line', 'Answer XML'),
  target: cause('target', 'completed', '4000', 'NORMAL_CLEARING', 'Normal Hangup', 'Callee'),
} as const;

function cause(
  source: EmulatedCallEnd['source'],
  status: string,
  code: string,
  text: string,
  name: string,
  hangupSource: string,
): PlivoCause {
  return { source, status, code, cause: text, name, hangupSource };
}

/** Which document was wrong: its digit in the codes 701x (URL) and 801x (XML). */
const DOCUMENTS = { answer: 1, action: 2, transfer: 3, redirect: 4 } as const;
type DocumentKind = keyof typeof DOCUMENTS;

class DocumentFault extends Error {
  readonly end: PlivoCause;

  constructor(kind: DocumentKind, error: unknown) {
    const invalid = error instanceof AnswerDocumentError;
    super(error instanceof Error ? error.message : 'failed', { cause: error });
    const what = `${kind[0]!.toUpperCase()}${kind.slice(1)}`;
    this.end = cause(
      'network',
      'failed',
      `${invalid ? 801 : 701}${DOCUMENTS[kind]}`,
      'NORMAL_CLEARING',
      invalid ? `Invalid ${what} XML` : `${what} URL Error`,
      'Error',
    );
  }
}

type Document = readonly XmlElement[];

/** One call, as Plivo handles it: asks for documents and obeys them. */
export class PlivoCall implements AccountCall {
  readonly carrier = 'plivo';
  readonly callId = randomUUID();
  readonly from: string;
  readonly to: string;
  readonly ended: Promise<EmulatedCallEnd>;
  readonly #place: PlaceCallOptions;
  readonly #account: { authId: string; authToken: string };
  readonly #progress = new CallProgress();
  readonly #webhooks = new PendingWebhooks();
  readonly #wait = new CallWait();
  readonly #startedAt = new Date();
  #document: DocumentKind = 'answer';
  #hungUp: PlivoCause | undefined;
  /** Document to go on with when the current element is done: set by a transfer. */
  #nextUrl: string | undefined;
  /** Whose side the last conversation of a transfer ended on. */
  #targetHungUp = false;

  constructor(place: PlaceCallOptions, account: { authId: string; authToken: string }) {
    this.#place = place;
    this.#account = account;
    this.from = place.from;
    this.to = place.to;
    this.ended = this.#progress.ended;
    void this.#run();
  }

  get line(): CarrierLine {
    return this.#progress.line;
  }

  lineAfter(line: CarrierLine): Promise<CarrierLine | undefined> {
    return this.#progress.lineAfter(line);
  }

  connected(): Promise<void> {
    return this.#progress.connected();
  }

  hangUp(): void {
    this.end('caller');
  }

  end(by: 'caller' | 'api'): void {
    this.#hungUp ??= by === 'caller' && !this.#progress.answered ? CAUSES.cancelled : CAUSES[by];
    this.#progress.closeLine();
    this.#wait.interrupt();
  }

  /** The new document is fetched when the current element is done: when the stream has ended. */
  transfer(url: string): void {
    this.#nextUrl = url;
  }

  stopStream(): void {
    this.#progress.closeLine();
  }

  heardDigits(digits: string): void {
    this.#place.events?.onDigits?.(digits);
  }

  async #run(): Promise<void> {
    let end: PlivoCause;
    try {
      end = await this.#perform();
    } catch (error) {
      const fault = error instanceof DocumentFault ? error : new DocumentFault(this.#document, error);
      this.#progress.problem = fault;
      end = fault.end;
    }
    end = this.#hungUp ?? end;
    this.#progress.closeLine();
    await this.#webhooks.settled();
    const { durationSeconds } = this.#progress;
    await this.#post(this.#place.statusUrl, {
      ...this.#common(end.status, 'Hangup'),
      HangupCause: end.cause,
      HangupCauseCode: end.code,
      HangupCauseName: end.name,
      HangupSource: end.hangupSource,
      Duration: String(durationSeconds),
      BillDuration: String(Math.ceil(durationSeconds / 60) * 60),
      TotalCost: '0.00000',
      StartTime: plivoTime(this.#startedAt),
      AnswerTime: this.#progress.answered ? plivoTime(new Date(Date.now() - durationSeconds * 1000)) : '',
      EndTime: plivoTime(new Date()),
      CarrierFailoverTriggered: 'false',
    }).catch(() => '');
    this.#progress.finish({ source: end.source, cause: `${end.code} ${end.name}` });
  }

  async #perform(): Promise<PlivoCause> {
    let document = await this.#fetch('answer', this.#place.voiceUrl, this.#common('ringing', 'StartApp'));
    for (;;) {
      const step = await this.#performDocument(document);
      if (this.#hungUp) return this.#hungUp;
      if ('end' in step) return step.end;
      document = step.document;
    }
  }

  async #performDocument(document: Document): Promise<Step> {
    for (const [index, element] of document.entries()) {
      const step = await this.#performElement(element, index === 0);
      if (this.#hungUp) return { end: this.#hungUp };
      if (step) return step;
      const url = this.#nextUrl;
      this.#nextUrl = undefined;
      if (url !== undefined)
        return { document: await this.#fetch('transfer', url, this.#common('in-progress')) };
    }
    return { end: this.#targetHungUp ? CAUSES.target : CAUSES.endOfXml };
  }

  /** @returns where to go on; undefined for the next element */
  async #performElement(element: XmlElement, isFirst: boolean): Promise<Step | undefined> {
    switch (element.name) {
      case 'Stream':
        return this.#stream(element);
      case 'Dial':
        return this.#dial(element);
      case 'Redirect':
        return {
          document: await this.#fetch('redirect', element.text, this.#common('in-progress')),
        };
      case 'Wait':
        this.#progress.answer();
        await this.#wait.forMs(Number(element.attributes['length'] ?? '1') * 1000);
        return undefined;
      case 'Hangup': {
        const { reason } = element.attributes;
        if (reason !== undefined && reason !== 'rejected' && reason !== 'busy')
          throw new AnswerDocumentError(`<Hangup reason="${reason}">`);
        if (isFirst && !this.#progress.answered && reason) return { end: CAUSES[reason] };
        return { end: this.#targetHungUp ? CAUSES.target : CAUSES.document };
      }
      default:
        throw new AnswerDocumentError(`<${element.name}> is not supported by this emulator of Plivo`);
    }
  }

  async #stream(element: XmlElement): Promise<undefined> {
    const { attributes } = element;
    const { dialect, keepCallAlive } = streamSettings(element);
    this.#progress.answer();
    const streamId = randomUUID();
    const report = (event: string, more: Record<string, string> = {}) => {
      const url = attributes['statusCallbackUrl'];
      if (url === undefined) return;
      const fields = { ...this.#common('in-progress', event), StreamID: streamId, ...more };
      this.#webhooks.send(this.#post(url, { ...fields, Timestamp: new Date().toISOString() }));
    };
    let line: CarrierLine;
    try {
      line = await this.#dialStream(element.text, dialect, streamId);
    } catch (error) {
      this.#progress.problem = error;
      report('DroppedStream', { StatusReason: 'connection_failed' });
      return;
    }
    this.#progress.addLine(line);
    if (this.#hungUp) line.hangUp();
    report('StartStream');
    const timeout = Number(attributes['streamTimeout'] ?? '86400') * 1000;
    const timer = setTimeout(() => line.hangUp(), Math.min(timeout, 2 ** 31 - 1));
    if (keepCallAlive) await line.closed;
    else {
      await this.#wait.until(Promise.race([line.closed, elapsed(END_OF_XML_MS)]));
      line.hangUp();
    }
    clearTimeout(timer);
    const { code } = await line.closed;
    // The end of the call says enough of its stream.
    if (!this.#hungUp) report(code === 1006 ? 'DroppedStream' : 'StopStream');
  }

  async #dialStream(url: string, dialect: CarrierDialect, streamId: string): Promise<CarrierLine> {
    for (let tries = 1; ; tries++) {
      const nonce = randomBytes(10).toString('hex');
      try {
        return await CarrierLine.open({
          url: this.#place.reach?.(url) ?? url,
          carrier: dialect,
          ids: {
            callId: this.callId,
            streamId,
            accountId: this.#account.authId,
            from: this.from,
            to: this.to,
            sequence: 0,
          },
          headers: {
            'X-Plivo-Signature-V3': signPlivoUpgrade(this.#account.authToken, url, nonce),
            'X-Plivo-Signature-V3-Nonce': nonce,
          },
          events: this.#place.events ?? {},
          keepHeard: this.#place.keepHeard ?? false,
          background: this.#place.background,
        });
      } catch (error) {
        if (tries === STREAM_TRIES || this.#hungUp) throw error;
        await this.#wait.forMs(STREAM_RETRY_MS);
      }
    }
  }

  async #dial(element: XmlElement): Promise<Step | undefined> {
    const numbers = element.children.filter((child) => child.name === 'Number');
    if (numbers.length === 0) throw new AnswerDocumentError('<Dial> without a <Number>');
    this.#progress.answer();
    const { action, timeout, redirect } = element.attributes;
    const to = `+${digitsOf(numbers[0]!.text)}`;
    const outcome = transferOutcome(this.#place, to);
    const answered = outcome.status === 'answered';
    if (answered) this.#progress.transferredTo = to;
    await this.#wait.forMs(
      answered ? outcome.afterMs : Math.min(outcome.afterMs, Number(timeout ?? '120') * 1000),
    );
    this.#targetHungUp = answered && !this.#hungUp;
    if (action === undefined) return undefined;
    const fields = {
      ...this.#common('in-progress'),
      DialStatus: answered ? 'completed' : outcome.status,
      DialRingStatus: String(outcome.status !== 'failed'),
      DialHangupCause: DIAL_CAUSES[outcome.status],
      DialALegUUID: this.callId,
      DialBLegUUID: randomUUID(),
    };
    if (redirect === 'false') {
      this.#webhooks.send(this.#post(action, fields));
      return undefined;
    }
    const document = await this.#fetch('action', action, fields);
    return { document };
  }

  #common(status: string, event?: string): Record<string, string> {
    return {
      CallUUID: this.callId,
      From: digitsOf(this.from),
      To: digitsOf(this.to),
      Direction: 'inbound',
      CallStatus: status,
      ALegUUID: this.callId,
      SessionStart: plivoTime(this.#startedAt),
      ...(event === undefined ? {} : { Event: event }),
    };
  }

  async #fetch(kind: DocumentKind, url: string, fields: Record<string, string>): Promise<Document> {
    this.#document = kind;
    try {
      return parseAnswerDocument(await this.#post(url, fields));
    } catch (error) {
      throw new DocumentFault(kind, error);
    }
  }

  #post(url: string, fields: Record<string, string>): Promise<string> {
    return postForm(url, fields, {
      twice: this.#place.repeatWebhooks ?? false,
      reach: this.#place.reach,
      headers: () => {
        const nonce = randomBytes(10).toString('hex');
        const signature = signPlivoRequest(this.#account.authToken, url, fields, nonce);
        return {
          'user-agent': 'parley-emulated-plivo',
          'x-plivo-signature-v3': signature,
          'x-plivo-signature-ma-v3': signature,
          'x-plivo-signature-v3-nonce': nonce,
        };
      },
    });
  }
}

/** What a document or an element leads to. */
type Step = { document: Document } | { end: PlivoCause };

const DIAL_CAUSES = {
  answered: 'NORMAL_CLEARING',
  busy: 'USER_BUSY',
  'no-answer': 'NO_ANSWER',
  failed: 'UNALLOCATED_NUMBER',
} as const;

/** What `<Stream>` asks for; carriers 1.2. @throws AnswerDocumentError */
function streamSettings({ attributes, text }: XmlElement): {
  dialect: CarrierDialect;
  keepCallAlive: boolean;
} {
  if (!/^wss?:\/\/[^\s]+$/.test(text) || text.length > MAX_STREAM_URL)
    throw new AnswerDocumentError('<Stream> holds no address of a WebSocket');
  const bidirectional = attributes['bidirectional'] === 'true';
  const track = attributes['audioTrack'] ?? 'inbound';
  if (!['inbound', 'outbound', 'both'].includes(track) || (bidirectional && track !== 'inbound'))
    throw new AnswerDocumentError(`<Stream audioTrack="${track}">`);
  const contentType = attributes['contentType'] ?? 'audio/x-mulaw;rate=8000';
  const format = /^(?:(audio\/x-mulaw);rate=8000|(audio\/x-l16);rate=(8000|16000))$/.exec(contentType);
  if (!format) throw new AnswerDocumentError(`<Stream contentType="${contentType}">`);
  const extraHeaders = attributes['extraHeaders'] ?? '';
  if (extraHeaders.length > MAX_EXTRA_HEADERS) throw new AnswerDocumentError('extraHeaders is too long');
  let dialect: CarrierDialect = dialects.plivo;
  if (format[2]) {
    const sampleRate = Number(format[3]);
    dialect = withStart(withEncoding(dialect, toL16(sampleRate)), (message) => {
      message.start['mediaFormat'] = { encoding: format[2], sampleRate };
    });
  }
  if (extraHeaders !== '') dialect = withExtraHeaders(dialect, extraHeaders.replaceAll(',', ';'));
  if (!bidirectional) dialect = deaf(dialect, 'audio on a one-way stream');
  return { dialect, keepCallAlive: attributes['keepCallAlive'] === 'true' };
}

/** `2026-01-02 03:04:05+00:00` */
function plivoTime(date: Date): string {
  return `${date.toISOString().slice(0, 19).replace('T', ' ')}+00:00`;
}

function elapsed(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
