import { randomBytes, randomUUID } from 'node:crypto';
import type { Clock } from '@parley/shared/time/clock';
import { AnswerDocumentError, parseAnswerDocument, type XmlElement } from './answer-document.ts';
import { CarriedCall } from './carried-call.ts';
import { CallWait } from '../callers/call-wait.ts';
import type { CarrierDialect } from '../callers/carrier-dialect.ts';
import { CarrierLine } from '../callers/carrier-line.ts';
import type { DialledTelephone } from '../callers/telephone.ts';
import { PendingWebhooks, postForm, type CallbackConditions } from './carrier-webhook.ts';
import { speechMs, transferOutcome, type PlaceCallOptions } from '../callers/emulated-call.ts';
import type { Conferences } from './conferences.ts';
import { CAUSES, DocumentFault, RUNG, type DocumentKind, type PlivoCause } from './plivo-causes.ts';
import { conferenceOf, languageOf, streamSettings } from './plivo-xml.ts';
import { signPlivoRequest, signPlivoUpgrade } from './plivo-webhook-signature.ts';

/** Plivo dials the stream three times before it gives up. */
const STREAM_TRIES = 3;
const STREAM_RETRY_MS = 100;
/** Without `keepCallAlive` the call is over this soon after the document. */
const END_OF_XML_MS = 2000;
const digitsOf = (number: string) => number.replace(/^\+/, '');

type Document = readonly XmlElement[];

/** What the API was asked for of a call that it dials. */
export interface PlivoDial {
  requestUuid: string;
  telephone: DialledTelephone;
  ringUrl: string | undefined;
  /** Told when machine detection hears a machine; of people the vendor tells nothing. */
  machineUrl: string | undefined;
  timeLimitMs: number;
}

/** An account: what it signs with, and its conferences. */
export interface PlivoAccount {
  authId: string;
  authToken: string;
  conferences: Conferences;
}

/** How far a call that was dialled has come. */
export type PlivoStage = 'queued' | 'live' | 'over';

/** One call, as Plivo handles it: asks for documents and obeys them. */
export class PlivoCall extends CarriedCall {
  readonly carrier = 'plivo';
  readonly callId = randomUUID();
  readonly #place: PlaceCallOptions;
  readonly #account: PlivoAccount;
  /** What it was dialled by; absent when it came in. */
  readonly dialled: PlivoDial | undefined;
  readonly #webhooks: PendingWebhooks;
  readonly #wait = new CallWait();
  readonly #clock: Clock;
  readonly #startedAt: Date;
  #endedAt: Date | undefined;
  #document: DocumentKind = 'answer';
  #hungUp: PlivoCause | undefined;
  /** Document to go on with when the current element is done: set by a transfer. */
  #nextUrl: string | undefined;
  /** Whose side the last conversation of a transfer ended on. */
  #targetHungUp = false;
  #stage: PlivoStage;
  #end: PlivoCause | undefined;

  /** @param dialled absent when it comes in */
  constructor(
    place: PlaceCallOptions,
    account: PlivoAccount,
    conditions: CallbackConditions,
    dialled?: PlivoDial,
  ) {
    super(place);
    this.#place = place;
    this.#account = account;
    this.#webhooks = new PendingWebhooks(conditions);
    this.#clock = conditions.clock;
    this.#startedAt = new Date(this.#clock.now());
    this.dialled = dialled;
    this.#stage = dialled ? 'queued' : 'live';
    void this.#run();
  }

  get stage(): PlivoStage {
    return this.#stage;
  }

  /** Of the call, in the words of the callbacks. */
  get status(): string {
    if (this.#end) return this.#end.status;
    return this.#stage === 'queued' ? 'queued' : this.progress.answered ? 'in-progress' : 'ringing';
  }

  hangUp(): void {
    this.end('caller');
  }

  end(by: 'caller' | 'api'): void {
    const { answered } = this.progress;
    if (by === 'api') this.#endWith(this.dialled && !answered ? CAUSES.withdrawn : CAUSES.api);
    else if (this.dialled) this.#endWith(answered ? CAUSES.callee : RUNG.refused);
    else this.#endWith(answered ? CAUSES.caller : CAUSES.cancelled);
  }

  #endWith(cause: PlivoCause): void {
    this.#hungUp ??= cause;
    this.dialled?.telephone.cancel();
    this.progress.closeLine();
    this.#wait.interrupt();
  }

