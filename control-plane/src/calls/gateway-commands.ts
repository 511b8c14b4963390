import type { z } from 'zod';
import type { Bus } from '@parley/shared/bus/bus';
import { COMMAND_ARGS, type CommandType } from '@parley/shared/contracts/commands';
import { UnavailableError } from '@parley/shared/errors/app-error';
import { sortableId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';

/** How long a command waits to be taken before it is dropped. */
const COMMAND_LIFE_MS = 30_000;

/** Sends commands to the gateway that holds a session. */
export class GatewayCommands {
  readonly #bus: Bus;
  readonly #clock: Clock;

  constructor({ bus, clock }: { bus: Bus; clock: Clock }) {
    this.#bus = bus;
    this.#clock = clock;
  }

  /** @returns the command's id @throws UnavailableError when the bus can't be reached */
  async send<T extends CommandType>(
    target: { gatewayId: string; sessionId: string },
    type: T,
    args: z.input<(typeof COMMAND_ARGS)[T]>,
  ): Promise<string> {
    const commandId = `cmd_${sortableId(this.#clock.now())}`;
    const command = {
      v: 1,
      command_id: commandId,
      session_id: target.sessionId,
      type,
      args: COMMAND_ARGS[type].parse(args) as Record<string, unknown>,
      expires_at: new Date(this.#clock.now() + COMMAND_LIFE_MS).toISOString(),
    } as const;
    try {
      await this.#bus.commands.send(target.gatewayId, command);
    } catch (cause) {
      throw new UnavailableError(
        'The media gateway of this call cannot be reached. Retry in a few seconds.',
        { cause },
      );
    }
    return commandId;
  }
}
