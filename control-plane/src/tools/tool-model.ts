import type { MaskedSecret } from '../crypto/secret-box.ts';
import { defineCollection } from '../storage/collection.ts';
import type { StoredRecord } from '../storage/collection.ts';

/** How a request proves who it is from; secrets as they may be shown. */
export type MaskedToolAuth =
  | { type: 'none' }
  | { type: 'bearer'; token: MaskedSecret }
  | { type: 'basic'; username: string; password: MaskedSecret }
  | { type: 'header'; name: string; value: MaskedSecret }
  | { type: 'hmac'; secret: MaskedSecret };

/** The same with the secrets themselves. */
export type ToolAuth =
  | { type: 'none' }
  | { type: 'bearer'; token: string }
  | { type: 'basic'; username: string; password: string }
  | { type: 'header'; name: string; value: string }
  | { type: 'hmac'; secret: string };

export interface ToolSecrets {
  headers: Record<string, string>;
  auth: ToolAuth;
}

/** A tool of an MCP server, as the server describes it. */
export interface McpFunction {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
}

interface ToolEndpoint {
  url: string;
  headers: Record<string, MaskedSecret>;
  auth: MaskedToolAuth;
}

export interface ToolWebhook extends ToolEndpoint {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  body_template: string | null;
  query_template: Record<string, string> | null;
}

export interface ToolMcp extends ToolEndpoint {
  transport: 'streamable_http' | 'sse';
  /** Null: all. */
  allowed_tools: string[] | null;
  /** `McpFunction[]` as JSON text: a schema has keys (`$ref`) that are no good field names. */
  discovered: string;
}

/** What a tool has an app do. */
export interface ToolApp {
  connection_id: string;
  /** Of the connection; it never has another. */
  app: string;
  action: string;
  /** Arguments that the model is not asked for, as JSON text. */
  fixed_arguments: string;
}

export interface ToolRecord extends StoredRecord {
  org_id: string;
  /** Null: every project of the org. */
  project_id: string | null;
  name: string;
  description: string;
  type: 'webhook' | 'mcp' | 'app';
  /** JSON text: a schema has keys (`$ref`) that are no good field names. */
  parameters: string;
  /** Of its type; the others are null. */
  webhook: ToolWebhook | null;
  mcp: ToolMcp | null;
  app: ToolApp | null;
  /** `ToolSecrets` as JSON, encrypted. */
  secrets: string;
  execution: {
    mode: 'sync' | 'async';
    timeout_ms: number;
    retries: number;
    say_before: string;
    confirm: boolean;
  };
  response: { max_characters: number; assign: { path: string; name: string }[] };
  enabled: boolean;
}

export const toolCollection = defineCollection<ToolRecord, 'shared'>({
  name: 'tools',
  tenancy: 'shared',
  fields: {
    name: { type: String, required: true },
    description: { type: String, required: true },
    type: { type: String, required: true },
    parameters: { type: String, required: true },
    webhook: { type: Object, default: null },
    mcp: { type: Object, default: null },
    app: { type: Object, default: null },
    secrets: { type: String, required: true },
    execution: { type: Object, required: true },
    response: { type: Object, required: true },
    enabled: { type: Boolean, required: true, default: true },
  },
  indexes: [
    [{ org_id: 1, project_id: 1, name: 1 }, { unique: true }],
    [{ org_id: 1, created_at: -1, _id: -1 }],
    [{ org_id: 1, 'app.connection_id': 1 }],
  ],
});