  /** The new document is fetched when the current element is done: when the stream has ended. */
  transfer(url: string): void {
    this.#nextUrl = url;
  }

  stopStream(): void {
    this.progress.closeLine();
  }

  heardDigits(digits: string): void {
    this.lineEvents.onDigits(digits);
  }

  async #run(): Promise<void> {
    let end: PlivoCause;
    try {
      end = await this.#perform();
    } catch (error) {
      const fault = error instanceof DocumentFault ? error : new DocumentFault(this.#document, error);
      this.progress.problem = fault;
      end = fault.end;
    }
    end = this.#hungUp ?? end;
    this.#end = end;
    this.#stage = 'over';
    this.#endedAt = new Date(this.#clock.now());
    this.dialled?.telephone.cancel();
    this.progress.closeLine();
    await this.#webhooks.settled();
    const { durationSeconds } = this.progress;
    this.#tell(this.#place.statusUrl, {
      ...this.#common(end.status, 'Hangup'),
      HangupCause: end.cause,
      HangupCauseCode: end.code,
      HangupCauseName: end.name,
      HangupSource: end.hangupSource,
      Duration: String(durationSeconds),
      BillDuration: String(Math.ceil(durationSeconds / 60) * 60),
      TotalCost: '0.00000',
      ...this.#times(),
      CarrierFailoverTriggered: 'false',
    });
    await this.#webhooks.finished();
    this.progress.finish({ source: end.source, cause: `${end.code} ${end.name}` });
  }

  /** The record of a call that is over, as the API gives it. */
  record(): object {
    const { StartTime, AnswerTime, EndTime } = this.#times();
    return {
      call_uuid: this.callId,
      from_number: digitsOf(this.from),
      to_number: digitsOf(this.to),
      call_direction: this.dialled ? 'outbound' : 'inbound',
      call_state: this.#end?.status === 'completed' ? 'ANSWER' : (this.#end?.status ?? '').toUpperCase(),
      initiation_time: StartTime,
      answer_time: AnswerTime === '' ? null : AnswerTime,
      end_time: EndTime,
      call_duration: this.progress.durationSeconds,
      hangup_cause_code: Number(this.#end?.code),
      hangup_cause_name: this.#end?.name,
      hangup_source: this.#end?.hangupSource,
      total_amount: '0.00000',
    };
  }

  #times() {
    const { answered, durationSeconds } = this.progress;
    const endedAt = this.#endedAt ?? new Date(this.#clock.now());
    return {
      StartTime: plivoTime(this.#startedAt),
      AnswerTime: answered ? plivoTime(new Date(endedAt.getTime() - durationSeconds * 1000)) : '',
      EndTime: plivoTime(endedAt),
    };
  }

  async #perform(): Promise<PlivoCause> {
    if (this.dialled) {
      const unanswered = await this.#ring(this.dialled);
      if (unanswered) return unanswered;
    }
    const status = this.dialled ? 'in-progress' : 'ringing';
    let document = await this.#fetch('answer', this.#place.voiceUrl, this.#common(status, 'StartApp'));
    for (;;) {
      const step = await this.#performDocument(document);
      if (this.#hungUp) return this.#hungUp;
      if ('end' in step) return step.end;
      document = step.document;
    }
  }

  /** @returns why nobody answered; undefined when somebody did */
  async #ring({ telephone, ringUrl, machineUrl, timeLimitMs }: PlivoDial): Promise<PlivoCause | undefined> {
    if (!(await telephone.dialled())) return CAUSES.withdrawn;
    this.#stage = 'live';
    if (ringUrl !== undefined) this.#tell(ringUrl, this.#common('ringing', 'Ring'));
    const rung = await telephone.rings();
    if (rung === 'cancelled') return CAUSES.withdrawn;
    if (rung !== 'answered') return RUNG[rung];
    this.progress.answer();
    telephone.answered({
      hangUp: () => this.hangUp(),
      limitMs: timeLimitMs,
      onLimit: () => this.#endWith(CAUSES.timeLimit),
      onMachine:
        machineUrl === undefined
          ? undefined
          : (heard) => {
              if (heard !== 'machine') return;
              this.#tell(machineUrl, { ...this.#common('in-progress', 'MachineDetection'), Machine: 'true' });
            },
    });
    return undefined;
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
      case 'Conference':
        this.progress.answer();
        await this.#account.conferences.attend(
          this.callId,
          conferenceOf(element),
          this.#wait,
          this.#place.onConference,
        );
        this.#targetHungUp = !this.#hungUp;
        return undefined;
      case 'Redirect':
        return {
          document: await this.#fetch('redirect', element.text, this.#common('in-progress')),
        };
      case 'Speak':
        this.progress.answer();
        await this.#speak(element);
        return undefined;
      case 'Wait':
        this.progress.answer();
        await this.#wait.forMs(Number(element.attributes['length'] ?? '1') * 1000);
        return undefined;
      case 'Hangup': {
        const { reason } = element.attributes;
        if (reason !== undefined && reason !== 'rejected' && reason !== 'busy')
          throw new AnswerDocumentError(`<Hangup reason="${reason}">`);
        if (isFirst && !this.progress.answered && reason) return { end: CAUSES[reason] };
        return { end: this.#targetHungUp ? CAUSES.target : CAUSES.document };
      }
      default:
        throw new AnswerDocumentError(`<${element.name}> is not supported by this emulator of Plivo`);
    }
  }

  async #speak(element: XmlElement): Promise<void> {
    const { text } = element;
    this.#place.onSpoken?.(text, languageOf(element));
    await this.#wait.forMs(speechMs(text));
  }

  async #stream(element: XmlElement): Promise<undefined> {
    const { attributes } = element;
    const { dialect, keepCallAlive } = streamSettings(element);
    this.progress.answer();
    const streamId = randomUUID();
    const report = (event: string, more: Record<string, string> = {}) => {
      const url = attributes['statusCallbackUrl'];
      if (url === undefined) return;
      const fields = { ...this.#common('in-progress', event), StreamID: streamId, ...more };
      this.#tell(url, { ...fields, Timestamp: new Date().toISOString() });
    };
    let line: CarrierLine;
    try {
      line = await this.#dialStream(element.text, dialect, streamId);
    } catch (error) {
      this.progress.problem = error;
      report('DroppedStream', { StatusReason: 'connection_failed' });
      return;
    }
    this.progress.addLine(line);
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
          events: this.lineEvents,
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
    this.progress.answer();
    const { action, timeout, redirect } = element.attributes;
    const to = `+${digitsOf(numbers[0]!.text)}`;
    const outcome = transferOutcome(this.#place, to);
    const answered = outcome.status === 'answered';
    if (answered) this.progress.transferredTo = to;
    const { sendDigits } = numbers[0]!.attributes;
    if (sendDigits !== undefined && !/^[0-9*#wW]+$/.test(sendDigits))
      throw new AnswerDocumentError(`<Number sendDigits="${sendDigits}">`);
    if (answered && sendDigits !== undefined) this.#place.onTransferDigits?.(sendDigits);
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
    const request = this.dialled?.requestUuid;
    return {
      ...(request === undefined ? {} : { RequestUUID: request, ALegRequestUUID: request }),
      CallUUID: this.callId,
      From: digitsOf(this.from),
      To: digitsOf(this.to),
      Direction: this.dialled ? 'outbound' : 'inbound',
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

  #tell(url: string, fields: Record<string, string>): void {
    this.#webhooks.tell(() => this.#post(url, fields));
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

/** `2026-01-02 03:04:05+00:00` */
function plivoTime(date: Date): string {
  return `${date.toISOString().slice(0, 19).replace('T', ' ')}+00:00`;
}

function elapsed(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
