import { randomUUID } from 'node:crypto';
import type { HandOverRequest } from '@parley/shared/contracts/hand-over';
import type { Emit } from '../reporting/call-reporter.ts';
import type { AgentSpeech } from '../speech/agent-speech.ts';
import { announce } from './announcement.ts';
import type { CallClock } from './call-clock.ts';
import type { PhaseOfCall } from './call-phase.ts';
import type { TransferDestination } from './call-tools.ts';
import type { AgentSource, NextAgent } from './call.ts';
import type { PromptTexts } from './prompt.ts';
import { failTransfer, type TransferFailure } from './transfer.ts';

/** How long the caller waits for another agent before it counts as not to be had. */
const PATIENCE_MS = 5000;

/** Told to an agent that takes a call over. */
export const TAKEN_OVER =
  'You have taken this call over from another agent just now. Go on where it stands: the caller need not repeat anything.';

/** The control plane refuses a hand-over. */
export class HandOverError extends Error {
  /** A word for programs. */
  readonly code: string;

  constructor(code: string, options?: ErrorOptions) {
    super(`The control plane refused a hand-over: ${code}.`, options);
    this.name = 'HandOverError';
    this.code = code;
  }
}

export interface HandOverEvents extends TransferFailure {
  /** The other agent is there: from now on the call is its. */
  onChanged(next: NextAgent): void;
}

/** Hands the call over to another agent, which goes on with it: the caller stays on the line and is heard all along. */
export class AgentHandOver {
  readonly #agents: AgentSource;
  readonly #nextTurnIndex: () => number;
  readonly #prompt: PromptTexts;
  readonly #clock: CallClock;
  readonly #phase: PhaseOfCall;
  readonly #signal: AbortSignal;
  readonly #emit: Emit;
  readonly #events: HandOverEvents;

  constructor(deps: {
    agents: AgentSource;
    nextTurnIndex: () => number;
    prompt: PromptTexts;
    clock: CallClock;
    phase: PhaseOfCall;
    /** Aborts when the call is over. */
    signal: AbortSignal;
    emit: Emit;
    events: HandOverEvents;
  }) {
    this.#agents = deps.agents;
    this.#nextTurnIndex = deps.nextTurnIndex;
    this.#prompt = deps.prompt;
    this.#clock = deps.clock;
    this.#phase = deps.phase;
    this.#signal = deps.signal;
    this.#emit = deps.emit;
    this.#events = deps.events;
  }

  /**
   * Hands over once what is being said was heard. Resolves when that has worked or failed, or does not matter any more.
   * @param onFailed told before anything else comes of a failure
   */
  async run(
    destination: TransferDestination,
    agentId: string,
    speech: AgentSpeech,
    onFailed?: (code: string) => void,
  ): Promise<void> {
    const isDue = () => this.#phase.phase === 'changing_agent';
    await announce(this.#prompt.render(destination.announce_to_caller), speech, isDue);
    if (!isDue()) return;
    const about = { handover_id: randomUUID(), destination_id: destination.id, agent_id: agentId };
    this.#emit('handover', { ...about, phase: 'begun' });
    const next = await this.#take({
      handover_id: about.handover_id,
      agent_id: agentId,
      from_index: this.#nextTurnIndex(),
      pass_variables: true,
    });
    if (this.#phase.on('agent_changed') === 'drop') return;
    if (typeof next !== 'string') {
      this.#emit('handover', { ...about, phase: 'done', version: next.part.agent.version });
      this.#events.onChanged(next);
      return;
    }
    this.#emit('handover', { ...about, phase: 'failed', code: next });
    onFailed?.(next);
    failTransfer(destination, this.#prompt, this.#events);
  }

  /** @returns the code of what went wrong */
  async #take(request: HandOverRequest): Promise<NextAgent | string> {
    const late = Promise.withResolvers<string>();
    const abort = new AbortController();
    const timer = this.#clock.setTimeout(() => {
      abort.abort(new Error('The other agent took too long.'));
      late.resolve('timeout');
    }, PATIENCE_MS);
    try {
      return await Promise.race([
        this.#agents.take(request, AbortSignal.any([this.#signal, abort.signal])),
        late.promise,
      ]);
    } catch (error) {
      return error instanceof HandOverError ? error.code : 'unavailable';
    } finally {
      timer.cancel();
    }
  }
}
