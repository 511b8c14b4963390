import type { z } from 'zod';
import { CARRIER_VERDICTS, type CarrierVerdict } from '@parley/shared/contracts/answer-detection';
import type { CarrierName, FailureReason } from '@parley/shared/contracts/session-values';
import type { Clock } from '@parley/shared/time/clock';
import type { AccountProblem, ExpectedAccount } from './account-problem.ts';
import type { ComplaintCapability, ComplaintDefinition } from './carrier-complaints.ts';
import type { CarrierDialling } from './carrier-dialling.ts';
import type { CarrierNumbers } from './carrier-numbers.ts';

/** A callback as it arrived. */
export interface CarrierRequest {
  method: 'GET' | 'POST';
  /** `PUBLIC_URL` + path and query as received: what the carrier signed, whatever a proxy made of it. */
  url: string;
  /** Lower-case names. */
  headers: Readonly<Record<string, string | undefined>>;
  /** The exact bytes. */
  body: Buffer;
}

/** What a carrier tells of a call, in our terms. Numbers are E.164 with `+`. */
export type CarrierCallback =
  | {
      type: 'incoming';
      carrierCallId: string;
      from: string | null;
      to: string | null;
      /** `outbound`: the answer of a call that was dialled. */
      direction: 'inbound' | 'outbound';
    }
  /** The carrier has begun a call that was dialled. */
  | { type: 'dialled'; carrierCallId: string }
  | { type: 'ringing'; carrierCallId: string }
  | { type: 'answered'; carrierCallId: string }
  | ({ type: 'ended'; carrierCallId: string } & CarrierEnd)
  /** The carrier's machine detection. `beep`: the tone of a recorder was heard. */
  | { type: 'machine'; carrierCallId: string; verdict: CarrierVerdict; beep: boolean }
  /** Whom a caller is transferred to has answered; only carriers that take commands say so. */
  | { type: 'transfer_answered'; carrierCallId: string; transferId: string; targetCallId: string }
  /** A transfer's dial is over. `transferId`: where the callback's address does not say it. */
  | {
      type: 'transfer_ended';
      carrierCallId: string;
      transferId?: string;
      bridged: boolean;
      cause: string | null;
    }
  /** A step of a treatment is done; only carriers that are told the next one by a command say so. */
  | { type: 'treated'; carrierCallId: string; step: TreatmentStep; cause: string | null }
  /** The carrier has recorded the call by itself: nobody here asks for it. */
  | { type: 'recording'; carrierCallId: string; recordingId: string | null; failure: string | null }
  | {
      type: 'stream';
      carrierCallId: string;
      phase: 'started' | 'stopped' | 'failed' | 'degraded';
      reason: string | null;
    };

export interface CarrierEnd {
  /** How a call that nobody took went; null when it was answered, or when only `CarrierDialling.wasAnswered` says whether it was. */
  failure: FailureReason | null;
  /** The carrier's own words, for the record. */
  cause: string | null;
  /** Decimal amount in the carrier's currency. */
  cost: string | null;
}

/** A verdict in the carrier's word, where it is ours too. */
export function toCarrierVerdict(word: string): CarrierVerdict {
  return CARRIER_VERDICTS.find((verdict) => verdict === word) ?? 'unknown';
}

/** What is answered to a callback. */
export interface CarrierDocument {
  contentType: string;
  body: string;
}

/** Where the call's audio goes. */
export interface StreamTarget {
  /** With the ticket: never logged. */
  streamUrl: string;
  statusUrl: string;
  /** The call is answered already, and its stream begins anew. */
  again?: boolean;
}

export interface TransferTarget {
  transferId: string;
  /** E.164. */
  to: string;
  /** Keys that are pressed when it has answered: 0-9, * and #; `w` waits half a second, `W` a whole one. */
  extension: string | null;
  /** E.164, or null for the caller id that the carrier takes by itself. */
  callerId: string | null;
  ringTimeoutSeconds: number;
  /** Asked for the document that dials `to`, by carriers that fetch it. */
  documentUrl: string;
  /** Told how the dial went, and asked what is next. */
  resultUrl: string;
}

/** Two calls that are answered and are to become one conversation. */
export interface ConnectedCalls {
  callerCallId: string;
  targetCallId: string;
  /** Asked for the document that brings a call together with the other one, by carriers that fetch it. */
  documentUrl: string;
}

/** What becomes of a call that no agent takes: something is said, in the carrier's own voice; then it goes on, or ends. */
export interface CallTreatment {
  /** null: nothing. `language` is a BCP 47 tag; a carrier that has no voice for it takes the nearest that it has. */
  say: { text: string; language: string } | null;
  /** null: the call ends. Numbers are E.164. `resultUrl` is told how it went, by carriers that run a document. */
  forward: { to: string; callerId: string; ringTimeoutSeconds: number; resultUrl: string } | null;
}

/** It was answered, the words were said, whom it was sent on to has answered, or that call is over. */
export type TreatmentStep = 'answered' | 'said' | 'forward_answered' | 'forwarded';

/** The carrier refused, or could not be reached. `code` is a stable word and safe to show. */
export class CarrierError extends Error {
  readonly carrier: CarrierName;
  readonly code: 'auth' | 'rate_limit' | 'refused' | 'unavailable' | 'timeout' | 'unsupported';
  readonly status: number | undefined;
  /** Whether the carrier may have got the request; false only where it certainly did not. */
  readonly sent: boolean;

  constructor(
    carrier: CarrierName,
    code: CarrierError['code'],
    status?: number,
    options?: { cause?: unknown; sent?: boolean },
  ) {
    super(`${carrier}: ${code}${status === undefined ? '' : ` (HTTP ${status})`}`, options);
    this.name = 'CarrierError';
    this.carrier = carrier;
    this.code = code;
    this.status = status;
    this.sent = options?.sent ?? true;
  }
}

