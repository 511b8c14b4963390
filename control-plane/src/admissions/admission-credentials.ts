import { toWebSocketUrl } from '@parley/shared/contracts/addresses';
import {
  credentialDigest,
  type AdmissionCheckRequest,
  type AdmissionCheckResponse,
  type RedeemRequest,
} from '@parley/shared/contracts/admission';
import { UnauthorizedError } from '@parley/shared/errors/app-error';
import type { Clock } from '@parley/shared/time/clock';
import type { SigningKeys } from '../crypto/signing-keys.ts';
import { verifyParticipantToken } from '../participant-tokens/participant-token.ts';
import { isTerminal } from '../sessions/session-states.ts';
import type { SessionStore } from '../sessions/session-store.ts';
import type { WsTicketService } from '../ws-tickets/ws-ticket-service.ts';
import type { WsTicketRecord } from '../ws-tickets/ws-ticket-record.ts';

/** The signalling of an account, for the signature of an upgrade. */
export interface AdmissionCarriers {
  open(accountId: string): Promise<{
    /** @param url as the carrier was told it, with `wss` @param headers in lower case */
    verifyUpgrade(url: string, headers: Record<string, string>): boolean;
  } | null>;
}

/** Checks the credential of a socket: a ticket or a token, and a carrier's signature. */
export class AdmissionCredentials {
  readonly #tickets: WsTicketService;
  readonly #store: SessionStore;
  readonly #carriers: AdmissionCarriers;
  readonly #keys: SigningKeys;
  readonly #clock: Clock;
  readonly #publicUrl: string;
  readonly #mediaUrl: string;

  constructor(deps: {
    tickets: WsTicketService;
    store: SessionStore;
    carriers: AdmissionCarriers;
    signingKeys: SigningKeys;
    clock: Clock;
    publicUrl: string;
    mediaPublicUrl?: string | undefined;
  }) {
    this.#tickets = deps.tickets;
    this.#store = deps.store;
    this.#carriers = deps.carriers;
    this.#keys = deps.signingKeys;
    this.#clock = deps.clock;
    this.#publicUrl = deps.publicUrl;
    this.#mediaUrl = toWebSocketUrl(deps.mediaPublicUrl ?? deps.publicUrl);
  }

  /**
   * Looks before the upgrade is answered; changes nothing.
   * @throws UnauthorizedError `credential_invalid`, `signature_invalid`
   */
  async check(request: AdmissionCheckRequest): Promise<AdmissionCheckResponse> {
    const ticket = await this.#tickets.check(request.kind, request.digest, request.carrier);
    const session = await this.#store.find(ticket.session_id);
    if (!session || isTerminal(session.status)) throw invalid();
    if (ticket.kind === 'ticket' && session.telephony_account_id !== null) {
      const carrier = await this.#carriers.open(session.telephony_account_id);
      if (
        !carrier?.verifyUpgrade(`${this.#mediaUrl}${request.path ?? ''}`, request.signature_headers ?? {})
      ) {
        throw new UnauthorizedError('signature_invalid', 'Invalid carrier signature.');
      }
    }
    return { session_id: session._id, expires_at: ticket.expires_at.toISOString() };
  }

  /**
   * Claims the credential for one socket; the same `claim_id` gets it again.
   * @throws UnauthorizedError `credential_invalid`; ConflictError `in_use`, `call_id_mismatch`
   */
  async claim(request: RedeemRequest): Promise<WsTicketRecord> {
    // Exchanged for a session's token before.
    if (request.kind === 'api_key') throw invalid();
    const { digest, sessionId } = await this.#identify(request);
    const ticket = await this.#tickets.claim(request.kind, digest, request.claim_id, {
      carrier: request.start.carrier,
      carrierCallId: request.start.carrier_call_id,
      origin: request.origin,
    });
    if (sessionId !== null && ticket.session_id !== sessionId) throw invalid();
    return ticket;
  }

  /** The credential's digest, and for a participant token the session it names. */
  async #identify(request: RedeemRequest): Promise<{ digest: string; sessionId: string | null }> {
    if (request.kind !== 'participant') return { digest: request.digest!, sessionId: null };
    const token = await verifyParticipantToken(request.token!, {
      keys: this.#keys,
      issuer: this.#publicUrl,
      nowMs: this.#clock.now(),
    });
    return { digest: credentialDigest(token.jti), sessionId: token.sessionId };
  }
}

function invalid(): UnauthorizedError {
  return new UnauthorizedError('credential_invalid', 'Invalid credential.');
}
