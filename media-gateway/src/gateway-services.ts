import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { CallRegistry } from './sessions/call-registry.ts';
import type { RefusedCredentials } from './sessions/refused-credentials.ts';
import type { SessionSource } from './sessions/session-source.ts';

/** What a way into the gateway needs: who may come in, and where the calls are. */
export interface GatewayServices {
  source: SessionSource;
  refused: RefusedCredentials;
  registry: CallRegistry;
  gatewayId: string;
  clock: Clock;
  logger: Logger;
}
