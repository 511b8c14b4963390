import type { CarrierLine, LineEvents } from './carrier-line.ts';

/** One call placed by an emulated carrier, from its first webhook to its last. */
export interface EmulatedCall {
  readonly carrier: 'plivo' | 'twilio' | 'telnyx';
  readonly callId: string;
  readonly from: string;
  readonly to: string;
  /** The media stream the answer document asked for. */
  readonly line: CarrierLine;
  /** Resolves when the call is over and the carrier's callbacks were taken in. */
  readonly ended: Promise<EmulatedCallEnd>;
  /** The caller hangs up. */
  hangUp(): void;
}

export interface EmulatedCallEnd {
  /** Who ended it, as the carrier sees it. */
  source: 'caller' | 'api' | 'document' | 'stream';
  /** Where a transfer sent the caller, if one did. */
  transferredTo: string | undefined;
  durationSeconds: number;
}

export interface PlaceCallOptions {
  /** Asked for the answer document. */
  voiceUrl: string;
  /** Told of the end. */
  statusUrl: string;
  from: string;
  to: string;
  events?: LineEvents;
  keepHeard?: boolean;
}

/** Emulates one carrier's signalling: places calls, signs its webhooks, serves its REST API for calls. */
export interface CarrierEmulator {
  /** Base of the REST API that a control plane is pointed at. */
  readonly apiUrl: string;
  /** Credentials of the account that this carrier knows, by the names the carrier gives them. */
  readonly credentials: Record<string, string>;
  placeCall(options: PlaceCallOptions): Promise<EmulatedCall>;
  [Symbol.asyncDispose](): Promise<void>;
}
