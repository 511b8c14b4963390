import type { z } from 'zod';
import type { COMMAND_ARGS } from '@parley/shared/contracts/commands';

/** Reaches the gateway that holds a session. */
export interface SessionGateways {
  /** @returns the command's id @throws UnavailableError when the gateway can't be reached */
  send<T extends 'end' | 'event' | 'transfer'>(
    target: { gatewayId: string; sessionId: string },
    type: T,
    args: z.input<(typeof COMMAND_ARGS)[T]>,
  ): Promise<string>;
}
