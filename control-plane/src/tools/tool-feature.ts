import { INTERNAL_PATHS } from '@parley/shared/contracts/addresses';
import { toolCallAnswer, toolCallRequest } from '@parley/shared/contracts/tool-calls';
import { createToolRunner } from '@parley/shared/tools/webhook-tool';
import type { Feature } from '../composition/feature.ts';
import { namedRecords } from '../composition/search-source.ts';
import type { Platform } from '../composition/platform.ts';
import { defineOperation, idSchema, jsonBody } from '../http/operation.ts';
import { McpConnections } from './mcp-connections.ts';
import { McpTools } from './mcp-tools.ts';
import { SessionToolCalls } from './session-tool-calls.ts';
import { ToolFunctions } from './tool-functions.ts';
import { toolCollection } from './tool-model.ts';
import { toolRoutes } from './tool-routes.ts';
import { toolRunCollection } from './tool-run-model.ts';
import { toolSample } from './tool-sample.ts';
import { TOOL_AUDIT, ToolService } from './tool-service.ts';

type ToolDeps = ConstructorParameters<typeof ToolService>[0] & ConstructorParameters<typeof ToolFunctions>[0];
type RunDeps = ConstructorParameters<typeof SessionToolCalls>[0];

export function createTools({
  config,
  safeFetch,
  logger,
  sessions,
  ...deps
}: Omit<ToolDeps, 'outboundAllow' | 'runner' | 'mcp'> &
  Pick<RunDeps, 'sessions' | 'agents'> &
  Pick<Platform, 'config' | 'safeFetch' | 'logger'>) {
  const runner = createToolRunner({ safeFetch, logger, clock: deps.clock });
  const connections = new McpConnections({ safeFetch, clock: deps.clock });
  const mcp = new McpTools({ connections, clock: deps.clock });
  const tools = new ToolService({ ...deps, outboundAllow: config.OUTBOUND_ALLOW });
  const functions = new ToolFunctions({ ...deps, runner, mcp });
  const toolCalls = new SessionToolCalls({ ...deps, sessions, tools: functions });
  return {
    tools: functions,
    owns: [connections],
    collections: [toolCollection, toolRunCollection],
    searches: [namedRecords('tool', toolCollection, { list: 'listTools' })],
    routes: toolRoutes({ ...deps, tools, functions }),
    internalRoutes: [
      defineOperation({
        ...{ tag: 'internal', access: 'internal', described: false, rateLimited: false },
        id: 'runSessionTool',
        method: 'POST',
        path: INTERNAL_PATHS.toolCalls('{session_id}') as '/internal/v1/sessions/{session_id}/tool-calls',
        summary: 'Run a tool of a call',
        body: jsonBody(toolCallRequest),
        responses: { 200: { description: 'What the tool did', schema: toolCallAnswer } },
        handle: ({ params, body, signal }) => toolCalls.run(params.session_id, body, signal),
      }),
    ],
    parameters: { tool_id: idSchema('tol') },
    erases: { session: (id) => toolCalls.erase(id) },
    audit: TOOL_AUDIT,
    samples: [toolSample],
  } satisfies Feature & { tools: ToolFunctions };
}
