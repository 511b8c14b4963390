import type { CarrierName } from '@parley/shared/contracts/session-values';
import type { CarrierFault } from '../carriers/carrier-webhook.ts';
import type { EmulatedNumbers } from '../carriers/number-stock.ts';
import type { Fault } from '../server/faults.ts';
import type { Background, CarrierLine, LineEvents } from './carrier-line.ts';
import type { Telephones } from './telephone.ts';

/** One call at an emulated carrier, placed by it or dialled through its API, from its first webhook to its last. */
export interface EmulatedCall {
  readonly carrier: CarrierName;
  readonly callId: string;
  readonly from: string;
  readonly to: string;
  /** The media stream that was asked for; the newest, when there were several. */
  readonly line: CarrierLine;
  /**
   * Waits for a stream that follows `line`: the call came back to the agent, or a lost stream was dialled again.
   * @returns undefined when the call ended without
   */
  lineAfter(line: CarrierLine): Promise<CarrierLine | undefined>;
  /** Resolves when the call is over and the carrier's callbacks were taken in. */
  readonly ended: Promise<EmulatedCallEnd>;
  /** The person at the telephone hangs up: the caller, or whoever was dialled. */
  hangUp(): void;
}

/** A call whose media stream may not stand yet. */
export interface ConnectingCall extends EmulatedCall {
  /** Resolves when its media stream stands. @throws CallNotConnectedError */
  connected(): Promise<void>;
  /** Tells of the keys that the agent presses from now on, as signals and as tones. */
  hearKeys(onKeys: (digits: string) => void): void;
}

export interface EmulatedCallEnd {
  /**
   * Who ended it, as the carrier sees it. `caller`: the person at the telephone, also of a call that was dialled; `document`: the answer document said so, or ran out; `target`: the person a
   * transfer went to; `network`: nobody answered, or the carrier could not go on.
   */
  source: 'caller' | 'api' | 'document' | 'target' | 'network';
  /** The carrier's own word for why. */
  cause: string;
  /** Whether it was answered at all. */
  answered: boolean;
  /** Where a transfer sent the caller, if one did. E.164. */
  transferredTo: string | undefined;
  durationSeconds: number;
}

/**
 * Where a connection for this address goes, when that is elsewhere: signatures and bodies name the address itself.
 * For a public name that does not lead back to the machine it stands for.
 */
export type Reach = (url: string) => string;

/** What the emulated telephone network makes of a number that a transfer goes to. */
export interface TransferOutcome {
  status: 'answered' | 'busy' | 'no-answer' | 'failed';
  /** How long it rings, or how long the two talk before the other person hangs up, ms. */
  afterMs: number;
}

export interface PlaceCallOptions {
  /** Told of the call, and asked what to do with it. */
  voiceUrl: string;
  /** Told of the end. */
  statusUrl: string;
  from: string;
  to: string;
  events?: LineEvents;
  keepHeard?: boolean;
  /** What is heard around the caller; nothing unless given. */
  background?: Background | undefined;
  /** By default somebody answers, and hangs up soon. @param to E.164 */
  onTransfer?: (to: string) => TransferOutcome;
  /** The call takes part in a conference. */
  onConference?: (name: string) => void;
  /** Keys that are pressed for the person whom a transfer went to. */
  onTransferDigits?: (digits: string) => void;
  /** Told of what the carrier's own voice says to the caller. */
  onSpoken?: (text: string, language: string) => void;
  /** Every webhook comes twice, as it does when an answer is lost on the way. */
  repeatWebhooks?: boolean;
  reach?: Reach | undefined;
}

