import type { RedeemRequest } from '@parley/shared/contracts/admission';
import { ConflictError } from '@parley/shared/errors/app-error';
import type { Clock } from '@parley/shared/time/clock';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { SessionSlots } from '../sessions/session-slots.ts';
import { isTerminal } from '../sessions/session-states.ts';
import type { SessionStore } from '../sessions/session-store.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import type { WsTicketService } from '../ws-tickets/ws-ticket-service.ts';
import type { WsTicketRecord } from '../ws-tickets/ws-ticket-record.ts';

/** The legs of sessions: each socket that takes a session up, one after another, is a leg. */
export class SessionLegs {
  readonly #store: SessionStore;
  readonly #tickets: Pick<WsTicketService, 'setLeg'>;
  readonly #slots: Pick<SessionSlots, 'retake'>;
  readonly #clock: Clock;

  constructor(deps: {
    store: SessionStore;
    tickets: Pick<WsTicketService, 'setLeg'>;
    slots: Pick<SessionSlots, 'retake'>;
    clock: Clock;
  }) {
    this.#store = deps.store;
    this.#tickets = deps.tickets;
    this.#slots = deps.slots;
    this.#clock = deps.clock;
  }

  /**
   * Binds session and socket, once for each claim.
   * @throws ConflictError `in_use`, `session_over`, `call_id_mismatch`; TooManyRequestsError `limit`
   */
  async bind(ticket: WsTicketRecord, request: RedeemRequest): Promise<SessionRecord> {
    const socket = {
      gatewayId: request.gateway_id,
      claimId: request.claim_id,
      carrierCallId: ticket.kind === 'ticket' ? (request.start.carrier_call_id ?? null) : null,
    };
    // The claim is already a leg: the gateway repeats its request for the plan.
    if (ticket.leg === null) {
      const waiting = await this.#store.find(ticket.session_id);
      if (waiting) await this.#slots.retake(waiting);
      const admitted = await this.#store
        .admit(ticket.session_id, socket, new Date(this.#clock.now()))
        .catch((error: unknown) => {
          // The call has a session of its own.
          if (isDuplicateKey(error)) throw callIdMismatch();
          throw error;
        });
      if (admitted) {
        await this.#tickets.setLeg(ticket._id, admitted.leg);
        return admitted;
      }
    }
    const current = await this.#store.find(ticket.session_id);
    if (!current || isTerminal(current.status)) throw sessionOver();
    if (current.claim_id === request.claim_id) {
      if (ticket.leg === null) await this.#tickets.setLeg(ticket._id, current.leg);
      return current;
    }
    if (ticket.leg !== null)
      throw new ConflictError('in_use', 'Another connection has taken over this session.');
    if (socket.carrierCallId !== null && ![null, socket.carrierCallId].includes(current.carrier_call_id)) {
      throw callIdMismatch();
    }
    throw sessionOver();
  }
}

function callIdMismatch(): ConflictError {
  return new ConflictError('call_id_mismatch', 'The ticket was issued for another call.');
}

/** 409 `session_over`: the session admits no further socket. */
export function sessionOver(): ConflictError {
  return new ConflictError('session_over', 'The session has ended.');
}
