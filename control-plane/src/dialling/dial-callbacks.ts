import type { SessionRecord } from '../sessions/session-record.ts';
import { isTerminal } from '../sessions/session-states.ts';
import type { DialAccounts } from './dialler.ts';
import type { DialMoves } from './dial-moves.ts';
import type { DialStore } from './dial-store.ts';
import type { DialFollower } from './outbound-calls.ts';

/** What carriers and gateways tell of calls that were dialled. */
export class DialCallbacks {
  readonly #dials: DialStore;
  readonly #moves: DialMoves;
  readonly #accounts: DialAccounts;
  readonly #followers: readonly DialFollower[];

  constructor(deps: {
    dials: DialStore;
    moves: DialMoves;
    accounts: DialAccounts;
    /** May grow until the first call is made. */
    followers: readonly DialFollower[];
  }) {
    this.#dials = deps.dials;
    this.#moves = deps.moves;
    this.#accounts = deps.accounts;
    this.#followers = deps.followers;
  }

  /**
   * Binds a carrier's call to the session that it was dialled for: the first callback does, whatever the carrier answered.
   * @returns null when nobody wants the call any more
   */
  async bind(accountId: string, dialId: string, carrierCallId: string): Promise<SessionRecord | null> {
    const session = await this.#dials.byDial(dialId);
    if (!session || session.telephony_account_id !== accountId) return null;
    const isNew = session.dial!.state !== 'known';
    const known = isNew ? await this.#moves.known(session, carrierCallId) : null;
    if (!known && !(await this.#moves.bind(session, carrierCallId))) return null;
    return isTerminal(session.status) ? null : (known ?? { ...session, carrier_call_id: carrierCallId });
  }

  /** Somebody has answered, or a machine. */
  async answered(session: SessionRecord): Promise<void> {
    if (!session.dial) return;
    const answered = await this.#moves.answered(session);
    if (answered) for (const follower of this.#followers) await follower.answered(answered);
  }

  /** The session is over, whoever ended it. Safe to repeat. */
  async ended(session: SessionRecord): Promise<void> {
    const { dial, carrier_call_id: callId } = session;
    if (!dial) return;
    if (dial.state === 'known') {
      await this.#moves.tell(session, { result: 'ended', cause: session.carrier_cause });
      // Its closer ends a call that is known by its own id.
      if (callId === null && session.closed_by !== 'carrier') await this.#cancel(session);
    }
    for (const follower of this.#followers) await follower.ended(session);
  }

  async #cancel(session: SessionRecord): Promise<void> {
    const carrier = await this.#accounts.open(session.dial!.account_id);
    const requestId = session.dial!.carrier_request_id;
    if (carrier) await this.#moves.hangUp(carrier, session, { carrierCallId: null, requestId });
  }
}
