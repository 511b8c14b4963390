import { z } from 'zod';
import { RESERVED_TOOL_NAMES } from '@parley/shared/contracts/built-in-tools';
import { findAction, openParameters } from '../app-connections/app-catalog.ts';
import { tenantJsonSchema } from '../http/json-schema.ts';
import { idSchema } from '../http/operation.ts';
import { patchOf } from '../http/patch-schema.ts';
import { recordFields, toTimes } from '../http/record-schema.ts';
import { maskedSecret, variablesSchema } from '../http/value-schemas.ts';
import type { McpFunction, ToolApp, ToolRecord } from './tool-model.ts';

const secret = z.string().min(1).max(4096);
const headerName = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,128}$/, 'must be a valid header name that is not reserved');
const headerValue = z
  .string()
  .max(4096)
  .regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'contains characters that are not allowed in a header');
/** What a client has read stays as it is when it is sent back. */
const kept = z.strictObject({ set: z.boolean(), last_four: z.string() });

const auth = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('none') }),
  z.strictObject({ type: z.literal('bearer'), token: z.union([secret, kept]) }),
  z.strictObject({
    type: z.literal('basic'),
    username: z.string().max(255),
    password: z.union([secret, kept]),
  }),
  z.strictObject({ type: z.literal('header'), name: headerName, value: z.union([headerValue, kept]) }),
  z.strictObject({ type: z.literal('hmac'), secret: z.union([secret, kept]) }),
]);

const webhookShape = {
  url: z
    .url({ protocol: /^https?$/ })
    .max(2048)
    .refine((url) => !/^[^/]*\/\/[^/?#]*[{}]/.test(url), 'must not have a placeholder in its host')
    .meta({ example: 'https://example.com/orders/{{order_id}}' }),
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
  headers: z.record(headerName, z.union([headerValue, kept])),
  auth,
  body_template: z.string().max(20_000).nullable(),
  query_template: z.record(z.string().min(1).max(128), z.string().max(2048)).nullable(),
};

const webhook = z.strictObject({
  ...webhookShape,
  method: webhookShape.method.default('POST'),
  headers: webhookShape.headers.default({}),
  auth: auth.default({ type: 'none' }),
  body_template: webhookShape.body_template.default(null),
  query_template: webhookShape.query_template.default(null),
});

const mcpShape = {
  url: z
    .url({ protocol: /^https?$/ })
    .max(2048)
    .meta({ example: 'https://mcp.example.com/mcp' }),
  transport: z.enum(['streamable_http', 'sse']).meta({ description: 'How the server is spoken to.' }),
  headers: webhookShape.headers,
  auth,
  allowed_tools: z
    .array(z.string().min(1).max(256))
    .max(128)
    .nullable()
    .meta({ description: 'Tools of the server that agents may use, by its own names; null: all.' }),
};
const mcp = z.strictObject({
  ...mcpShape,
  transport: mcpShape.transport.default('streamable_http'),
  headers: webhookShape.headers.default({}),
  auth: auth.default({ type: 'none' }),
  allowed_tools: mcpShape.allowed_tools.default(null),
});

const MAX_FIXED_BYTES = 16_384;

const appShape = {
  connection_id: idSchema('apc').meta({
    description: 'Connection of the app.',
    example: 'apc_01k5z8r5m2q7v3x9b4n6c8d0ef',
  }),
  action: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,63}$/)
    .meta({
      description: 'What the app does: an action of its entry in the catalogue.',
      example: 'find_slots',
    }),
  fixed_arguments: z
    .record(z.string().min(1).max(64), z.unknown())
    .refine(
      (value) => Buffer.byteLength(JSON.stringify(value)) <= MAX_FIXED_BYTES,
      `must be at most ${MAX_FIXED_BYTES} bytes`,
    )
    .meta({ example: {} }),
};
const app = z.strictObject({ ...appShape, fixed_arguments: appShape.fixed_arguments.default({}) });

export type ToolAppInput = z.output<typeof app>;

/** What a webhook and an MCP server have in common. */
export type ToolEndpointInput = Pick<z.output<typeof webhook>, 'url' | 'headers' | 'auth'>;

const executionShape = {
  mode: z.enum(['sync', 'async']),
  timeout_ms: z.number().int().min(500).max(60_000),
  retries: z.number().int().min(0).max(3),
  say_before: z.string().max(500),
  confirm: z.boolean(),
};
const execution = z.strictObject({
  mode: executionShape.mode.default('sync'),
  timeout_ms: executionShape.timeout_ms.default(8000),
  retries: executionShape.retries.default(0),
  say_before: executionShape.say_before.default(''),
  confirm: executionShape.confirm.default(false),
});

const assignment = z.strictObject({ path: z.string().min(1).max(200), name: z.string().min(1).max(64) });
const responseShape = {
  max_characters: z.number().int().min(100).max(20_000),
  assign: z.array(assignment).max(50),
};
const response = z.strictObject({
  max_characters: responseShape.max_characters.default(4000),
  assign: responseShape.assign.default([]),
});

const name = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,63}$/, 'must be a function name: a-z, 0-9 and _')
  .refine((word) => !RESERVED_TOOL_NAMES.has(word), 'must not be the name of a built-in tool')
  .meta({ example: 'look_up_order' });
const description = z.string().min(1).max(1024);

const common = {
  name,
  description,
  execution: execution.prefault({}),
  response: response.prefault({}),
  enabled: z.boolean().default(true),
};
const owned = { project_id: idSchema('prj').nullable().optional() };

