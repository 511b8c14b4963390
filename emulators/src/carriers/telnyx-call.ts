import { randomBytes, randomUUID, type KeyObject } from 'node:crypto';
import type { Clock } from '@parley/shared/time/clock';
import { mulawToAlaw } from '@parley/shared/audio/g711';
import { CarriedCall } from './carried-call.ts';
import { CallWait } from '../callers/call-wait.ts';
import { dialects, type CarrierDialect } from '../callers/carrier-dialect.ts';
import { CarrierLine } from '../callers/carrier-line.ts';
import type { DialledTelephone, EmulatedMachine } from '../callers/telephone.ts';
import { PendingWebhooks, postWebhook, WebhookError, type CallbackConditions } from './carrier-webhook.ts';
import { speechMs, transferOutcome, type PlaceCallOptions } from '../callers/emulated-call.ts';
import { deaf, unordered, withEncoding, withStart } from '../callers/stream-dialect.ts';
import { CAUSES, DIALLED, LEG_CAUSES, RUNG, type TelnyxCause } from './telnyx-causes.ts';
import { signTelnyxWebhook } from './telnyx-webhook-signature.ts';

/** A call that nobody gives a command to ends after this. */
const FIRST_COMMAND_MS = 30_000;
/** A caller who hears nothing, because the stream failed, hangs up after this. */
const SILENT_CALL_MS = 5000;
/** Characters that the voice takes at once. */
const MAX_SPOKEN = 3000;
const WEBHOOK_TRIES = 3;
const WEBHOOK_RETRY_MS = 200;

/** What may go otherwise than expected on one call, as the vendor documents it or as users have seen it. */
export interface TelnyxPlaceCallOptions extends PlaceCallOptions {
  /** The socket opens while it still rings, this long before the answer: `connected` at once, `start` then. */
  ringMs?: number;
  /** The phone leg is A-law and stays so, whatever `stream_codec` asked for. */
  alaw?: boolean;
  /** Media messages overtake each other. */
  unordered?: boolean;
  /** A stream that was lost is dialled again, at the same address. */
  reconnect?: boolean;
}

/** The vendor refuses a command. */
export class CommandError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** What the API was asked for of a call that it dials. */
export interface TelnyxDial {
  telephone: DialledTelephone;
  /** The whole request: `stream_*`, `client_state` and the like. */
  body: Record<string, unknown>;
  timeLimitMs: number;
}

/** An account: what it signs with, and the application that its calls belong to. */
export interface TelnyxAccount {
  privateKey: KeyObject;
  connectionId: string;
}

/** Where a stream goes, and how. */
interface StreamWish {
  url: string;
  track: string;
  dialect: CarrierDialect;
  authToken: string | undefined;
}

/** One call, as Telnyx handles it: tells of events, and does what it is told. */
export class TelnyxCall extends CarriedCall {
  readonly carrier = 'telnyx';
  readonly callId = `v3:${randomBytes(24).toString('base64url')}`;
  readonly #place: TelnyxPlaceCallOptions;
  readonly #account: TelnyxAccount;
  readonly dialled: TelnyxDial | undefined;
  readonly #webhooks: PendingWebhooks;
  readonly legId = randomUUID();
  readonly #sessionId = randomUUID();
  readonly #userId = randomUUID();
  readonly #clock: Clock;
  readonly #startedAt: string;
  /** What it has told, as the API lists it. */
  readonly events: { name: string; at: string }[] = [];
  readonly #commandIds = new Set<string>();
  readonly #firstCommand: NodeJS.Timeout | undefined;
  readonly #talk = new CallWait();
  /** The other call that it was bridged with: the end of one is that of the other. */
  #bridgedWith: TelnyxCall | undefined;
  /** The leg to whom the caller was transferred, while it lives. */
  #targetLeg: string | undefined;
  #state: 'parked' | 'bridging' | 'answering' | 'answered' | 'hangup' = 'parked';
  #clientState: string | undefined;
  /** Rejects when the call ends before it is answered. */
  readonly #answered = Promise.withResolvers<void>();
  #streaming = false;