/** Emulates one carrier's signalling: places calls, signs its webhooks, serves its REST API for calls. */
export interface CarrierEmulator {
  /** Base of the REST API that a control plane is pointed at. */
  readonly apiUrl: string;
  /** Credentials of the account that this carrier knows, by the names the carrier gives them. */
  readonly credentials: Record<string, string>;
  /**
   * Places a call to a number of the account.
   * @returns the call, once its media stream stands
   * @throws CallNotConnectedError when it ended before; the callbacks of the end were taken in
   */
  placeCall(options: PlaceCallOptions): Promise<EmulatedCall>;
  /**
   * Waits for the next call that was dialled through the REST API and that nobody has been given yet.
   * @throws when the emulator closes first
   */
  dialledCall(): Promise<ConnectingCall>;
  /** What telephones do that are dialled from now on; `telephoneByNumber` unless set. */
  setTelephones(telephones: Telephones): void;
  /** Numbers of the account. */
  readonly numbers: EmulatedNumbers;
  /** Makes the REST API and the callbacks go wrong from now on; replaces what was set before. */
  setFaults(faults: readonly Fault<CarrierFault>[]): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** An emulated carrier that can be opened with an account at it. */
export interface CarrierEmulatorDescriptor {
  /** The secrets of an account, as they are kept for the next start. */
  newAccount(): Record<string, string>;
  open(account: Readonly<Record<string, string>>, reach?: Reach): Promise<CarrierEmulator>;
}

/** The call ended before any media flowed. */
export class CallNotConnectedError extends Error {
  readonly end: EmulatedCallEnd;

  constructor(end: EmulatedCallEnd, options?: { cause?: unknown }) {
    const because = options?.cause instanceof Error ? ` ${options.cause.message}` : '';
    super(`The call was not connected: ${end.cause}.${because}`, options);
    this.name = 'CallNotConnectedError';
    this.end = end;
  }
}

const PATIENCE: TransferOutcome = { status: 'answered', afterMs: 1500 };

export function transferOutcome(place: PlaceCallOptions, to: string): TransferOutcome {
  return place.onTransfer?.(to) ?? PATIENCE;
}

/** How long a carrier's own voice takes here; a person's would be twenty times slower. */
export function speechMs(text: string): number {
  return text.length * 3;
}

/** How far a call has come: its streams, one after the other, and its end. */
export class CallProgress {
  readonly #lines: CarrierLine[] = [];
  readonly #waiting: ((line: CarrierLine | undefined) => void)[] = [];
  readonly ended: Promise<EmulatedCallEnd>;
  #resolveEnded!: (end: EmulatedCallEnd) => void;
  #over = false;
  #answeredAt: number | undefined;
  transferredTo: string | undefined;
  /** Why there is no stream, when there is none. */
  problem: unknown;

  constructor() {
    this.ended = new Promise((resolve) => (this.#resolveEnded = resolve));
  }

  get line(): CarrierLine {
    const line = this.#lines.at(-1);
    if (!line) throw new Error('The call has no media stream.');
    return line;
  }

  get answered(): boolean {
    return this.#answeredAt !== undefined;
  }

  get durationSeconds(): number {
    return this.#answeredAt === undefined ? 0 : Math.round((Date.now() - this.#answeredAt) / 1000);
  }

  answer(): void {
    this.#answeredAt ??= Date.now();
  }

  addLine(line: CarrierLine): void {
    this.#lines.push(line);
    for (const resolve of this.#waiting.splice(0)) resolve(line);
  }

  /** Closes the stream that stands, as a carrier does when the call is over. */
  closeLine(): void {
    if (this.#lines.at(-1)?.isOpen) this.line.hangUp();
  }

  async lineAfter(line: CarrierLine | undefined): Promise<CarrierLine | undefined> {
    const next = this.#lines[line ? this.#lines.indexOf(line) + 1 : 0];
    if (next || this.#over) return next;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  finish(how: Pick<EmulatedCallEnd, 'source' | 'cause'>): void {
    this.#over = true;
    this.#resolveEnded({
      ...how,
      answered: this.answered,
      transferredTo: this.transferredTo,
      durationSeconds: this.durationSeconds,
    });
    for (const resolve of this.#waiting.splice(0)) resolve(undefined);
  }

  /** Resolves when the first stream stands. @throws CallNotConnectedError */
  async connected(): Promise<void> {
    if (await this.lineAfter(undefined)) return;
    throw new CallNotConnectedError(await this.ended, { cause: this.problem });
  }
}
