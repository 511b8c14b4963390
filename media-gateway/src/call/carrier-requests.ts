import { randomUUID } from 'node:crypto';
import type { CarrierCommandData } from '@parley/shared/contracts/call-events';
import type { Clock } from '@parley/shared/time/clock';

/** How long a request waits for the carrier's result. */
const RESULT_MS = 15_000;

/** The outcome of a request. @property code why it failed: the carrier's own code, `timeout` or `call_over` */
export interface CarrierResult {
  ok: boolean;
  code?: string | undefined;
}

/** Requests to the carrier's API: the control plane executes them and reports each outcome. */
export class CarrierRequests {
  readonly #clock: Clock;
  readonly #send: (request: CarrierCommandData) => void;
  readonly #waiting = new Map<string, (result: CarrierResult) => void>();

  constructor(deps: { clock: Clock; send: (request: CarrierCommandData) => void }) {
    this.#clock = deps.clock;
    this.#send = deps.send;
  }

  /** Sends a request whose outcome is not awaited. */
  notify(action: CarrierCommandData['action'], args: CarrierCommandData['args']): void {
    this.#send({ command_id: randomUUID(), action, args });
  }

  /**
   * Sends a request and awaits its outcome. Resolves within 15 s, whatever happens. Never rejects.
   * @param brief what is said to whom a caller is transferred to
   */
  ask(
    action: CarrierCommandData['action'],
    args: CarrierCommandData['args'],
    brief?: string,
  ): Promise<CarrierResult> {
    const id = randomUUID();
    const result = new Promise<CarrierResult>((resolve) => {
      const done = (outcome: CarrierResult) => {
        timer.cancel();
        this.#waiting.delete(id);
        resolve(outcome);
      };
      const timer = this.#clock.setTimeout(() => done({ ok: false, code: 'timeout' }), RESULT_MS);
      this.#waiting.set(id, done);
    });
    this.#send({ command_id: id, action, args, ...(brief !== undefined && { brief }) });
    return result;
  }

  /** Takes the outcome of a request; one that is not awaited is ignored. */
  onResult(commandId: string, result: CarrierResult): void {
    this.#waiting.get(commandId)?.(result);
  }

  /** Ends all waits with `timeout`. */
  giveUp(): void {
    this.#endAll('timeout');
  }

  /** Ends all waits with `call_over`. */
  close(): void {
    this.#endAll('call_over');
  }

  #endAll(code: string): void {
    for (const done of this.#waiting.values()) done({ ok: false, code });
  }
}
