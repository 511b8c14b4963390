import type { Feature } from '../composition/feature.ts';
import type { Platform } from '../composition/platform.ts';
import { idSchema } from '../http/operation.ts';
import { LimitUse } from './limit-use.ts';
import { OutboundLimits } from './outbound-limits.ts';
import { rateLimitCollection } from './rate-limit-model.ts';
import { rateLimitRoutes } from './rate-limit-routes.ts';
import { rateLimitSample } from './rate-limit-sample.ts';
import { RateLimitService, type LimitTargets } from './rate-limit-service.ts';
import { ToolCallLimits } from './tool-call-limits.ts';

export function createRateLimits({
  config,
  bus,
  logger,
  ...deps
}: Pick<Platform, 'bus' | 'clock' | 'config' | 'database' | 'logger'> & { targets: LimitTargets }) {
  const rateLimits = new RateLimitService({
    ...deps,
    maximum: {
      api_requests: 0,
      session_starts: config.SESSION_STARTS_PER_MINUTE,
      concurrent_sessions: config.CONCURRENT_SESSIONS_PER_ORG,
      tool_calls: 0,
      outbound_dials: config.OUTBOUND_CALLS_PER_SECOND * 60,
      concurrent_outbound: config.CONCURRENT_SESSIONS_PER_ORG,
    },
  });
  const outboundLimits = new OutboundLimits({ limits: rateLimits, bus, clock: deps.clock, logger });
  const toolCallLimits = new ToolCallLimits({
    limits: rateLimits,
    rates: bus.rates,
    clock: deps.clock,
    logger,
  });
  return {
    rateLimits,
    outboundLimits,
    toolCallLimits,
    collections: [rateLimitCollection],
    routes: rateLimitRoutes({ rateLimits, use: new LimitUse({ bus, logger }) }),
    parameters: { config_id: idSchema('rlc') },
    samples: [rateLimitSample],
  } satisfies Feature & {
    rateLimits: RateLimitService;
    outboundLimits: OutboundLimits;
    toolCallLimits: ToolCallLimits;
  };
}
