import { randomBytes, randomUUID } from 'node:crypto';
import type { Clock } from '@parley/shared/time/clock';
import { AnswerDocumentError, parseAnswerDocument, type XmlElement } from './answer-document.ts';
import { CarriedCall } from './carried-call.ts';
import { CallWait } from '../callers/call-wait.ts';
import type { Conferences, ConferenceWish } from './conferences.ts';
import { dialects, type CarrierDialect } from '../callers/carrier-dialect.ts';
import { CarrierLine } from '../callers/carrier-line.ts';
import type { DialledTelephone, EmulatedMachine, Rung } from '../callers/telephone.ts';
import { PendingWebhooks, postForm, type CallbackConditions } from './carrier-webhook.ts';
import {
  speechMs,
  transferOutcome,
  type EmulatedCallEnd,
  type PlaceCallOptions,
} from '../callers/emulated-call.ts';
import { deaf, withStart } from '../callers/stream-dialect.ts';
import { signTwilioRequest } from './twilio-webhook-signature.ts';

const MAX_PARAMETER = 500;

/** How a call ended. Twilio has no causes: the final status and a SIP code, sometimes. */
interface TwilioCause {
  source: EmulatedCallEnd['source'];
  status: string;
  sip?: string;
}

const CAUSES = {
  caller: { source: 'caller', status: 'completed' },
  cancelled: { source: 'caller', status: 'canceled', sip: '487' },
  api: { source: 'api', status: 'completed' },
  document: { source: 'document', status: 'completed' },
  busy: { source: 'document', status: 'busy', sip: '486' },
  rejected: { source: 'document', status: 'failed', sip: '603' },
  target: { source: 'target', status: 'completed' },
  withdrawn: { source: 'api', status: 'canceled', sip: '487' },
  timeLimit: { source: 'network', status: 'completed' },
  /** "An application error has occurred", spoken by the carrier. */
  error: { source: 'network', status: 'failed' },
} as const satisfies Record<string, TwilioCause>;

/** What becomes of a telephone that does not answer. A refusal is reported as busy, and the SIP code tells them apart. */
const RUNG: Readonly<Record<Exclude<Rung, 'answered' | 'cancelled'>, TwilioCause>> = {
  busy: { source: 'caller', status: 'busy', sip: '486' },
  refused: { source: 'caller', status: 'busy', sip: '603' },
  not_in_service: { source: 'network', status: 'failed', sip: '404' },
  rung_out: { source: 'network', status: 'no-answer', sip: '487' },
};

/** What status callbacks can be asked for. */
export const STATUS_EVENTS = ['initiated', 'ringing', 'answered', 'completed'] as const;
export type StatusEvent = (typeof STATUS_EVENTS)[number];

/** What the API was asked for of a call that it dials. */
export interface TwilioDial {
  telephone: DialledTelephone;
  /** Instead of the answer of `voiceUrl`. */
  twiml: string | undefined;
  /** None where nobody is to be told. */
  statusEvents: ReadonlySet<StatusEvent>;
  timeLimitMs: number;
  /** Told what machine detection hears. */
  machineUrl: string | undefined;
}

type Document = readonly XmlElement[];
/** What a document or an element leads to. */
type Step = { document: Document } | { end: TwilioCause };
type Instructions = { twiml: string } | { url: string };

/** An account: what it signs with, and its conferences. */
export interface TwilioAccount {
  accountSid: string;
  authToken: string;
  conferences: Conferences;
}

/** One call, as Twilio handles it: asks for TwiML and obeys it. */
export class TwilioCall extends CarriedCall {
  readonly carrier = 'twilio';
  readonly callId = sid('CA');
  readonly #place: PlaceCallOptions;
  readonly #account: TwilioAccount;
  readonly #dialled: TwilioDial | undefined;
  readonly #webhooks: PendingWebhooks;
  readonly #wait = new CallWait();
  readonly #clock: Clock;
  readonly #createdAt: Date;
  #startedAt: Date | undefined;
  #endedAt: Date | undefined;
  #status: string;
  #sequence = 0;
  #hungUp: TwilioCause | undefined;
  /** What a REST request wants done instead of the document. */
  #redirected: Instructions | undefined;
  #targetHungUp = false;

