import { machineByNumber } from '@parley/emulators/answers/machines';
import type { CallerStep } from '@parley/emulators/callers/caller-script';
import type { CarrierEmulator, ConnectingCall } from '@parley/emulators/callers/emulated-call';
import type { Logger } from '@parley/shared/logging/logger';
import type { CallOutcome } from './call-order.ts';
import { answerCall } from './hold-call.ts';

export interface DialledPeopleDeps {
  carriers: readonly CarrierEmulator[];
  /** What somebody does who is called and was not asked for by an order. @param to E.164 */
  habits(to: string): Promise<readonly CallerStep[]>;
  /** The voice of machines. @returns 8 kHz mu-law */
  speak(text: string): Promise<Uint8Array>;
  logger?: Logger | undefined;
}

interface Expected {
  steps: readonly CallerStep[];
  outcome: PromiseWithResolvers<CallOutcome>;
}

/** People and machines at the telephones that the emulated carriers dial. Who answers, if anybody, their numbers say. */
export class DialledPeople {
  readonly #deps: DialledPeopleDeps;
  /** By number, those who were told what to do in the next call. */
  readonly #expected = new Map<string, Expected>();
  readonly #running = new Set<ConnectingCall>();

  constructor(deps: DialledPeopleDeps) {
    this.#deps = deps;
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
      const steps = expected?.steps ?? (await this.#deps.habits(call.to));
      const machine = machineByNumber(call.to);
      const outcome = await answerCall(
        call,
        [...steps, { listen: true }],
        machine && { script: machine, speak: (text) => this.#deps.speak(text) },
      );
      expected?.outcome.resolve(outcome);
    } catch (error) {
      expected?.outcome.reject(error);
      this.#deps.logger?.warn({ err: error }, 'an emulated telephone has failed');
    } finally {
      this.#running.delete(call);
    }
  }
}
