import { transferDestinationSchema, type TransferDestination } from '@parley/shared/contracts/agent-config';
import { ConflictError, NotFoundError } from '@parley/shared/errors/app-error';
import type { Clock } from '@parley/shared/time/clock';
import { invalid } from '../http/validation.ts';
import { destinationsOf, speakingAgentOf, type SessionAgents } from './session-agent.ts';
import type { SessionCloser } from './session-closer.ts';
import type { SessionGateways } from './session-gateways.ts';
import type { SessionRecord } from './session-record.ts';
import type { SessionSlots } from './session-slots.ts';
import type { SessionEventBody, TransferBody } from './session-schema.ts';
import { isLive, isTerminal } from './session-states.ts';
import type { SessionStore } from './session-store.ts';

/** Requests of clients to existing sessions. */
export class SessionControl {
  readonly #store: SessionStore;
  readonly #closer: SessionCloser;
  readonly #gateways: SessionGateways;
  readonly #slots: Pick<SessionSlots, 'countEvent'>;
  readonly #agents: Pick<SessionAgents, 'version'>;
  readonly #clock: Clock;

  constructor(deps: {
    store: SessionStore;
    closer: SessionCloser;
    gateways: SessionGateways;
    slots: Pick<SessionSlots, 'countEvent'>;
    agents: Pick<SessionAgents, 'version'>;
    clock: Clock;
  }) {
    this.#store = deps.store;
    this.#closer = deps.closer;
    this.#gateways = deps.gateways;
    this.#slots = deps.slots;
    this.#agents = deps.agents;
    this.#clock = deps.clock;
  }

  /**
   * Ends a session: at once when nobody has joined, else by its gateway.
   * @throws ConflictError `invalid_state` when it is over already
   */
  async end(session: SessionRecord): Promise<void> {
    const cancelled = await this.#closer.close(session._id, 'cancelled', {
      // A session that a gateway has claimed is ended only by the gateway, which may be answering at this moment.
      where: { leg: -1 },
      set: {
        ended_at: new Date(this.#clock.now()),
        ended_by: 'api',
        hangup_reason: 'api_hangup',
        closed_by: 'api',
        post_call_status: 'skipped',
        post_call_finished_at: new Date(this.#clock.now()),
      },
    });
    if (cancelled) return;
    const current = await this.#store.find(session._id);
    if (!current) throw new NotFoundError();
    if (isTerminal(current.status) || current.gateway_id === null) {
      throw new ConflictError('invalid_state', 'The session has ended.');
    }
    await this.#gateways.send({ gatewayId: current.gateway_id, sessionId: current._id }, 'end', {
      ended_by: 'api',
      hangup_reason: 'api_hangup',
    });
  }

  /**
   * Brings the caller to somebody else, as the agent's tool does.
   * @returns the id of the command to the gateway
   * @throws ConflictError `invalid_state` when it is not live, or cannot be brought there; ValidationError;
   *   TooManyRequestsError
   */
  async transfer(session: SessionRecord, to: TransferBody): Promise<string> {
    const { gateway_id: gatewayId } = session;
    if (!isLive(session.status) || gatewayId === null)
      throw new ConflictError('invalid_state', 'The session is not live.');
    const destination =
      to.phone_number === undefined
        ? await this.#destination(session, to.destination_id!)
        : personAt(to.phone_number);
    const isCarried = session.telephony_account_id !== null && session.carrier_call_id !== null;
    if (destination.target.type !== 'agent' && !isCarried)
      throw new ConflictError(
        'invalid_state',
        'No carrier’s account of the project carries this call: it can be handed over to agents only.',
      );
    await this.#slots.countEvent(session._id);
    const args = to.phone_number === undefined ? { destination_id: destination.id } : { destination };
    return this.#gateways.send({ gatewayId, sessionId: session._id }, 'transfer', args);
  }

  /** @throws ValidationError `reference_not_found` */
  async #destination(session: SessionRecord, id: string): Promise<TransferDestination> {
    const agent = await speakingAgentOf(this.#agents, session);
    const found = agent && destinationsOf(agent).find((one) => one.id === id);
    if (!found)
      throw invalid(
        ['body', 'destination_id'],
        'The agent has no such transfer destination',
        'reference_not_found',
      );
    return found;
  }

  /** @throws ConflictError `invalid_state` when it is not live; TooManyRequestsError */
  async sendEvent(session: SessionRecord, event: SessionEventBody): Promise<void> {
    if (!isLive(session.status) || session.gateway_id === null) {
      throw new ConflictError('invalid_state', 'The session is not live.');
    }
    await this.#slots.countEvent(session._id);
    await this.#gateways.send({ gatewayId: session.gateway_id, sessionId: session._id }, 'event', {
      name: event.name,
      ...(event.variables ? { variables: event.variables } : {}),
      ...(event.say === undefined ? {} : { say: event.say }),
    });
  }
}

/** Somebody who takes a call over: told of the caller before they have them, so that a failure leaves the caller with the agent. */
function personAt(phoneNumber: string): TransferDestination {
  return transferDestinationSchema.parse({
    ...{ id: 'operator', mode: 'warm', brief_to_target: 'summary' },
    target: { type: 'phone', phone_number: phoneNumber },
  });
}