export const createToolRequest = z
  .discriminatedUnion('type', [
    z.strictObject({
      ...common,
      ...owned,
      type: z.literal('webhook'),
      parameters: tenantJsonSchema,
      webhook,
    }),
    z.strictObject({ ...common, ...owned, type: z.literal('mcp'), mcp }),
    z.strictObject({ ...common, ...owned, type: z.literal('app'), app }),
  ])
  .meta({ id: 'CreateToolRequest' });

export const patchToolRequest = patchOf({ ...common, parameters: tenantJsonSchema, webhook, mcp, app }, [
  'parameters',
]).meta({ id: 'PatchToolRequest' });

export const testToolRequest = z
  .strictObject({
    arguments: z
      .record(z.string(), z.unknown())
      .default({})
      .meta({ description: 'Arguments, as the model would give them.', example: {} }),
    variables: variablesSchema.default({}),
    function: z
      .string()
      .min(1)
      .max(256)
      .optional()
      .meta({ description: 'Which tool of an MCP server, by its own name. Required for one.' }),
  })
  .meta({ id: 'TestToolRequest' });

export const toolTestResponse = z
  .object({
    ok: z.boolean().meta({ description: 'Whether the tool succeeded.' }),
    status: z.number().int().nullable().meta({ description: 'HTTP status of the answer; null without one.' }),
    result: z
      .string()
      .nullable()
      .meta({ description: 'What the model would be told; null after a failure.' }),
    error: z
      .object({
        code: z.string(),
        message: z.string().meta({ description: 'What the model would be told.' }),
      })
      .nullable()
      .meta({ description: 'Why the tool failed; null when it succeeded.' }),
    duration_ms: z.number().int().meta({ description: 'How long the tool took, in milliseconds.' }),
  })
  .meta({ id: 'ToolTest' });

export const TOOL_READ_ONLY = ['id', 'org_id', 'created_at', 'updated_at'] as const;
/** What never changes once it is there. */
export const TOOL_FIXED = [...TOOL_READ_ONLY, 'project_id', 'type'] as const;

const maskedAuth = z.discriminatedUnion('type', [
  z.object({ type: z.literal('none') }),
  z.object({ type: z.literal('bearer'), token: maskedSecret }),
  z.object({ type: z.literal('basic'), username: z.string(), password: maskedSecret }),
  z.object({ type: z.literal('header'), name: z.string(), value: maskedSecret }),
  z.object({ type: z.literal('hmac'), secret: maskedSecret }),
]);

export const toolResponse = z
  .object({
    id: z.string().meta({ example: 'tol_01k5z8r5m2q7v3x9b4n6c8d0ef' }),
    org_id: z.string(),
    project_id: z.string().nullable().meta({ description: 'Null: all projects of the org.' }),
    name: z.string(),
    description: z.string(),
    type: z.enum(['webhook', 'mcp', 'app']),
    parameters: z.record(z.string(), z.unknown()),
    webhook: z
      .object({
        url: z.string(),
        method: webhookShape.method,
        headers: z.record(z.string(), maskedSecret),
        auth: maskedAuth,
        body_template: z.string().nullable(),
        query_template: z.record(z.string(), z.string()).nullable(),
      })
      .nullable(),
    mcp: z
      .object({
        url: z.string(),
        transport: mcpShape.transport,
        headers: z.record(z.string(), maskedSecret),
        auth: maskedAuth,
        allowed_tools: z.array(z.string()).nullable(),
        discovered: z
          .array(
            z.object({
              name: z.string().meta({ description: "The server's own name of the tool." }),
              description: z.string().meta({ description: 'What it does, in the words of the server.' }),
              parameters: z.record(z.string(), z.unknown()),
            }),
          )
          .meta({ description: 'Tools that the server had when it was last asked.' }),
      })
      .nullable()
      .meta({ description: 'The MCP server; null for other types.' }),
    app: z
      .object({
        connection_id: z.string().meta({ description: 'Connection of the app.' }),
        action: z.string().meta({ description: 'What the app does.' }),
        fixed_arguments: z.record(z.string(), z.unknown()),
      })
      .nullable()
      .meta({ description: 'What of which app; null for other types.' }),
    execution: z.object(executionShape),
    response: z.object({ max_characters: z.number().int(), assign: z.array(z.object(assignment.shape)) }),
    enabled: z.boolean(),
    ...recordFields,
  })
  .meta({ id: 'Tool' });

export function toToolResponse(tool: ToolRecord): z.infer<typeof toolResponse> {
  return {
    id: tool._id,
    org_id: tool.org_id,
    project_id: tool.project_id,
    name: tool.name,
    description: tool.description,
    type: tool.type,
    parameters: (tool.app && appParameters(tool.app)) ?? jsonObject(tool.parameters),
    webhook: tool.webhook,
    mcp: tool.mcp && { ...tool.mcp, discovered: JSON.parse(tool.mcp.discovered) as McpFunction[] },
    app: tool.app && {
      connection_id: tool.app.connection_id,
      action: tool.app.action,
      fixed_arguments: jsonObject(tool.app.fixed_arguments),
    },
    execution: tool.execution,
    response: tool.response,
    enabled: tool.enabled,
    ...toTimes(tool),
  };
}

/** The JSON Schema of what the model is asked for; undefined when the catalogue has the action no more. */
export function appParameters({
  app,
  action,
  fixed_arguments,
}: ToolApp): Record<string, unknown> | undefined {
  const found = findAction(app, action);
  return found && { ...openParameters(found, jsonObject(fixed_arguments)) };
}

function jsonObject(text: string): Record<string, unknown> {
  return JSON.parse(text) as Record<string, unknown>;
}
