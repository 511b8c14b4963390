import { createHash } from 'node:crypto';
import type { McpTool } from './mcp-connections.ts';
import type { McpFunction } from './tool-model.ts';

const MAX_TOOLS = 128;
const MAX_SCHEMA_BYTES = 16_384;
const MAX_ALL_BYTES = 262_144;
const MAX_NAME = 64;
const MAX_DESCRIPTION = 1024;

/** What is kept of a server's tools: those that the language model can be told, as many as there is room for. */
export function boundedFunctions(tools: readonly McpTool[]): McpFunction[] {
  const kept: McpFunction[] = [];
  let bytes = 0;
  for (const { name, description, inputSchema } of tools) {
    if (kept.length === MAX_TOOLS) break;
    if (name === '' || name.length > 256 || kept.some((one) => one.name === name)) continue;
    if (!isObjectSchema(inputSchema)) continue;
    const size = Buffer.byteLength(JSON.stringify(inputSchema));
    if (size > MAX_SCHEMA_BYTES || bytes + size > MAX_ALL_BYTES) continue;
    bytes += size;
    kept.push({
      name,
      description: (description ?? name).slice(0, MAX_DESCRIPTION),
      parameters: inputSchema,
    });
  }
  return kept;
}

/**
 * The name by which the language model calls a server's tool: `<tool>_<its name>`, in lower case, with an underscore for
 * everything but letters and digits. What is longer than 64 characters, or taken, ends in eight characters of a digest.
 */
export function functionName(tool: string, name: string, taken: ReadonlySet<string>): string {
  const whole = `${tool}_${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_')}`;
  if (whole.length <= MAX_NAME && !taken.has(whole)) return whole;
  const digest = createHash('sha256').update(`${tool} ${name}`).digest('hex').slice(0, 8);
  return `${whole.slice(0, MAX_NAME - 9)}_${digest}`;
}

function isObjectSchema(schema: unknown): schema is Record<string, unknown> {
  return typeof schema === 'object' && schema !== null && (schema as { type?: unknown }).type === 'object';
}