  /** @param dialled absent when it comes in */
  constructor(
    place: TelnyxPlaceCallOptions,
    account: TelnyxAccount,
    conditions: CallbackConditions,
    dialled?: TelnyxDial,
  ) {
    super(place);
    this.#place = place;
    this.#account = account;
    this.#webhooks = new PendingWebhooks(conditions);
    this.#clock = conditions.clock;
    this.#startedAt = new Date(this.#clock.now()).toISOString();
    this.dialled = dialled;
    this.#answered.promise.catch(() => {});
    if (dialled) void this.#ring(dialled);
    else {
      this.#firstCommand = setTimeout(() => this.#end(CAUSES.noCommand), FIRST_COMMAND_MS);
      this.#event('call.initiated', {
        direction: 'incoming',
        state: 'parked',
        start_time: this.#startedAt,
        caller_id_name: this.from,
        offered_codecs: this.#place.alaw ? 'PCMA' : 'PCMU,PCMA',
      });
    }
  }

  hangUp(): void {
    const { answered } = this.progress;
    if (this.dialled) this.#end(answered ? DIALLED.callee : RUNG.refused);
    else this.#end(answered ? CAUSES.caller : CAUSES.cancelled);
  }

  get isAlive(): boolean {
    return !this.#over;
  }

  /** As the API gives it. */
  record(): object {
    return {
      record_type: 'call',
      call_control_id: this.callId,
      call_leg_id: this.legId,
      call_session_id: this.#sessionId,
      client_state: this.#clientState ?? null,
      call_duration: this.progress.durationSeconds,
    };
  }

  /** Rings, with the stream open already where the dial asked for one. */
  async #ring({ telephone, body, timeLimitMs }: TelnyxDial): Promise<void> {
    this.#state = 'bridging';
    if (typeof body['client_state'] === 'string') this.#clientState = body['client_state'];
    this.#event('call.initiated', {
      direction: 'outgoing',
      state: 'bridging',
      start_time: this.#startedAt,
    });
    const wish = this.#streamWish(body, 'dial');
    if (wish) this.#webhooks.send(this.#stream(wish));
    const rung = await telephone.rings();
    if (rung === 'cancelled' || this.#over) return;
    if (rung !== 'answered') {
      this.#end(RUNG[rung]);
      return;
    }
    this.#pickUp(wish);
    telephone.answered({
      hangUp: () => this.hangUp(),
      limitMs: timeLimitMs,
      onLimit: () => this.#end(DIALLED.timeLimit),
      onMachine:
        body['answering_machine_detection'] === undefined ? undefined : (heard) => this.#tellMachine(heard),
    });
  }

  /** The standard detection knows people and machines; the beep has an event of its own. */
  #tellMachine(heard: EmulatedMachine['verdict'] | 'beep'): void {
    if (heard === 'beep') this.#event('call.machine.greeting.ended', { result: 'beep_detected' });
    else this.#event('call.machine.detection.ended', { result: heard === 'fax' ? 'not_sure' : heard });
  }

  /** Connects the people of two calls; streams go on. @throws CommandError */
  bridge(other: TelnyxCall): void {
    const both = [this, other] as const;
    if (both.some((call) => call.#state === 'hangup'))
      throw new CommandError('90018', 'Call has already ended');
    if (this === other || both.some((call) => call.#state !== 'answered'))
      throw new CommandError('90034', 'Call has not been answered yet');
    [this.#bridgedWith, other.#bridgedWith] = [other, this];
    for (const call of both) call.#event('call.bridged', {});
  }

  /** Whether this is the leg to whom the caller was transferred. */
  isTargetLeg(callId: string): boolean {
    return this.#targetLeg === callId;
  }

  /** A command for that leg. @throws CommandError */
  commandTarget(action: string, body: Record<string, unknown>): void {
    if (action !== 'send_dtmf')
      throw new CommandError('10015', `${action} of a target's leg is unsupported by the emulator`);
    this.#place.onTransferDigits?.(digitsIn(body));
  }

  /** @throws CommandError */
  command(action: string, body: Record<string, unknown>): void {
    if (this.#state === 'hangup') throw new CommandError('90018', 'Call has already ended');
    const { command_id: commandId, client_state: clientState } = body;
    if (typeof commandId === 'string') {
      if (this.#commandIds.has(commandId)) return;
      this.#commandIds.add(commandId);
    }
    clearTimeout(this.#firstCommand);
    if (typeof clientState === 'string') this.#clientState = clientState;
    if (action === 'answer' || action === 'reject') {
      if (this.#state !== 'parked') throw new CommandError('90015', 'Call has already been answered');
    } else if (action !== 'hangup' && this.#state !== 'answered')
      throw new CommandError('90034', 'Call has not been answered yet');
    switch (action) {
      case 'answer':
        this.#answer(this.#streamWish(body, 'answer'));
        break;
      case 'reject':
        this.#end(body['cause'] === 'USER_BUSY' ? CAUSES.busy : CAUSES.rejected);
        break;
      case 'hangup':
        if (!this.dialled) this.#end(CAUSES.api);
        else this.#end(this.progress.answered ? DIALLED.api : DIALLED.withdrawn);
        break;
      case 'streaming_start': {
        const wish = this.#streamWish(body, 'streaming_start');
        if (!wish) throw new CommandError('10015', 'stream_url is missing');
        if (this.#streaming) throw new CommandError('90046', 'Call is already streaming');
        this.#webhooks.send(this.#stream(wish));
        break;
      }
      case 'streaming_stop':
        if (!this.#streaming) throw new CommandError('90046', 'Call is not streaming');
        this.progress.closeLine();
        break;
      case 'send_dtmf':
        this.lineEvents.onDigits(digitsIn(body));
        break;
      case 'speak': {
        const { payload, voice, language } = body;
        if (typeof payload !== 'string' || payload === '' || payload.length > MAX_SPOKEN)
          throw new CommandError('10015', 'payload is invalid');
        if (typeof voice !== 'string') throw new CommandError('10004', 'voice is missing');
        this.#webhooks.send(this.#speak(payload, String(language ?? 'en-US')));
        break;
      }
      case 'transfer':
        if (typeof body['to'] !== 'string' || !/^\+[1-9]\d{6,14}$/.test(body['to']))
          throw new CommandError('10016', 'Phone number must be in +E.164 format');
        this.#webhooks.send(this.#transfer(body['to'], body));
        break;
      default:
        throw new CommandError('10015', `${action} is unsupported by the emulator`);
    }
  }

  /** @throws CommandError */
  #streamWish(
    body: Record<string, unknown>,
    command: 'dial' | 'answer' | 'streaming_start',
  ): StreamWish | undefined {
    const url = body['stream_url'];
    if (url === undefined) return undefined;
    if (typeof url !== 'string' || !/^wss?:\/\/\S+$/.test(url))
      throw new CommandError('10015', 'stream_url is invalid');
    const codec = body['stream_bidirectional_codec'] ?? 'PCMU';
    // Answer takes no auth token, nor a dial custom parameters; the vendor ignores what it does not know.
    const authToken = command === 'answer' ? undefined : body['stream_auth_token'];
    const custom = command === 'streaming_start' ? body['custom_parameters'] : undefined;
    const pairs = Array.isArray(custom) ? (custom as { name: string; value: string }[]) : [];
    const encoding = this.#place.alaw ? 'PCMA' : body['stream_codec'] === 'PCMA' ? 'PCMA' : 'PCMU';
    let dialect = withStart(dialects.telnyx, (message) => {
      message.start['user_id'] = this.#userId;
      message.start['call_session_id'] = this.#sessionId;
      message.start['client_state'] = this.#clientState ?? '';
      message.start['custom_parameters'] = Object.fromEntries(pairs.map(({ name, value }) => [name, value]));
      message.start['media_format'] = { encoding, sample_rate: 8000, channels: 1 };
    });
    if (encoding === 'PCMA') dialect = withEncoding(dialect, mulawToAlaw);
    if (this.#place.unordered) dialect = unordered(dialect);
    if (body['stream_bidirectional_mode'] !== 'rtp')
      dialect = deaf(dialect, 'raw audio was sent, but the mode is MP3');
    else if (codec !== 'PCMU')
      dialect = deaf(dialect, `raw audio was sent, but the codec is ${String(codec)}`);
    return {
      url,
      track: String(body['stream_track'] ?? 'inbound_track'),
      dialect,
      authToken: typeof authToken === 'string' ? authToken : undefined,
    };
  }

  #answer(wish: StreamWish | undefined): void {
    this.#state = 'answering';
    const answered = () => {
      if (this.#state === 'answering') this.#pickUp(wish);
    };
    if (this.#place.ringMs === undefined) answered();
    else setTimeout(answered, this.#place.ringMs);
    if (wish) this.#webhooks.send(this.#stream(wish));
  }

  #pickUp(wish: StreamWish | undefined): void {
    this.#state = 'answered';
    this.progress.answer();
    this.#answered.resolve();
    this.#event('call.answered', {
      state: 'answered',
      start_time: this.#startedAt,
      ...(wish ? { stream_url: wish.url, stream_track: wish.track } : {}),
    });
  }

  /** Opens the stream and reports what becomes of it. */
  async #stream(wish: StreamWish): Promise<void> {
    const streamId = randomUUID();
    const { url, track } = wish;
    this.#streaming = true;
    let line: CarrierLine;
    try {
      line = await CarrierLine.open({
        url: this.#place.reach?.(url) ?? url,
        carrier: wish.dialect,
        ids: {
          callId: this.callId,
          streamId,
          accountId: this.#userId,
          from: this.from,
          to: this.to,
          sequence: 0,
        },
        headers: wish.authToken === undefined ? {} : { 'x-telnyx-streaming-auth-token': wish.authToken },
        answered: this.#answered.promise,
        events: this.lineEvents,
        keepHeard: this.#place.keepHeard ?? false,
        background: this.#place.background,
      });
    } catch (error) {
      this.#streaming = false;
      // Nobody has answered: the socket just closes.
      if (this.#over) return;
      this.progress.problem = error;
      this.#event('streaming.failed', {
        failure_reason: 'connection_failed',
        stream_id: streamId,
        stream_params: { stream_url: url, track },
        stream_type: 'websocket',
      });
      setTimeout(() => this.#streaming || this.hangUp(), SILENT_CALL_MS).unref();
      return;
    }
    this.progress.addLine(line);
    if (this.#over) line.hangUp();
    this.#event('streaming.started', { stream_url: url });
    this.#webhooks.send(
      line.closed.then(({ code }) => {
        this.#streaming = false;
        this.#event('streaming.stopped', { stream_url: url });
        if (code === 1006 && this.#place.reconnect && !this.#over) this.#webhooks.send(this.#stream(wish));
      }),
    );
  }

  get #over(): boolean {
    return this.#state === 'hangup';
  }

  async #speak(text: string, language: string): Promise<void> {
    this.#event('call.speak.started', {});
    this.#place.onSpoken?.(text, language);
    await this.#talk.forMs(speechMs(text));
    this.#event('call.speak.ended', { status: this.#over ? 'call_hangup' : 'completed' });
  }

  /** A leg of its own rings; bridged, the two talk until one hangs up. Our stream goes on, if nobody stopped it. */
  async #transfer(to: string, body: Record<string, unknown>): Promise<void> {
    const timeoutSeconds = Number(body['timeout_secs'] ?? 30);
    const leg = {
      client_state: body['target_leg_client_state'] ?? null,
      call_control_id: `v3:${randomBytes(24).toString('base64url')}`,
      call_leg_id: randomUUID(),
      from: this.from,
      to,
      direction: 'outgoing',
    };
    this.#event('call.initiated', { ...leg, state: 'bridging' });
    const outcome = transferOutcome(this.#place, to);
    if (outcome.status !== 'answered') {
      await this.#talk.forMs(Math.min(outcome.afterMs, timeoutSeconds * 1000));
      this.#event('call.hangup', {
        ...leg,
        state: 'hangup',
        hangup_cause: LEG_CAUSES[outcome.status],
        hangup_source: 'callee',
      });
      return;
    }
    this.progress.transferredTo = to;
    this.#targetLeg = leg.call_control_id;
    this.#event('call.answered', { ...leg, state: 'answered' });
    this.#event('call.bridged', {});
    this.#event('call.bridged', leg);
    await this.#talk.forMs(outcome.afterMs);
    this.#event('call.hangup', {
      ...leg,
      state: 'hangup',
      hangup_cause: 'normal_clearing',
      hangup_source: this.#over ? 'caller' : 'callee',
    });
    this.#end(CAUSES.target);
  }

  #end(cause: TelnyxCause): void {
    if (this.#over) return;
    this.#state = 'hangup';
    const other = this.#bridgedWith;
    this.#bridgedWith = undefined;
    if (other) other.#end(CAUSES.target);
    clearTimeout(this.#firstCommand);
    this.dialled?.telephone.cancel();
    this.#answered.reject(new Error('The call has ended.'));
    this.progress.closeLine();
    this.#talk.interrupt();
    this.#event('call.hangup', {
      state: 'hangup',
      start_time: this.#startedAt,
      hangup_cause: cause.cause,
      hangup_source: cause.by,
      sip_hangup_cause: cause.sip,
    });
    void this.#webhooks
      .finished()
      .then(() => this.progress.finish({ source: cause.source, cause: `${cause.cause} ${cause.sip}` }));
  }

  /** Events are posted side by side and may overtake each other, as the vendor's do. */
  #event(type: string, payload: object): void {
    const occurredAt = new Date(this.#clock.now()).toISOString().replace('Z', '000Z');
    this.events.push({ name: type, at: occurredAt });
    const event = {
      record_type: 'event',
      event_type: type,
      id: randomUUID(),
      occurred_at: occurredAt,
      payload: {
        call_control_id: this.callId,
        call_leg_id: this.legId,
        call_session_id: this.#sessionId,
        connection_id: this.#account.connectionId,
        client_state: this.#clientState ?? null,
        from: this.from,
        to: this.to,
        ...payload,
      },
    };
    this.#webhooks.tell(() => this.#deliver(event));
  }

  async #deliver(data: object): Promise<void> {
    const url = this.#place.voiceUrl;
    const send = (attempt: number) => {
      const body = JSON.stringify({ data, meta: { attempt, delivered_to: url } });
      const timestamp = String(Math.floor(this.#clock.now() / 1000));
      return postWebhook({
        url,
        reach: this.#place.reach,
        headers: {
          'content-type': 'application/json',
          'user-agent': 'parley-emulated-telnyx',
          ...signTelnyxWebhook(this.#account.privateKey, timestamp, body),
        },
        body,
      });
    };
    if (this.#place.repeatWebhooks) this.#webhooks.send(send(1));
    for (let attempt = 1; attempt <= WEBHOOK_TRIES; attempt++) {
      try {
        const { status } = await send(attempt);
        if (status < 300 || (status !== 408 && status !== 429 && status < 500)) return;
      } catch (error) {
        if (!(error instanceof WebhookError)) throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, WEBHOOK_RETRY_MS));
    }
  }
}

/** @throws CommandError */
function digitsIn({ digits }: Record<string, unknown>): string {
  if (typeof digits !== 'string' || !/^[0-9A-D*#wW]+$/.test(digits))
    throw new CommandError('10015', 'digits are invalid');
  return digits;
}
