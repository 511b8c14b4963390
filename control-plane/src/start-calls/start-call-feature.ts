import type { Feature } from '../composition/feature.ts';
import type { Platform } from '../composition/platform.ts';
import { IncomingCallsWebhook } from './incoming-calls-webhook.ts';
import type { WebhookSecrets } from './incoming-calls-webhook.ts';
import { startCallRoutes } from './start-call-routes.ts';
import { startCallSample } from './start-call-sample.ts';
import { StartCalls } from './start-call-service.ts';

type StartCallDeps = ConstructorParameters<typeof StartCalls>[0];

export function createStartCalls(
  deps: Pick<Platform, 'bus' | 'clock' | 'database' | 'idempotency' | 'logger'> &
    Omit<StartCallDeps, 'site'> & { secrets: WebhookSecrets },
) {
  const startCalls = new StartCalls({ ...deps, site: deps });
  const incomingCalls = new IncomingCallsWebhook({ ...deps, calls: startCalls });
  return {
    startCalls,
    routes: startCallRoutes({ startCalls, incomingCalls }),
    samples: [startCallSample],
  } satisfies Feature & { startCalls: StartCalls };
}
