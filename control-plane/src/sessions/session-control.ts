import { ConflictError, NotFoundError } from '@parley/shared/errors/app-error';
import type { Clock } from '@parley/shared/time/clock';
import type { SessionCloser } from './session-closer.ts';
import type { SessionGateways } from './session-gateways.ts';
import type { SessionRecord } from './session-record.ts';
import type { SessionSlots } from './session-slots.ts';
import type { SessionEventBody } from './session-schema.ts';
import { isLive, isTerminal } from './session-states.ts';
import type { SessionStore } from './session-store.ts';

/** Requests of clients to existing sessions. */
export class SessionControl {
  readonly #store: SessionStore;
  readonly #closer: SessionCloser;
  readonly #gateways: SessionGateways;
  readonly #slots: Pick<SessionSlots, 'countEvent'>;
  readonly #clock: Clock;

  constructor(deps: {
    store: SessionStore;
    closer: SessionCloser;
    gateways: SessionGateways;
    slots: Pick<SessionSlots, 'countEvent'>;
    clock: Clock;
  }) {
    this.#store = deps.store;
    this.#closer = deps.closer;
    this.#gateways = deps.gateways;
    this.#slots = deps.slots;
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
