import { backoffMs } from '../async/backoff.ts';
import { sleep } from '../async/timeout.ts';
import type { PlanTool } from '../contracts/session-plan.ts';
import { OutboundFailedError, OutboundRefusedError } from '../http/outbound-errors.ts';
import type { SafeFetch, SafeRequest, SafeResponse } from '../http/safe-fetch.ts';
import { SIGNATURE_HEADER, signWebhook, standardWebhooksHeaders } from '../http/webhook-signature.ts';
import type { Logger } from '../logging/logger.ts';
import { systemClock } from '../time/clock.ts';
import type { Clock } from '../time/clock.ts';
import type { ToolCall, ToolOutcome, ToolRunner } from './tool-runner.ts';
import { fillJson, fillText, fillUrl, toText, valueAt } from './tool-template.ts';
import type { TemplateValues } from './tool-template.ts';

type Webhook = NonNullable<PlanTool['webhook']>;
/** What a tool came to. */
export type ToolResult = Omit<ToolOutcome, 'durationMs'>;

const MAX_VARIABLE_CHARACTERS = 4096;
const RETRY_BACKOFF = { firstMs: 200, maxMs: 1000 };
const FORM = 'application/x-www-form-urlencoded';

/** Runs webhook tools. The time of a tool covers all its tries. */
export function createToolRunner(options: {
  safeFetch: SafeFetch;
  logger: Logger;
  clock?: Clock;
}): ToolRunner {
  const { safeFetch, logger, clock = systemClock } = options;

  async function run(tool: PlanTool, call: ToolCall, signal: AbortSignal): Promise<ToolOutcome> {
    signal.throwIfAborted();
    const startedMs = clock.monotonic();
    const result = await attempt(tool, call, signal);
    const durationMs = Math.round(clock.monotonic() - startedMs);
    const { ok, status, code } = result;
    logger.info(
      { tool: tool.name, toolCallId: call.toolCallId, ok, status, code, durationMs },
      'tool finished',
    );
    return { ...result, durationMs };
  }

  async function attempt(tool: PlanTool, call: ToolCall, signal: AbortSignal): Promise<ToolResult> {
    if (tool.type !== 'webhook' || !tool.webhook) {
      return failure('unsupported', `The tool ${tool.name} cannot be run here.`);
    }
    const args = parseArguments(call.arguments);
    if (!args)
      return failure('invalid_arguments', 'The arguments are not a JSON object. Call the tool again.');
    const request = toRequest(tool.name, tool.webhook, call, args);
    if (!request) return failure('invalid_arguments', 'The arguments do not fit the URL of the tool.');
    return requestTool({ safeFetch, clock }, tool, request, call, signal);
  }

  return { run };
}

/** A tool's request as it goes out. */
export type ToolRequest = Pick<SafeRequest, 'url' | 'body'> & {
  method: Webhook['method'];
  headers: Readonly<Record<string, string>>;
};

/**
 * Makes the request of a tool, and makes it again as often as the tool's `retries` allow and it is safe. The tool's time
 * covers all tries.
 * @param request as of a time, which a signature may hold
 * @throws the reason of `signal`; other failures are outcomes
 */
export async function requestTool(
  { safeFetch, clock }: { safeFetch: Pick<SafeFetch, 'request'>; clock: Clock },
  tool: PlanTool,
  request: (nowMs: number) => ToolRequest,
  { orgId, allow = [] }: Pick<ToolCall, 'orgId' | 'allow'>,
  signal: AbortSignal,
): Promise<ToolResult> {
  const { timeout_ms: timeoutMs, retries } = tool.execution;
  const deadlineMs = clock.monotonic() + timeoutMs;
  for (let retry = 0; ; retry += 1) {
    let result: ToolResult;
    let again: boolean;
    let method: Webhook['method'] | undefined;
    try {
      const sent = request(clock.now());
      method = sent.method;
      const response = await safeFetch.request({
        ...sent,
        timeoutMs: Math.max(1, deadlineMs - clock.monotonic()),
        signal,
        purpose: 'tool',
        orgId,
        allow,
      });
      result = toResult(tool, response);
      again = method === 'GET' && (response.status >= 500 || response.status === 429);
    } catch (error) {
      signal.throwIfAborted();
      result = toFailure(error, timeoutMs);
      // What may have been done must not be done twice.
      again =
        error instanceof OutboundFailedError &&
        error.code !== 'timeout' &&
        (error.unsent || method === 'GET');
    }
    const waitMs = backoffMs(retry, RETRY_BACKOFF);
    if (!again || retry >= retries || clock.monotonic() + waitMs >= deadlineMs) return result;
    await sleep(waitMs, signal);
  }
}

