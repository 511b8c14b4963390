import { createToolRunner } from '@parley/shared/tools/webhook-tool';
import type { Feature } from '../composition/feature.ts';
import type { Platform } from '../composition/platform.ts';
import { idSchema } from '../http/operation.ts';
import { toolCollection } from './tool-model.ts';
import { toolRoutes } from './tool-routes.ts';
import { toolSample } from './tool-sample.ts';
import { TOOL_AUDIT, ToolService } from './tool-service.ts';

type ToolDeps = ConstructorParameters<typeof ToolService>[0];

export function createTools({
  config,
  safeFetch,
  logger,
  ...deps
}: Omit<ToolDeps, 'outboundAllow' | 'runner'> & Pick<Platform, 'config' | 'safeFetch' | 'logger'>) {
  const runner = createToolRunner({ safeFetch, logger, clock: deps.clock });
  const tools = new ToolService({ ...deps, outboundAllow: config.OUTBOUND_ALLOW, runner });
  return {
    tools,
    collections: [toolCollection],
    routes: toolRoutes({ tools }),
    parameters: { tool_id: idSchema('tol') },
    audit: TOOL_AUDIT,
    samples: [toolSample],
  } satisfies Feature & { tools: ToolService };
}
