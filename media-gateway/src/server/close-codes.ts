/**
 * Codes with which a WebSocket is closed. Below 4000: RFC 6455, section 7.4.1; the others are ours.
 * The reason beside a code is a code word and never holds a credential.
 */
export const closeCodes = {
  done: 1000,
  /** The process stops and its deadline has passed. */
  goingAway: 1001,
  /** Never on the wire: the connection was lost without a close frame. */
  lost: 1006,
  frameTooLarge: 1009,
  /** Our fault. */
  internal: 1011,
  /** As `goingAway`, for programs that may connect again. */
  serviceRestart: 1012,
  /** Too many messages, or a reader too slow for what it is sent. */
  overloaded: 1013,
  /** The client speaks the beta version of the realtime protocol. */
  betaProtocol: 4000,
  /** Malformed message, binary frame, media before `start`. */
  badMessage: 4400,
  credentialRefused: 4401,
  /** No `start` in time. */
  noStart: 4408,
  credentialInUse: 4409,
  sessionOver: 4410,
  codecNotAgreed: 4415,
  limitReached: 4429,
} as const;

/** Closed in good order by the other side; 1005: without a code. */
export const ORDERLY_CLOSES: ReadonlySet<number> = new Set([1000, 1001, 1005]);

/** How a connection is closed when its call ends: it is over, this process stops, or something of ours failed. */
export const CALL_CLOSE_CODES = {
  over: closeCodes.done,
  shutdown: closeCodes.goingAway,
  failed: closeCodes.internal,
} as const;
