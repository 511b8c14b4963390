import { z } from 'zod';
import {
  anyOf,
  commonFilter,
  equalities,
  listOf,
  listQuery,
  queryBoolean,
  toPage,
} from '../http/list-query.ts';
import { defineOperation, idSchema, type Operation } from '../http/operation.ts';
import { recordFields, toTimes } from '../http/record-schema.ts';
import { inProject } from '../tenancy/target.ts';
import { toolCallCollection } from './tool-call-model.ts';
import type { ToolCallRecord } from './tool-call-model.ts';

const toolCallResponse = z
  .object({
    id: z.string().meta({ example: 'evt_01k5z8r5m2q7v3x9b4n6c8d0ef' }),
    session_id: z.string(),
    agent_id: z.string().nullable(),
    tool_id: z
      .string()
      .nullable()
      .meta({ description: 'Null for built-in tools and for tools of a realtime client.' }),
    tool_name: z.string(),
    tool_call_id: z.string().meta({ description: 'The id that the language model gave this call.' }),
    arguments: z
      .string()
      .nullable()
      .meta({ description: 'The arguments as the model wrote them; truncated when long.' }),
    kind: z
      .string()
      .nullable()
      .meta({ description: 'Who runs the tool: webhook, mcp, app, built_in or client.', example: 'webhook' }),
    ok: z.boolean().nullable().meta({ description: 'Null until the tool has answered.' }),
    outcome: z.string().nullable().meta({
      description:
        'succeeded, failed, timed_out, declined (the caller said no), unconfirmed (no clear yes), cancelled (the call ended or was transferred first) or refused. Null until the tool has answered.',
      example: 'succeeded',
    }),
    status: z.number().int().nullable().meta({ description: 'HTTP status of a webhook.' }),
    code: z.string().nullable(),
    result: z
      .string()
      .nullable()
      .meta({ description: 'The output as the model got it; truncated when long.' }),
    duration_ms: z.number().nullable(),
    offset_ms: z.number().int().meta({ description: 'Milliseconds since the call was answered.' }),
    ...recordFields,
  })
  .meta({ id: 'ToolCall' });

/** What tools did in the sessions of a project. */
export function toolCallRoutes(): Operation[] {
  return [
    defineOperation({
      id: 'listToolCalls',
      method: 'GET',
      path: '/v1/orgs/{org_id}/projects/{project_id}/tool-calls',
      tag: 'Logs',
      summary: 'List tool calls',
      description: 'Tool calls of all sessions of the project; written while the sessions run.',
      access: { key: 'viewer', user: 'viewer' },
      target: inProject,
      query: listQuery({
        filters: {
          tool_id: anyOf(idSchema('tol')).optional(),
          agent_id: anyOf(idSchema('agt')).optional(),
          ok: queryBoolean.optional(),
        },
      }),
      responses: { 200: { description: 'A page of tool calls', schema: listOf(toolCallResponse) } },
      handle: async ({ scope, query }) => {
        const { tool_id, agent_id, ok } = query;
        const page = await scope
          .collection(toolCallCollection)
          .page({ ...commonFilter(query), ...equalities({ tool_id, agent_id, ok }) }, query);
        return toPage(page, toToolCallResponse);
      },
    }),
  ];
}

function toToolCallResponse(call: ToolCallRecord): z.input<typeof toolCallResponse> {
  return {
    id: call._id,
    session_id: call.session_id,
    agent_id: call.agent_id,
    tool_id: call.tool_id,
    tool_name: call.tool_name,
    tool_call_id: call.tool_call_id,
    arguments: call.arguments,
    kind: call.kind,
    ok: call.ok,
    outcome: call.outcome,
    status: call.status,
    code: call.code,
    result: call.result,
    duration_ms: call.duration_ms,
    offset_ms: call.offset_ms,
    ...toTimes(call),
  };
}
