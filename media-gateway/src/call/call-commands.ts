import type { TransferDestination } from '@parley/shared/contracts/agent-config';
import { COMMAND_ARGS, type GatewayCommand } from '@parley/shared/contracts/commands';
import type { CallEndReason } from '@parley/shared/contracts/session-values';
import type { z } from 'zod';
import type { WaitingTexts } from './waiting-texts.ts';
import type { PhaseOfCall } from './call-phase.ts';
import type { CarrierRequests } from './carrier-requests.ts';
import type { PromptTexts } from './prompt.ts';
import type { Transcript } from './transcript.ts';

/** What commands do to the call. */
export interface CommandedCall {
  end(reason: CallEndReason): void;
  /** Says the message, then ends; instead of what is being said. */
  endWith(reason: CallEndReason, message: string): void;
  /** An event came, and is noted. */
  event(name: string): void;
  /** The carrier thinks that somebody, or a machine, has answered. */
  carrierVerdict(verdict: z.output<typeof COMMAND_ARGS.answer_verdict>): void;
  /** Somebody follows the call. @param until ms since the epoch */
  watch(until: number): void;
  /** How a call went to whom the caller is to be transferred to. */
  consultResult(result: z.output<typeof COMMAND_ARGS.consult_result>): void;
  /** What became of a transfer that the carrier has taken. */
  transferResult(result: z.output<typeof COMMAND_ARGS.transfer_result>): void;
  /** @returns the code word of the refusal, if refused */
  transfer(destination: TransferDestination): string | undefined;
}

/** Commands to a call that come from outside, over the control plane. */
export class CallCommands {
  readonly #destinations: () => readonly TransferDestination[];
  readonly #phase: PhaseOfCall;
  readonly #variables: Record<string, string>;
  readonly #prompt: PromptTexts;
  readonly #transcript: Transcript;
  readonly #carrier: CarrierRequests;
  readonly #texts: WaitingTexts;
  readonly #call: CommandedCall;

  /** @param deps.destinations whom the caller can be transferred to */
  constructor(deps: {
    destinations: () => readonly TransferDestination[];
    phase: PhaseOfCall;
    variables: Record<string, string>;
    prompt: PromptTexts;
    transcript: Transcript;
    carrier: CarrierRequests;
    texts: WaitingTexts;
    call: CommandedCall;
  }) {
    this.#destinations = deps.destinations;
    this.#phase = deps.phase;
    this.#variables = deps.variables;
    this.#prompt = deps.prompt;
    this.#transcript = deps.transcript;
    this.#carrier = deps.carrier;
    this.#texts = deps.texts;
    this.#call = deps.call;
  }

  /**
   * @returns a code word when the command cannot be done, undefined when it was taken
   * @throws ZodError when its arguments do not fit
   */
  run(command: GatewayCommand): string | undefined {
    switch (command.type) {
      case 'end': {
        const refused = refusal(this.#phase.on('end'));
        if (refused !== undefined) return refused;
        const { message, ...args } = COMMAND_ARGS.end.parse(command.args);
        const reason = args as CallEndReason;
        if (message === undefined) this.#call.end(reason);
        else this.#call.endWith(reason, message);
        return undefined;
      }
      case 'say': {
        const refused = refusal(this.#phase.on('say'));
        return refused ?? this.#say(COMMAND_ARGS.say.parse(command.args).text);
      }
      case 'event': {
        const refused = refusal(this.#phase.on('event'));
        return refused ?? this.#onEvent(command);
      }
      case 'transfer': {
        // A hand-over to another agent is refused where a transfer is.
        const refused = refusal(this.#phase.answerTo('transfer'));
        if (refused !== undefined) return refused;
        const args = COMMAND_ARGS.transfer.parse(command.args);
        const destination =
          'destination' in args
            ? args.destination
            : this.#destinations().find(({ id }) => id === args.destination_id);
        return destination ? this.#call.transfer(destination) : 'unknown_destination';
      }
      case 'carrier_result': {
        const refused = refusal(this.#phase.on('carrier_result'));
        if (refused !== undefined) return refused;
        const args = COMMAND_ARGS.carrier_result.parse(command.args);
        this.#carrier.onResult(args.command_id, args);
        return undefined;
      }
      case 'consult_result': {
        const refused = refusal(this.#phase.on('carrier_result'));
        if (refused !== undefined) return refused;
        this.#call.consultResult(COMMAND_ARGS.consult_result.parse(command.args));
        return undefined;
      }
      case 'transfer_result': {
        const refused = refusal(this.#phase.on('carrier_result'));
        if (refused !== undefined) return refused;
        this.#call.transferResult(COMMAND_ARGS.transfer_result.parse(command.args));
        return undefined;
      }
      case 'answer_verdict': {
        const refused = refusal(this.#phase.on('answer_verdict'));
        if (refused !== undefined) return refused;
        this.#call.carrierVerdict(COMMAND_ARGS.answer_verdict.parse(command.args));
        return undefined;
      }
      case 'watch':
        this.#call.watch(Date.parse(COMMAND_ARGS.watch.parse(command.args).until));
        return undefined;
      case 'report_stored':
        return undefined;
    }
  }

  /** Takes an event from outside: the model learns of it even when its text cannot be said. */
  #onEvent(command: GatewayCommand): string | undefined {
    const { name, variables, say } = COMMAND_ARGS.event.parse(command.args);
    Object.assign(this.#variables, variables);
    this.#transcript.note(`Event: ${name}${variables ? ` ${JSON.stringify(variables)}` : ''}`);
    this.#call.event(name);
    if (say === undefined) return undefined;
    return refusal(this.#phase.on('say')) ?? this.#say(say);
  }

  /** Says a text after the present utterance. @returns the code word of the refusal, if refused */
  #say(text: string): string | undefined {
    return this.#texts.add(this.#prompt.render(text)) ? undefined : 'too_many_waiting';
  }
}

/** The code word of a refusal; undefined when the request was taken. */
export function refusal<Code extends string>(answer: Code): Exclude<Code, 'take'> | undefined {
  return answer === 'take' ? undefined : (answer as Exclude<Code, 'take'>);
}
