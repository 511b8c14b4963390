import type { SessionPlanWire } from '@parley/shared/contracts/session-plan';
import { functionName } from './mcp-functions.ts';
import { appParameters } from './tool-schema.ts';
import type { McpFunction, ToolRecord, ToolSecrets } from './tool-model.ts';

export type WireTool = SessionPlanWire['tools'][number];

/**
 * The functions of tools, as session plans have them: one for a webhook and for an action of an app, one for each allowed
 * tool of a server.
 */
export function planTools(
  tools: readonly ToolRecord[],
  secretsOf: (tool: ToolRecord) => ToolSecrets,
): WireTool[] {
  const taken = new Set(tools.flatMap(({ type, name }) => (type === 'mcp' ? [] : [name])));
  return tools.flatMap((tool): WireTool[] => {
    const common = { tool_id: tool._id, type: tool.type, execution: tool.execution, response: tool.response };
    if (tool.webhook) {
      const { url, method, body_template: body, query_template: query } = tool.webhook;
      return [
        {
          ...common,
          name: tool.name,
          description: tool.description,
          parameters: JSON.parse(tool.parameters) as Record<string, unknown>,
          webhook: {
            url,
            method,
            ...secretsOf(tool),
            ...(body !== null && { body_template: body }),
            ...(query !== null && { query_template: query }),
          },
        },
      ];
    }
    if (tool.app) {
      const parameters = appParameters(tool.app);
      const { name, description } = tool;
      return parameters ? [{ ...common, name, description, parameters, function: tool.app.action }] : [];
    }
    return allowedFunctions(tool).map(({ name, description, parameters }) => {
      const called = functionName(tool.name, name, taken);
      taken.add(called);
      return { ...common, name: called, description, parameters, function: name };
    });
  });
}

/** What a server has, of that what is allowed. */
export function allowedFunctions({ mcp }: ToolRecord): McpFunction[] {
  if (!mcp) return [];
  const all = JSON.parse(mcp.discovered) as McpFunction[];
  return mcp.allowed_tools === null ? all : all.filter(({ name }) => mcp.allowed_tools!.includes(name));
}