/** @returns undefined for what is no JSON object */
export function parseArguments(given: unknown): Record<string, unknown> | undefined {
  let value = given;
  if (typeof given === 'string') {
    try {
      value = JSON.parse(given.trim() === '' ? '{}' : given);
    } catch {
      return undefined;
    }
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return value as Record<string, unknown>;
}

/** @returns the request as of a time, which its signature holds; undefined when its address would be another */
function toRequest(name: string, webhook: Webhook, call: ToolCall, args: Record<string, unknown>) {
  const { session, toolCallId } = call;
  const values: TemplateValues = {
    arguments: args,
    variables: session.variables,
    session: { ...session, tool_call_id: toolCallId },
  };
  const headers: Record<string, string> = {};
  for (const [header, value] of Object.entries(webhook.headers))
    headers[header.toLowerCase()] = value.reveal();

  const url = toUrl(webhook, values);
  if (url === undefined) return undefined;
  let body: string | undefined;
  if (webhook.method !== 'GET') {
    headers['content-type'] ??= 'application/json';
    body =
      webhook.body_template === undefined
        ? JSON.stringify({ tool_call_id: toolCallId, tool: name, arguments: args, session })
        : fillBody(webhook.body_template, headers['content-type'], values);
  }
  return (nowMs: number) => ({
    url,
    method: webhook.method,
    headers: { ...headers, ...authHeaders(webhook.auth, toolCallId, body ?? '', nowMs) },
    ...(body === undefined ? {} : { body }),
  });
}

function fillBody(template: string, contentType: string, values: TemplateValues): string {
  if (contentType.startsWith(FORM)) return fillUrl(template, values);
  return contentType.includes('json') ? fillJson(template, values) : fillText(template, values);
}

/**
 * Scheme and host are taken as they stand; a placeholder there fits no address.
 * @returns undefined when a value such as `..` would lead out of the path that was meant
 */
function toUrl(webhook: Webhook, values: TemplateValues): string | undefined {
  const [, origin = '', rest = ''] = /^([a-z]+:\/\/[^/?#]*)(.*)$/is.exec(webhook.url) ?? [];
  const filled = origin + fillUrl(rest, values);
  if (!URL.canParse(filled)) return filled;
  const url = new URL(filled);
  const path = /^[^?#]*/.exec(filled.slice(origin.length))![0] || '/';
  if (url.pathname.split('/').length !== path.split('/').length) return undefined;
  if (webhook.query_template) {
    for (const [name, template] of Object.entries(webhook.query_template)) {
      url.searchParams.append(name, fillText(template, values));
    }
  } else if (webhook.method === 'GET') {
    // There is no body to hold them.
    for (const [name, value] of Object.entries(values.arguments))
      url.searchParams.append(name, toText(value));
  }
  return url.href;
}

/** The headers that prove who a request is from. @param body as it is sent: `hmac` signs it */
export function authHeaders(
  auth: Webhook['auth'],
  toolCallId: string,
  body: string,
  nowMs: number,
): Record<string, string> {
  switch (auth.type) {
    case 'none':
      return {};
    case 'bearer':
      return { authorization: `Bearer ${auth.token.reveal()}` };
    case 'basic': {
      const pair = Buffer.from(`${auth.username}:${auth.password.reveal()}`).toString('base64');
      return { authorization: `Basic ${pair}` };
    }
    case 'header':
      return { [auth.name.toLowerCase()]: auth.value.reveal() };
    case 'hmac': {
      const secret = auth.secret.reveal();
      return {
        [SIGNATURE_HEADER.toLowerCase()]: signWebhook(secret, body, nowMs),
        ...standardWebhooksHeaders([secret], toolCallId, body, nowMs),
      };
    }
  }
}

/** What an answer of the tool comes to. */
export function toResult(
  tool: PlanTool,
  response: Pick<SafeResponse, 'status' | 'headers' | 'body'>,
): ToolResult {
  const { status } = response;
  const text = bodyText(response);
  if (status < 200 || status > 299) {
    const said = text ? `: ${cut(text, tool.response.max_characters)}` : '.';
    return { ...failure('http_error', `The tool answered with status ${status}${said}`), status };
  }
  if (text === undefined) {
    return { ...failure('not_text', 'The tool answered with content that is not text.'), status };
  }
  const content = cut(text, tool.response.max_characters);
  return { ok: true, content: content || 'Done.', status, assigned: assign(tool, text) };
}

/** @returns undefined for what is no text */
function bodyText({ headers, body }: Pick<SafeResponse, 'headers' | 'body'>): string | undefined {
  const type = headers['content-type'] ?? '';
  if (body.length > 0 && type !== '' && !/^text\/|json|xml|urlencoded|javascript/i.test(type))
    return undefined;
  return body
    .toString()
    .replace(/\ufffd$/, '')
    .trim();
}

function assign(tool: PlanTool, text: string): Record<string, string> {
  const assigned: Record<string, string> = {};
  if (tool.response.assign.length === 0) return assigned;
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return assigned;
  }
  for (const { path, name } of tool.response.assign) {
    const value = valueAt(json, path);
    if (value === undefined || value === null) continue;
    assigned[name] = cut(toText(value), MAX_VARIABLE_CHARACTERS);
  }
  return assigned;
}

function toFailure(error: unknown, timeoutMs: number): ToolResult {
  if (error instanceof OutboundRefusedError) {
    return failure(error.code, 'The URL of the tool is not allowed.');
  }
  if (error instanceof OutboundFailedError) {
    const said =
      error.code === 'timeout'
        ? `The tool did not answer within ${timeoutMs} ms.`
        : 'The tool could not be reached.';
    return failure(error.code, said);
  }
  return failure('broken', 'The tool could not be run.');
}

function failure(code: string, content: string): ToolResult {
  return { ok: false, code, content, assigned: {} };
}

/** At most `max` UTF-16 units, and no half character at the end. */
function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  return text.slice(0, max).replace(/[\ud800-\udbff]$/, '');
}
