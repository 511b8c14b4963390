export type OutboundRefusal =
  'invalid_url' | 'credentials_in_url' | 'https_required' | 'private_address' | 'header_not_allowed';

/**
 * An address, or what was to be sent to it, is against the rules for outgoing requests; nothing was sent. The message
 * is safe to show to whoever gave the address: as `msg` of a 422, with `code` as its `type`.
 */
export class OutboundRefusedError extends Error {
  readonly code: OutboundRefusal;

  constructor(code: OutboundRefusal, message: string) {
    super(message);
    this.name = 'OutboundRefusedError';
    this.code = code;
  }
}

/** After the first three nothing was sent; after the others the far end may have done what it was asked for. */
export type OutboundFault = 'dns_failed' | 'connect_failed' | 'tls_failed' | 'timeout' | 'broken';

/** A request that was allowed did not get an answer. The message names no address. */
export class OutboundFailedError extends Error {
  readonly code: OutboundFault;

  constructor(code: OutboundFault, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'OutboundFailedError';
    this.code = code;
  }

  /** Whether it is certain that the far end has seen nothing of the request. */
  get unsent(): boolean {
    return this.code === 'dns_failed' || this.code === 'connect_failed' || this.code === 'tls_failed';
  }
}
