import type { TransferDestination } from '@parley/shared/contracts/agent-config';
import { randomUUID } from 'node:crypto';
import type { HandOverRequest } from '@parley/shared/contracts/hand-over';
import type { Emit } from '../reporting/call-reporter.ts';
import type { AgentSpeech } from '../speech/agent-speech.ts';
import { announce } from './announcement.ts';
import type { CallClock } from './call-clock.ts';
import type { PhaseOfCall } from './call-phase.ts';
import type { AgentSource, NextAgent } from './call.ts';
import type { PromptTexts } from './prompt.ts';
import { failTransfer, type TransferAsker, type TransferFailure } from './transfer.ts';

/** How long the caller waits for another agent before it counts as not to be had. */
const PATIENCE_MS = 5000;

/** Told to an agent that takes a call over. */
export const TAKEN_OVER =
  'You have taken this call over from another agent just now. Go on where it stands: the caller need not repeat anything.';
/** As `TAKEN_OVER`, for an agent that is told nothing, or little, of what was said. */
export const TAKEN_OVER_ANEW = 'You have taken this call over from another agent just now.';

/** How much of the conversation another agent is told. */
export type PassedHistory = HandOverRequest['pass_history'];

/** Whom a call is to be handed over to, and what they get of it. */
export interface HandOverOrder {
  agentId: string;
  /** Of the agent's config or a transfer node; undefined: nothing is said of it, and who has wanted it goes on. */
  destination?: TransferDestination;
  passVariables: boolean;
  passHistory: PassedHistory;
}

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
  onChanged(next: NextAgent, passed: Passed): void;
}

/** What another agent gets of a call. */
export type Passed = Pick<HandOverRequest, 'handover_id' | 'pass_variables' | 'pass_history' | 'summary'>;

/** The conversation that is handed over. */
export interface HandedTalk {
  nextTurnIndex(): number;
  /** In a few sentences, for another agent; empty when there are none in time. Never rejects. */
  summary(): Promise<string>;
}

/** Hands the call over to another agent, which goes on with it: the caller stays on the line and is heard all along. */
export class AgentHandOver {
  readonly #agents: AgentSource;
  readonly #talk: HandedTalk;
  readonly #prompt: PromptTexts;
  readonly #clock: CallClock;
  readonly #phase: PhaseOfCall;
  readonly #signal: AbortSignal;
  readonly #emit: Emit;
  readonly #events: HandOverEvents;

  constructor(deps: {
    agents: AgentSource;
    talk: HandedTalk;
    prompt: PromptTexts;
    clock: CallClock;
    phase: PhaseOfCall;
    /** Aborts when the call is over. */
    signal: AbortSignal;
    emit: Emit;
    events: HandOverEvents;
  }) {
    this.#agents = deps.agents;
    this.#talk = deps.talk;
    this.#prompt = deps.prompt;
    this.#clock = deps.clock;
    this.#phase = deps.phase;
    this.#signal = deps.signal;
    this.#emit = deps.emit;
    this.#events = deps.events;
  }

  /** Hands over once what is being said was heard. Resolves when that has worked or failed, or does not matter any more. */
  async run(order: HandOverOrder, speech: AgentSpeech, asker: TransferAsker = {}): Promise<void> {
    const { agentId, destination } = order;
    const isDue = () => this.#phase.phase === 'changing_agent';
    const summing = order.passHistory === 'summary' ? this.#talk.summary() : '';
    await announce(this.#prompt.render(destination?.announce_to_caller ?? ''), speech, isDue);
    const summary = await summing;
    if (!isDue()) return;
    const about = {
      handover_id: randomUUID(),
      ...(destination && { destination_id: destination.id }),
      agent_id: agentId,
    };
    this.#emit('handover', { ...about, phase: 'begun' });
    const passed: Passed = {
      handover_id: about.handover_id,
      ...{ pass_variables: order.passVariables, pass_history: order.passHistory, summary },
    };
    const from_index = this.#talk.nextTurnIndex();
    const next = await this.#take({ agent_id: agentId, from_index, ...passed });
    if (this.#phase.on('agent_changed') === 'drop') return;
    if (typeof next !== 'string') {
      this.#emit('handover', { ...about, phase: 'done', version: next.part.agent.version });
      this.#events.onChanged(next, passed);
      return;
    }
    this.#emit('handover', { ...about, phase: 'failed', code: next });
    asker.onFailed?.(next);
    if (destination) failTransfer(destination, this.#prompt, this.#events, asker);
    else
      this.#events.onReturned(
        'Another agent was to go on with the call, and could not.',
        undefined,
        asker.onReturned,
      );
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
