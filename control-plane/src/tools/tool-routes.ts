import { z } from 'zod';
import type { AuditLog } from '../audit/audit-trail.ts';
import { anyOf, listOf, listQuery, queryBoolean, toPage } from '../http/list-query.ts';
import { defineOperation, idSchema, jsonBody, patchBody } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { inOrg, item } from '../tenancy/target.ts';
import { toolCollection } from './tool-model.ts';
import {
  createToolRequest,
  patchToolRequest,
  testToolRequest,
  TOOL_FIXED,
  TOOL_READ_ONLY,
  toolResponse,
  toolTestResponse,
  toToolResponse,
} from './tool-schema.ts';
import type { ToolFunctions } from './tool-functions.ts';
import type { TOOL_AUDIT, ToolService } from './tool-service.ts';

const tool = item(toolCollection, 'tool_id');
const tag = 'Tools';

export function toolRoutes({
  tools,
  functions,
  audit,
}: {
  tools: ToolService;
  functions: ToolFunctions;
  audit: AuditLog<(typeof TOOL_AUDIT)[number]>;
}): Operation[] {
  return [
    defineOperation({
      id: 'listTools',
      method: 'GET',
      path: '/v1/orgs/{org_id}/tools',
      tag,
      summary: 'List tools',
      access: { key: 'viewer', user: 'viewer' },
      target: inOrg,
      query: listQuery({
        sortable: ['name'],
        q: true,
        filters: {
          type: anyOf(z.enum(['webhook', 'mcp', 'app'])).optional(),
          project_id: anyOf(idSchema('prj')).optional(),
          enabled: queryBoolean.optional(),
        },
      }),
      responses: { 200: { description: 'A page of tools', schema: listOf(toolResponse) } },
      handle: async ({ scope, query }) => toPage(await tools.list(scope, query), toToolResponse),
    }),
    defineOperation({
      id: 'createTool',
      method: 'POST',
      path: '/v1/orgs/{org_id}/tools',
      tag,
      summary: 'Create a tool',
      access: { key: 'editor', user: 'editor' },
      target: inOrg,
      body: jsonBody(createToolRequest, { readOnly: TOOL_READ_ONLY }),
      responses: { 201: { description: 'The tool', schema: toolResponse } },
      errors: [409],
      idempotent: {},
      handle: async ({ scope, caller, body, address }) =>
        toToolResponse(await tools.create(scope, caller, body, { address })),
    }),
    defineOperation({
      id: 'getTool',
      method: 'GET',
      path: '/v1/tools/{tool_id}',
      tag,
      summary: 'Get a tool',
      access: { key: 'viewer', user: 'viewer' },
      target: tool,
      responses: { 200: { description: 'The tool', schema: toolResponse } },
      handle: ({ item: found }) => toToolResponse(found),
    }),
    defineOperation({
      id: 'updateTool',
      method: 'PATCH',
      path: '/v1/tools/{tool_id}',
      tag,
      summary: 'Update a tool',
      access: { key: 'editor', user: 'editor' },
      target: tool,
      body: patchBody(patchToolRequest, { readOnly: TOOL_FIXED }),
      responses: { 200: { description: 'The tool', schema: toolResponse } },
      errors: [409],
      handle: async ({ scope, caller, item: found, body, address }) =>
        toToolResponse(await tools.update(scope, caller, found, body, { address })),
    }),
    defineOperation({
      id: 'deleteTool',
      method: 'DELETE',
      path: '/v1/tools/{tool_id}',
      tag,
      summary: 'Delete a tool',
      access: { key: 'editor', user: 'editor' },
      target: tool,
      responses: { 204: { description: 'Deleted' } },
      errors: [409],
      handle: ({ scope, caller, item: found, address }) => tools.delete(scope, caller, found, { address }),
    }),
    defineOperation({
      id: 'testTool',
      method: 'POST',
      path: '/v1/tools/{tool_id}/test',
      tag,
      summary: 'Test a tool',
      description:
        'Runs the tool once, as a call would, and tells what the model would be told. It acts: what it books is booked. Secrets of the tool are taken out of the answer.',
      access: { key: 'editor', user: 'editor' },
      target: tool,
      body: jsonBody(testToolRequest),
      responses: { 200: { description: 'What the tool did', schema: toolTestResponse } },
      handle: ({ item: found, body, signal }) => functions.test(found, body, signal),
    }),
    defineOperation({
      id: 'discoverTools',
      method: 'POST',
      path: '/v1/tools/{tool_id}/discover',
      tag,
      summary: 'Read the tools of an MCP server',
      description:
        'Asks the server which tools it has and keeps at most 128 of them, with schemas of at most 16 KiB each and 256 KiB in all. Sessions that start from then on have the allowed ones.',
      access: { key: 'editor', user: 'editor' },
      target: tool,
      responses: { 200: { description: 'The tool', schema: toolResponse } },
      errors: [409, 502],
      async handle({ scope, caller, item: found, address, signal }) {
        const discovered = await functions.discover(scope, found, signal);
        await audit.record({ scope, caller, address, action: 'tool.discovered', target: found._id });
        return toToolResponse(discovered);
      },
    }),
  ];
}
