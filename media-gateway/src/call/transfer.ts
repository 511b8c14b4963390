import type { TransferDestination } from '@parley/shared/contracts/agent-config';
import { randomUUID } from 'node:crypto';
import type { CallEndReason } from '@parley/shared/contracts/session-values';
import type { Emit } from '../reporting/call-reporter.ts';
import type { AgentSpeech } from '../speech/agent-speech.ts';
import { announce } from './announcement.ts';
import type { TransferResult } from './blind-transfer.ts';
import type { CallClock } from './call-clock.ts';
import type { PhaseOfCall } from './call-phase.ts';
import type { CarrierResult } from './carrier-requests.ts';
import type { ConsultArgs } from './consultation.ts';
import type { PromptTexts } from './prompt.ts';
import type { TransferTargets } from './transfer-targets.ts';

/** Who has wanted a transfer or a hand-over, and learns that the caller is still with the agent. */
export interface TransferAsker {
  /** Told before anything else comes of a failure. @param code the carrier's, or our own */
  onFailed?: (code: string) => void;
  /** The caller goes on with the agent: who has wanted it says how. Otherwise the model does. */
  onReturned?: () => void;
}

/** What follows from a transfer that failed. */
export interface TransferFailure {
  /**
   * The caller is with the agent again.
   * @param note for the model @param message to be said, if there is one
   * @param goOn what comes next; undefined: the model answers
   */
  onReturned(note: string, message: string | undefined, goOn: (() => void) | undefined): void;
  /** The destination could not be reached, and the call must end. */
  onGivenUp(reason: CallEndReason, note: string, message: string | undefined): void;
  /** The caller is to leave a message. @param message to be said before, if there is one */
  onMessageWanted(message: string | undefined): void;
}

/** What a transfer asks of who has the other side called and told of the caller first. */
export interface WarmTransfer {
  /** Never rejects. @returns ok when the caller is with them */
  run(destination: TransferDestination, args: ConsultArgs): Promise<CarrierResult>;
}

/** What a transfer asks of who has the carrier take the caller away. */
interface TakenTransfer {
  /** Never rejects. */
  run(args: ConsultArgs): Promise<TransferResult>;
}

/** The outcome of a transfer, for the call. */
export interface TransferEvents extends TransferFailure {
  /** The caller was connected to the destination: the call is over for the agent. */
  onBridged(): void;
  /** The transfer failed, and the caller hung up meanwhile. */
  onLost(): void;
  /** The transfer failed, and the carrier brings the caller back on another connection. */
  onReturns(): void;
}

/**
 * A transfer, announced and then asked for. Blind, the carrier takes the caller away from us; warm, the caller waits here until who
 * was called has taken them.
 */
export class Transfer {
  readonly #prompt: PromptTexts;
  readonly #targets: TransferTargets;
  readonly #clock: CallClock;
  readonly #blind: TakenTransfer;
  readonly #warm: WarmTransfer;
  readonly #phase: PhaseOfCall;
  readonly #emit: Emit;
  readonly #events: TransferEvents;
  #ringingMs = 0;

  constructor(deps: {
    prompt: PromptTexts;
    targets: TransferTargets;
    clock: CallClock;
    blind: TakenTransfer;
    warm: WarmTransfer;
    phase: PhaseOfCall;
    emit: Emit;
    events: TransferEvents;
  }) {
    this.#prompt = deps.prompt;
    this.#targets = deps.targets;
    this.#clock = deps.clock;
    this.#blind = deps.blind;
    this.#warm = deps.warm;
    this.#phase = deps.phase;
    this.#emit = deps.emit;
    this.#events = deps.events;
  }

  /** How long the destinations of all transfers of the call rang, ms. */
  get ringingMs(): number {
    return this.#ringingMs;
  }

  /**
   * Hands the caller over once what is being said was heard, and says so if nothing else was said.
   * Resolves when that has worked or failed, or does not matter any more.
   */
  async run(destination: TransferDestination, speech: AgentSpeech, asker: TransferAsker = {}): Promise<void> {
    const isDue = () => this.#phase.phase === 'announcing';
    await announce(this.#prompt.render(destination.announce_to_caller), speech, isDue);
    if (this.#phase.on('transfer_announced') === 'ask') await this.#ask(destination, asker);
  }

  async #ask(destination: TransferDestination, asker: TransferAsker): Promise<void> {
    const about = { transfer_id: randomUUID(), destination_id: destination.id };
    const startedAt = this.#clock.monotonic();
    this.#emit('transfer', { ...about, phase: 'begun' });
    const result = await this.#connect(about.transfer_id, destination);
    this.#ringingMs += Math.round(this.#clock.monotonic() - startedAt);
    if (result.returns) {
      // Of the failure, the control plane tells, which has it from the carrier.
      if (this.#phase.on('transfer_returns') === 'wait_for_return') this.#events.onReturns();
      return;
    }
    const answer = this.#phase.on(result.ok ? 'transfer_bridged' : 'transfer_failed');
    if (answer === 'drop') return;
    if (answer === 'end') {
      this.#emit('transfer', { ...about, phase: 'bridged' });
      this.#events.onBridged();
      return;
    }
    const code = result.code ?? 'failed';
    this.#emit('transfer', { ...about, phase: 'failed', code });
    asker.onFailed?.(code);
    if (answer === 'far_end_left') {
      this.#events.onLost();
      return;
    }
    failTransfer(destination, this.#prompt, this.#events, asker);
  }

  /** @returns the outcome; the carrier is not asked to dial a number that is not allowed (`target_not_allowed`) */
  async #connect(transferId: string, destination: TransferDestination): Promise<TransferResult> {
    const args = this.#targets.argsOf(destination, transferId);
    if (!args) return { ok: false, code: 'target_not_allowed' };
    return destination.mode === 'warm' ? this.#warm.run(destination, args) : this.#blind.run(args);
  }
}

/** Does what a destination says is to follow when it cannot be reached. */
export function failTransfer(
  { id, failure_message, on_failure }: TransferDestination,
  prompt: PromptTexts,
  events: TransferFailure,
  { onReturned: goOn }: TransferAsker,
): void {
  const note = `The transfer to ${id} failed.`;
  const message = failure_message === '' ? undefined : prompt.render(failure_message);
  if (on_failure === 'return') events.onReturned(note, message, goOn);
  else if (on_failure === 'voicemail') events.onMessageWanted(message);
  else events.onGivenUp({ ended_by: 'agent', hangup_reason: 'agent_hangup' }, note, message);
}
