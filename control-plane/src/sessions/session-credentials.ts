import { randomUUID } from 'node:crypto';
import { realtimeWsUrl, mediaWsUrl } from '@parley/shared/contracts/addresses';
import { ConflictError } from '@parley/shared/errors/app-error';
import type { Clock } from '@parley/shared/time/clock';
import type { SigningKeys } from '../crypto/signing-keys.ts';
import { signParticipantToken } from '../participant-tokens/participant-token.ts';
import type { WsTicketService } from '../ws-tickets/ws-ticket-service.ts';
import type { SessionRecord } from './session-record.ts';
import { roomName } from './session-plan.ts';
import type { SessionAddresses } from './session-schema.ts';
import { isTerminal } from './session-states.ts';
import type { SessionStore } from './session-store.ts';

/** What lets the far end of a session in. */
export interface Credentials {
  token?: string;
  ws_ticket?: string;
  expiresAt: Date;
}

/** How the far end of a session gets in: where, and with what. */
export class SessionCredentials {
  readonly addresses: SessionAddresses;
  readonly #store: SessionStore;
  readonly #tickets: WsTicketService;
  readonly #keys: SigningKeys;
  readonly #clock: Clock;
  readonly #publicUrl: string;

  /**
   * @param deps.publicUrl of the API and, unless told otherwise, of media; no trailing slash
   * @param deps.mediaPublicUrl where media sockets go, if elsewhere
   */
  constructor(deps: {
    store: SessionStore;
    tickets: WsTicketService;
    signingKeys: SigningKeys;
    clock: Clock;
    publicUrl: string;
    mediaPublicUrl?: string | undefined;
  }) {
    this.#store = deps.store;
    this.#tickets = deps.tickets;
    this.#keys = deps.signingKeys;
    this.#clock = deps.clock;
    this.#publicUrl = deps.publicUrl;
    const media = deps.mediaPublicUrl ?? deps.publicUrl;
    this.addresses = {
      realtimeWsUrl: realtimeWsUrl(media),
      mediaWsUrl: (carrier) => mediaWsUrl(media, carrier),
    };
  }

  /** A ticket for a carrier's stream, or a participant token for a browser; others stay valid. */
  async issue(session: SessionRecord): Promise<Credentials> {
    if (session.channel === 'telephony') {
      const ticket = await this.#newTicket(session);
      return { ws_ticket: ticket.credential, expiresAt: ticket.expiresAt };
    }
    const jti = randomUUID();
    const { token, expiresAt } = await signParticipantToken(
      { sessionId: session._id, room: roomName(session)!, jti },
      { keys: this.#keys, issuer: this.#publicUrl, nowMs: this.#clock.now() },
    );
    await this.#tickets.registerParticipant({ sessionId: session._id, jti, expiresAt });
    return { token, expiresAt };
  }

  /** An opaque token for one connection to `/v1/realtime`. @param origin the only one that may use it */
  async issueRealtimeToken(
    session: SessionRecord,
    options: { lifeSeconds: number; origin?: string; credential?: string | undefined },
  ): Promise<{ token: string; expiresAt: Date }> {
    const issued = await this.#tickets.issueRealtimeToken({ sessionId: session._id, ...options });
    return { token: issued.credential, expiresAt: issued.expiresAt };
  }

  /**
   * A fresh ticket for a carrier's stream; those nobody used are worthless from now on.
   * @param lifeSeconds longer only where a dial carries it
   */
  async issueTicket(
    session: SessionRecord,
    lifeSeconds?: number,
  ): Promise<{ ticket: string; streamUrl: string }> {
    await this.#tickets.revokeUnclaimed(session._id);
    const { credential, expiresAt } = await this.#newTicket(session, lifeSeconds);
    await this.#store.change(session._id, { join_by: expiresAt });
    return { ticket: credential, streamUrl: `${this.addresses.mediaWsUrl(session.provider!)}/${credential}` };
  }

  /**
   * A new credential, to rejoin or when the first answer was lost.
   * @throws ConflictError `invalid_state` when the session is over, or is of a call that no agent takes
   */
  async renew(session: SessionRecord): Promise<Credentials> {
    if (isTerminal(session.status)) throw new ConflictError('invalid_state', 'The session has ended.');
    if (session.treatment)
      throw new ConflictError('invalid_state', 'No agent takes this call: nobody can join it.');
    await this.#tickets.revokeUnclaimed(session._id);
    const credentials = await this.issue(session);
    const current = await this.#store.change(session._id, { join_by: credentials.expiresAt });
    if (!current || isTerminal(current.status)) {
      await this.#tickets.revokeUnclaimed(session._id);
      throw new ConflictError('invalid_state', 'The session has ended.');
    }
    return credentials;
  }

  #newTicket(session: SessionRecord, lifeSeconds?: number) {
    return this.#tickets.issueTicket({
      ...(lifeSeconds !== undefined && { lifeSeconds }),
      sessionId: session._id,
      carrier: session.provider!,
      carrierCallId: session.carrier_call_id,
    });
  }
}
