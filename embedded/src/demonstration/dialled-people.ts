import type { CallerStep } from '@parley/emulators/callers/caller-script';
import type { CarrierEmulator, ConnectingCall } from '@parley/emulators/callers/emulated-call';
import type { Logger } from '@parley/shared/logging/logger';
import type { CallOutcome } from './call-order.ts';
import { answerCall } from './hold-call.ts';

/** What somebody does who is called and was not asked for by an order. @param to E.164 */
export type Habits = (to: string) => Promise<readonly CallerStep[]>;

interface Expected {
  steps: readonly CallerStep[];
  outcome: PromiseWithResolvers<CallOutcome>;
}

/** The people at the telephones that the emulated carriers dial. Whether they answer, their numbers say. */
export class DialledPeople {
  readonly #habits: Habits;
  readonly #logger: Logger | undefined;
  /** By number, those who were told what to do in the next call. */
  readonly #expected = new Map<string, Expected>();
  readonly #running = new Set<ConnectingCall>();

  constructor(deps: { carriers: readonly CarrierEmulator[]; habits: Habits; logger?: Logger }) {
    this.#habits = deps.habits;
    this.#logger = deps.logger;
    for (const carrier of deps.carriers) void this.#answerAll(carrier);
  }

  /** Tells whoever is called next at this number what to do. @returns what became of the call */
  expect(to: string, steps: readonly CallerStep[]): { outcome: Promise<CallOutcome>; forget: () => void } {
    const expected: Expected = { steps, outcome: Promise.withResolvers<CallOutcome>() };
    expected.outcome.promise.catch(() => {});
    this.#expected.set(to, expected);
    return {
      outcome: expected.outcome.promise,
      forget: () => {
        if (this.#expected.get(to) === expected) this.#expected.delete(to);
        expected.outcome.reject(new Error('The carrier was never asked to dial.'));
      },
    };
  }

  /** All hang up. */
  hangUp(): void {
    for (const call of [...this.#running]) call.hangUp();
  }

  /** Until the carrier closes. */
  async #answerAll(carrier: CarrierEmulator): Promise<void> {
    for (;;) {
      let call: ConnectingCall;
      try {
        call = await carrier.dialledCall();
      } catch {
        return;
      }
      void this.#talk(call);
    }
  }

  async #talk(call: ConnectingCall): Promise<void> {
    const expected = this.#expected.get(call.to);
    this.#expected.delete(call.to);
    this.#running.add(call);
    try {
      const steps = expected?.steps ?? (await this.#habits(call.to));
      const outcome = await answerCall(call, [...steps, { listen: true }]);
      expected?.outcome.resolve(outcome);
    } catch (error) {
      expected?.outcome.reject(error);
      this.#logger?.warn({ err: error }, 'an emulated telephone has failed');
    } finally {
      this.#running.delete(call);
    }
  }
}