  /** @param dialled absent when it comes in */
  constructor(
    place: PlaceCallOptions,
    account: TwilioAccount,
    conditions: CallbackConditions,
    dialled?: TwilioDial,
  ) {
    super(place);
    this.#place = place;
    this.#account = account;
    this.#webhooks = new PendingWebhooks(conditions);
    this.#clock = conditions.clock;
    this.#createdAt = new Date(this.#clock.now());
    this.#dialled = dialled;
    this.#status = dialled ? 'queued' : 'ringing';
    void this.#run();
  }

  hangUp(): void {
    this.end('caller');
  }

  get status(): string {
    return this.#hungUp?.status ?? this.#status;
  }

  end(by: 'caller' | 'api'): void {
    const { answered } = this.progress;
    if (by === 'api') this.#endWith(this.#dialled && !answered ? CAUSES.withdrawn : CAUSES.api);
    else if (answered) this.#endWith(CAUSES.caller);
    else this.#endWith(this.#dialled ? RUNG.refused : CAUSES.cancelled);
  }

  #endWith(cause: TwilioCause): void {
    this.#hungUp ??= cause;
    this.#dialled?.telephone.cancel();
    this.progress.closeLine();
    this.#wait.interrupt();
  }

  /** New instructions take the call at once: its stream ends. */
  redirect(instructions: Instructions): void {
    this.#redirected = instructions;
    this.progress.closeLine();
    this.#wait.interrupt();
  }

  record(): object {
    return {
      sid: this.callId,
      account_sid: this.#account.accountSid,
      api_version: '2010-04-01',
      status: this.status,
      from: this.from,
      to: this.to,
      direction: this.#direction,
      duration: this.#endedAt ? String(this.progress.durationSeconds) : null,
      date_created: this.#createdAt.toUTCString(),
      start_time: this.#startedAt?.toUTCString() ?? null,
      end_time: this.#endedAt?.toUTCString() ?? null,
      answered_by: null,
      parent_call_sid: null,
      queue_time: String((this.#startedAt ?? this.#createdAt).getTime() - this.#createdAt.getTime()),
      price: null,
      price_unit: 'USD',
    };
  }

  get #direction(): string {
    return this.#dialled ? 'outbound-api' : 'inbound';
  }

  async #run(): Promise<void> {
    let end: TwilioCause;
    try {
      end = await this.#perform();
    } catch (error) {
      this.progress.problem = error;
      end = CAUSES.error;
    }
    end = this.#hungUp ?? end;
    this.#status = end.status;
    this.#endedAt = new Date(this.#clock.now());
    this.#dialled?.telephone.cancel();
    this.progress.closeLine();
    await this.#webhooks.settled();
    const seconds = String(this.progress.durationSeconds);
    this.#report('completed', end.status, {
      CallDuration: seconds,
      Duration: String(Math.ceil(Number(seconds) / 60)),
      ...(end.sip === undefined ? {} : { SipResponseCode: end.sip }),
    });
    await this.#webhooks.finished();
    this.progress.finish({
      source: end.source,
      cause: end.sip === undefined ? end.status : `${end.status} ${end.sip}`,
    });
  }

  async #perform(): Promise<TwilioCause> {
    const unanswered = this.#dialled ? await this.#ring(this.#dialled) : this.#comesIn();
    if (unanswered) return unanswered;
    const twiml = this.#dialled?.twiml;
    let document = twiml === undefined ? await this.#fetch(this.#place.voiceUrl) : parseAnswerDocument(twiml);
    for (;;) {
      const step = await this.#performDocument(document);
      if (this.#hungUp) return this.#hungUp;
      if ('end' in step) return step.end;
      document = step.document;
    }
  }

  #comesIn(): undefined {
    this.#startedAt = this.#createdAt;
    this.#report('initiated', 'initiated');
    this.#report('ringing', 'ringing');
  }

  /** @returns why nobody answered; undefined when somebody did */
  async #ring({ telephone, timeLimitMs, machineUrl }: TwilioDial): Promise<TwilioCause | undefined> {
    if (!(await telephone.dialled())) return CAUSES.withdrawn;
    this.#startedAt = new Date(this.#clock.now());
    this.#report('initiated', 'initiated');
    this.#status = 'ringing';
    this.#report('ringing', 'ringing');
    const rung = await telephone.rings();
    if (rung === 'cancelled') return CAUSES.withdrawn;
    if (rung !== 'answered') return RUNG[rung];
    this.#answer();
    telephone.answered({
      hangUp: () => this.hangUp(),
      limitMs: timeLimitMs,
      onLimit: () => this.#endWith(CAUSES.timeLimit),
      onMachine: machineUrl === undefined ? undefined : (heard) => this.#reportMachine(machineUrl, heard),
    });
    return undefined;
  }

  /** Asked for the begin of a machine's greeting, the vendor tells nothing of its end. */
  #reportMachine(url: string, heard: EmulatedMachine['verdict'] | 'beep'): void {
    if (heard === 'beep') return;
    this.#webhooks.tell(() =>
      this.#post(url, {
        AccountSid: this.#account.accountSid,
        CallSid: this.callId,
        AnsweredBy: heard === 'machine' ? 'machine_start' : heard,
        MachineDetectionDuration: String(this.#clock.now() - this.#startedAt!.getTime()),
      }),
    );
  }

  async #performDocument(document: Document): Promise<Step> {
    for (const [index, element] of document.entries()) {
      const step = await this.#performElement(element, index === 0);
      if (this.#hungUp) return { end: this.#hungUp };
      const wanted = this.#redirected;
      this.#redirected = undefined;
      if (wanted)
        return {
          document: 'url' in wanted ? await this.#fetch(wanted.url) : parseAnswerDocument(wanted.twiml),
        };
      if (step) return step;
    }
    return { end: this.#targetHungUp ? CAUSES.target : CAUSES.document };
  }

  /** @returns where to go on; undefined for the next element */
  async #performElement(element: XmlElement, isFirst: boolean): Promise<Step | undefined> {
    const { attributes } = element;
    if (element.name === 'Reject') {
      if (!isFirst || this.progress.answered) throw new AnswerDocumentError('<Reject> is not the first verb');
      return { end: attributes['reason'] === 'busy' ? CAUSES.busy : CAUSES.rejected };
    }
    if (element.name === 'Hangup') return { end: this.#targetHungUp ? CAUSES.target : CAUSES.document };
    this.#answer();
    switch (element.name) {
      case 'Connect': {
        const line = await this.#stream(element, true);
        if (line) await line.closed;
        return undefined;
      }
      case 'Start':
        await this.#stream(element, false);
        return undefined;
      case 'Dial':
        return this.#dial(element);
      case 'Redirect':
        return { document: await this.#fetch(element.text) };
      case 'Say': {
        const { language = 'en-US' } = attributes;
        if (!/^[a-z]{2,3}(-[A-Z]{2}(-[A-Z]{3})?)?$/.test(language) || element.text === '')
          throw new AnswerDocumentError(`<Say language="${language}">`);
        this.#place.onSpoken?.(element.text, language);
        await this.#wait.forMs(speechMs(element.text));
        return undefined;
      }
      case 'Pause':
        await this.#wait.forMs(Number(attributes['length'] ?? '1') * 1000);
        return undefined;
      case 'Play':
        if (attributes['digits'] === undefined)
          throw new AnswerDocumentError('<Play> of a recording is not supported by this emulator of Twilio');
        this.lineEvents.onDigits(attributes['digits']);
        return undefined;
      default:
        throw new AnswerDocumentError(`<${element.name}> is not supported by this emulator of Twilio`);
    }
  }

  #answer(): void {
    if (this.progress.answered) return;
    this.progress.answer();
    this.#status = 'in-progress';
    this.#report('answered', 'in-progress');
  }

  /** @returns undefined when the stream could not be opened: the document goes on */
  async #stream(parent: XmlElement, bothWays: boolean): Promise<CarrierLine | undefined> {
    const element = parent.children.find((child) => child.name === 'Stream');
    if (!element || parent.children.length > 1)
      throw new AnswerDocumentError(`<${parent.name}> without exactly one <Stream>`);
    const { attributes } = element;
    const { url, dialect } = streamSettings(element, bothWays);
    const streamSid = sid('MZ');
    const report = (event: string, more: Record<string, string> = {}) => {
      const callback = attributes['statusCallback'];
      if (callback === undefined) return;
      this.#webhooks.tell(() =>
        this.#post(callback, {
          AccountSid: this.#account.accountSid,
          CallSid: this.callId,
          StreamSid: streamSid,
          StreamName: attributes['name'] ?? streamSid,
          StreamEvent: event,
          Timestamp: new Date().toISOString(),
          ...more,
        }),
      );
    };
    let line: CarrierLine;
    try {
      line = await CarrierLine.open({
        url: this.#place.reach?.(url) ?? url,
        carrier: dialect,
        ids: {
          callId: this.callId,
          streamId: streamSid,
          accountId: this.#account.accountSid,
          from: this.from,
          to: this.to,
          sequence: 0,
        },
        headers: { 'X-Twilio-Signature': signTwilioRequest(this.#account.authToken, url) },
        events: this.lineEvents,
        keepHeard: this.#place.keepHeard ?? false,
        background: this.#place.background,
      });
    } catch (error) {
      this.progress.problem = error;
      report('stream-error', { StreamError: '31920 Stream - WebSocket - Handshake Error' });
      return undefined;
    }
    this.progress.addLine(line);
    if (this.#hungUp || this.#redirected) line.hangUp();
    report('stream-started');
    void line.closed.then(() => report('stream-stopped'));
    return line;
  }

  async #dial(element: XmlElement): Promise<Step | undefined> {
    const conference = element.children.find((child) => child.name === 'Conference');
    if (conference) {
      this.#answer();
      const { conferences } = this.#account;
      const { onConference } = this.#place;
      await conferences.attend(this.callId, conferenceOf(element, conference), this.#wait, onConference);
      this.#targetHungUp = !this.#hungUp;
      return undefined;
    }
    const number = element.children.find((child) => child.name === 'Number');
    const to = number?.text ?? element.text;
    if (!/^\+[1-9]\d{6,14}$/.test(to)) throw new AnswerDocumentError('<Dial> without a number');
    const { action, timeout } = element.attributes;
    const outcome = transferOutcome(this.#place, to);
    const answered = outcome.status === 'answered';
    if (answered) this.progress.transferredTo = to;
    const sendDigits = number?.attributes['sendDigits'];
    if (sendDigits !== undefined && !/^[0-9*#w]+$/.test(sendDigits))
      throw new AnswerDocumentError(`<Number sendDigits="${sendDigits}">`);
    if (answered && sendDigits !== undefined) this.#place.onTransferDigits?.(sendDigits);
    await this.#wait.forMs(
      answered ? outcome.afterMs : Math.min(outcome.afterMs, Number(timeout ?? '30') * 1000),
    );
    this.#targetHungUp = answered && !this.#hungUp;
    if (action === undefined || this.#hungUp || this.#redirected) return undefined;
    return {
      document: await this.#fetch(action, {
        DialCallStatus: answered ? 'completed' : outcome.status,
        DialCallSid: sid('CA'),
        ...(answered ? { DialCallDuration: String(Math.round(outcome.afterMs / 1000)) } : {}),
      }),
    };
  }

  /** A status callback; they are numbered, and may arrive in any order. */
  #report(event: StatusEvent, status: string, more: Record<string, string> = {}): void {
    if (this.#dialled && !this.#dialled.statusEvents.has(event)) return;
    const fields = {
      ...this.#common(status),
      CallbackSource: 'call-progress-events',
      SequenceNumber: String(this.#sequence++),
      Timestamp: new Date().toUTCString(),
      ...more,
    };
    this.#webhooks.tell(() => this.#post(this.#place.statusUrl, fields));
  }

  #common(status: string): Record<string, string> {
    return {
      AccountSid: this.#account.accountSid,
      ApiVersion: '2010-04-01',
      CallSid: this.callId,
      CallStatus: status,
      Direction: this.#direction,
      From: this.from,
      To: this.to,
      Caller: this.from,
      Called: this.to,
    };
  }

  async #fetch(url: string, more: Record<string, string> = {}): Promise<Document> {
    return parseAnswerDocument(await this.#post(url, { ...this.#common(this.#status), ...more }));
  }

  #post(url: string, fields: Record<string, string>): Promise<string> {
    const idempotencyToken = randomUUID();
    return postForm(url, fields, {
      twice: this.#place.repeatWebhooks ?? false,
      reach: this.#place.reach,
      headers: () => ({
        'content-type': 'application/x-www-form-urlencoded; charset=UTF-8',
        'user-agent': 'parley-emulated-twilio',
        'i-twilio-idempotency-token': idempotencyToken,
        'x-twilio-signature': signTwilioRequest(this.#account.authToken, url, fields),
      }),
    });
  }
}

/** What `<Stream>` asks for; carriers 2.2. @throws AnswerDocumentError */
function streamSettings(element: XmlElement, bothWays: boolean): { url: string; dialect: CarrierDialect } {
  const { attributes, children } = element;
  // The vendor takes `wss` alone; on loopback there is no TLS.
  const url = /^(wss:\/\/[^\s?#]+|ws:\/\/(?:127\.0\.0\.1|localhost)[^\s?#]*)/.exec(
    attributes['url'] ?? '',
  )?.[1];
  if (url === undefined) throw new AnswerDocumentError('<Stream> has no wss:// url');
  const track = attributes['track'] ?? 'inbound_track';
  if (track !== 'inbound_track' && (bothWays || !['outbound_track', 'both_tracks'].includes(track)))
    throw new AnswerDocumentError(`<Stream track="${track}">`);
  const parameters: Record<string, string> = {};
  for (const { name, attributes: pair } of children) {
    if (name !== 'Parameter' || pair['name'] === undefined || pair['value'] === undefined)
      throw new AnswerDocumentError(`<${name}> in <Stream>`);
    if (pair['name'].length + pair['value'].length >= MAX_PARAMETER)
      throw new AnswerDocumentError('a <Parameter> is too long');
    parameters[pair['name']] = pair['value'];
  }
  let dialect: CarrierDialect = withStart(dialects.twilio, (message) => {
    message.start['customParameters'] = parameters;
  });
  if (!bothWays) dialect = deaf(dialect, 'audio on a one-way stream');
  return { url, dialect };
}

export function sid(kind: 'AC' | 'CA' | 'MZ' | 'PN'): string {
  return kind + randomBytes(16).toString('hex');
}

/** https://www.twilio.com/docs/voice/twiml/conference @throws AnswerDocumentError */
function conferenceOf(dial: XmlElement, { attributes, text }: XmlElement): ConferenceWish {
  if (text === '' || /[/&?#]/.test(text)) throw new AnswerDocumentError(`<Conference>${text}`);
  const { endConferenceOnExit = 'false', ...others } = attributes;
  const [unknown] = [...Object.keys(others), ...Object.keys(dial.attributes)];
  if (unknown !== undefined)
    throw new AnswerDocumentError(`${unknown} of a conference is not supported by this emulator of Twilio`);
  return { name: text, endsOnExit: endConferenceOnExit === 'true' };
}