/**
 * Signalling of one telephony account: what its callbacks say, what can be done to a running call, outbound calls, and
 * numbers. Media is the gateway's.
 */
export interface Carrier {
  readonly name: CarrierName;

  readonly dialling: CarrierDialling;

  /** Absent where numbers are searched, bought and set up by hand. */
  readonly numbers?: CarrierNumbers;

  /** `answer` is a command to the carrier, not a document: told of the same call twice it is given once. */
  readonly answersByCommand: boolean;

  /** Whether the callback carries a signature of this account. Constant time. */
  verifyWebhook(request: CarrierRequest): boolean;

  /**
   * Whether the upgrade request for a media stream carries a signature of this account; true for carriers that sign
   * none: there the ticket alone admits.
   * @param url `wss://…` as dialled, with the ticket
   */
  verifyUpgrade(url: string, headers: Readonly<Record<string, string | undefined>>): boolean;

  /** @returns undefined for events that mean nothing to us
   *  @throws CarrierProtocolError when the request breaks the carrier's own format */
  parseCallback(request: CarrierRequest): CarrierCallback | undefined;

  /** The id of the dial that a callback is of (`DialRequest.dialId`), as far as the carrier has signed it; else null. */
  dialOf(request: CarrierRequest): string | null;

  /** Starts the stream of a call that arrived: by the returned document, or by a command of its own first. */
  answer(carrierCallId: string, target: StreamTarget, signal?: AbortSignal): Promise<CarrierDocument>;

  /** Refuses a call that was not answered. */
  refuse(carrierCallId: string, reason: 'busy' | 'rejected', signal?: AbortSignal): Promise<CarrierDocument>;

  /** Answers a call that no agent takes, and does the rest or, where commands do it, the first step. @throws CarrierError */
  treat(carrierCallId: string, treatment: CallTreatment, signal?: AbortSignal): Promise<CarrierDocument>;

  /** The step after `done`; nothing for carriers whose document says it all. @throws CarrierError */
  continueTreatment(
    carrierCallId: string,
    treatment: CallTreatment,
    done: TreatmentStep,
    signal?: AbortSignal,
  ): Promise<void>;

  /** Answer to callbacks that ask for nothing, and to those that ask what is next when nothing is. */
  acknowledge(next?: 'hangup'): CarrierDocument;

  /** A call that is gone already counts as done. @throws CarrierError */
  hangup(carrierCallId: string, signal?: AbortSignal): Promise<void>;

  /** Blind: the caller is sent to `target.to` and the stream ends. @throws CarrierError */
  transfer(carrierCallId: string, target: TransferTarget, signal?: AbortSignal): Promise<void>;

  /** The document behind `TransferTarget.documentUrl`. */
  transferDocument(target: TransferTarget): CarrierDocument;

  /**
   * Connects two calls with each other; their streams end, now or when their sockets do. The end of either is that of both. Who
   * was called goes first: where that fails, the caller stays where they are. @throws CarrierError
   */
  connect(calls: ConnectedCalls, signal?: AbortSignal): Promise<void>;

  /** The document behind `ConnectedCalls.documentUrl`. @param name of at most 64 letters, digits and dashes */
  conferenceDocument(name: string): CarrierDocument;

  /** @throws CarrierError `unsupported` where only the media stream can send tones */
  sendDtmf(carrierCallId: string, digits: string, signal?: AbortSignal): Promise<void>;

  /** Asks for something small, to see whether the credentials are good. @throws CarrierError */
  verifyCredentials(signal?: AbortSignal): Promise<void>;

  /** What is wrong at the carrier although the credentials are good. @throws CarrierError */
  findProblems(expected: ExpectedAccount, signal?: AbortSignal): Promise<AccountProblem[]>;
}

/** A callback breaks the carrier's own format. */
export class CarrierProtocolError extends Error {
  constructor(carrier: CarrierName, problem: string) {
    super(`${carrier}: ${problem}`);
    this.name = 'CarrierProtocolError';
  }
}

export interface CarrierOptions {
  clock: Clock;
  /** Where the carrier's API is, when it is not at the vendor's own address. */
  apiBaseUrl: string | undefined;
  /** Told when the carrier refuses the credentials: 401, whatever was asked for. */
  onUnauthorized?: (() => void) | undefined;
}

/** What the platform has to know of a carrier before an account at it is opened. */
export interface CarrierDescriptor {
  /** As people write it. */
  readonly title: string;
  /** What an account needs. Write-only. */
  readonly credentials: z.ZodObject;
  /** Calls at one time, of an account that names no limit itself. */
  readonly maxConcurrentCalls: number;
  /** Absent: the carrier has no feed of complaints. */
  readonly complaints?: ComplaintCapability;
  /** @throws ZodError when `credentials` are not what the schema asks for */
  open(credentials: unknown, options: CarrierOptions): Carrier;
}

export function defineCarrier<S extends z.ZodObject>(carrier: {
  title: string;
  credentials: S;
  maxConcurrentCalls: number;
  complaints?: ComplaintDefinition<S>;
  open(credentials: z.output<S>, options: CarrierOptions): Carrier;
}): CarrierDescriptor {
  const { title, credentials, maxConcurrentCalls, complaints } = carrier;
  return {
    title,
    credentials,
    maxConcurrentCalls,
    ...(complaints && {
      complaints: {
        callbackText: complaints.callbackText,
        open: (values, options) => complaints.open(credentials.parse(values), options),
      },
    }),
    open: (values, options) => carrier.open(credentials.parse(values), options),
  };
}
