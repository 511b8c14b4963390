import type { SessionRecord } from '../sessions/session-record.ts';
import type { DialGate, GateVerdict } from './outbound-calls.ts';
import { API_DIALS, SERVER_SCOPE } from './sleeping-scopes.ts';

/** What an account at a carrier allows. */
export interface DialAccount {
  status: 'unverified' | 'active' | 'invalid' | 'disabled';
  max_concurrent_calls: number;
  calls_per_second: number;
  /** When it may spend again, ms since the epoch; null: it may now. */
  spentUntil: number | null;
}

/** Accounts as dialling asks of them: `TelephonyAccountService`. */
export interface DialAccountLimits {
  limitsOf(accountId: string): Promise<DialAccount | null>;
  /** Whether calls of the account may go to this number's country. */
  mayCall(accountId: string, number: string): Promise<boolean>;
}

/** Limits of the installation on what is dialled. */
export interface ServerDialLimits {
  /** Calls that clients asked for and that nobody has answered yet, at one time. */
  maxConcurrentApiDials: number;
  callsPerSecond: number;
  /** Part of an account's calls, 0 to 1, that outbound ones leave to others. */
  inboundReserve: number;
}

/** Whether an account can be used may have changed by then. */
const ASK_AGAIN_MS = 30_000;

/** The limits of the installation, and of the account at the carrier. */
export class AccountGate implements DialGate {
  readonly name = 'account';
  readonly #accounts: DialAccountLimits;
  readonly #limits: ServerDialLimits;

  constructor(deps: { accounts: DialAccountLimits; limits: ServerDialLimits }) {
    this.#accounts = deps.accounts;
    this.#limits = deps.limits;
  }

  async check({ dial, to_number }: SessionRecord, nowMs: number): Promise<GateVerdict> {
    const id = dial!.account_id;
    const account = await this.#accounts.limitsOf(id);
    if (!account) return { pass: false, end: { status: 'failed', failure_reason: 'carrier_error' } };
    // Who ordered a call by itself is told in time; a campaign's waits for somebody to see to the account.
    if (!isUsable(account))
      return { pass: false, until: nowMs + ASK_AGAIN_MS, counts: dial!.kind !== 'campaign' };
    if (account.spentUntil !== null) return { pass: false, until: account.spentUntil };
    if (!(await this.#accounts.mayCall(id, to_number!)))
      return { pass: false, end: { status: 'failed', failure_reason: 'blocked' } };
    const { maxConcurrentApiDials, callsPerSecond, inboundReserve } = this.#limits;
    const byClient = dial!.source === 'api' || dial!.source === 'webhook';
    // One call at least, however small the account is.
    const reserve = dial!.kind === 'transfer' ? 0 : inboundReserve;
    const outbound = Math.max(1, Math.floor(account.max_concurrent_calls * (1 - reserve)));
    return {
      pass: true,
      places: [
        ...(byClient ? [{ bucket: API_DIALS, limit: maxConcurrentApiDials }] : []),
        { bucket: `account:${id}`, limit: outbound },
      ],
      paces: [
        { scope: SERVER_SCOPE, perSecond: callsPerSecond },
        { scope: `account:${id}`, perSecond: account.calls_per_second },
      ],
    };
  }
}

/** Whether calls may be dialled by it. */
export function isUsable({ status }: Pick<DialAccount, 'status'>): boolean {
  return status === 'active';
}
