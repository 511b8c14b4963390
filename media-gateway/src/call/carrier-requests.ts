import { randomUUID } from 'node:crypto';
import type { CarrierCommandData } from '@parley/shared/contracts/call-events';
import type { Clock } from '@parley/shared/time/clock';

/** The carrier has this long to do what it was asked. */
const RESULT_MS = 15_000;

/** @property code why it was not done: the carrier's, `timeout`, `call_over` */
export interface CarrierResult {
  ok: boolean;
  code?: string | undefined;
}

/** What is asked of the carrier over its API: the control plane does it and tells how it went. */
export class CarrierRequests {
  readonly #clock: Clock;
  readonly #send: (request: CarrierCommandData) => void;
  readonly #waiting = new Map<string, (result: CarrierResult) => void>();

  constructor(deps: { clock: Clock; send: (request: CarrierCommandData) => void }) {
    this.#clock = deps.clock;
    this.#send = deps.send;
  }

  /** Nobody waits for how it went. */
  notify(action: CarrierCommandData['action'], args: CarrierCommandData['args']): void {
    this.#send({ command_id: randomUUID(), action, args });
  }

  /** Resolves within 15 s, whatever happens. Never rejects. */
  ask(action: CarrierCommandData['action'], args: CarrierCommandData['args']): Promise<CarrierResult> {
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
    this.#send({ command_id: id, action, args });
    return result;
  }

  /** Results nobody waits for are ignored. */
  onResult(commandId: string, result: CarrierResult): void {
    this.#waiting.get(commandId)?.(result);
  }

  /** The call is over: whoever waits is told so. */
  close(): void {
    for (const done of this.#waiting.values()) done({ ok: false, code: 'call_over' });
  }
}
