import { z } from 'zod';
import { createDocument } from 'zod-openapi';
import type {
  ZodOpenApiObject,
  ZodOpenApiOperationObject,
  ZodOpenApiPathsObject,
  ZodOpenApiResponsesObject,
} from 'zod-openapi';
import { addExamples } from './openapi-examples.ts';
import { addFieldTexts } from './openapi-fields.ts';
import { validationExample } from './openapi-validation.ts';
import { contentTypesOf } from './read-body.ts';
import { parameterNames, pathParameter } from './operation.ts';
import type { BodySpec, Operation } from './operation.ts';

/** Version of the description (and of the interface's own text, not of the software). */
export const DESCRIPTION_VERSION = '0.1.0';

const validationError = z
  .object({
    detail: z.array(
      z
        .object({
          loc: z.array(z.union([z.string(), z.number().int()])),
          msg: z.string(),
          type: z.string(),
        })
        .meta({ id: 'ValidationError' }),
    ),
  })
  .meta({
    id: 'HTTPValidationError',
    example: { detail: [{ loc: ['body', 'name'], msg: 'Field required', type: 'missing' }] },
  });

/** What says that a request failed. */
export const errorBody = z
  .object({
    detail: z.string().meta({ description: 'Message for a person.' }),
    code: z.string().meta({ description: 'Stable code for a program; codes may be added.' }),
    request_id: z.string(),
    refs: z.array(z.object({ type: z.string(), id: z.string(), name: z.string() })).optional(),
  })
  .meta({
    id: 'Error',
    example: {
      detail: 'Resource not found.',
      code: 'not_found',
      request_id: 'req_01k5z8r5m2q7v3x9b4n6c8d0ef',
    },
  });

const ERROR_TEXTS: Record<number, string> = {
  400: 'The body does not match its content type',
  401: 'Missing, wrong or expired credentials',
  402: 'The wallet is empty',
  403: 'The caller lacks permission',
  404: 'The resource does not exist, or belongs to another tenant',
  409: 'The current state does not allow this',
  413: 'The body exceeds the size limit',
  415: 'The content type is not supported',
  416: 'The requested range is outside the file',
  422: 'Validation error',
  429: 'Too many requests',
  500: 'Internal error',
  502: 'A carrier, model or app failed',
  503: 'The service is starting or stopping, or a dependency is down',
  504: 'A carrier, model or app did not answer in time',
};

/** What the operations of a tag are about. */
const TAG_TEXTS: Readonly<Record<string, string>> = {
  'API keys': 'Keys of a project, for programs.',
  'Agent tests': 'Conversations that an agent must pass.',
  Agents: 'What answers: prompt, models, voice, tools; each change is a version.',
  Analyses: 'Questions about a call that is over.',
  'Audit trail': 'Who did what in an org, and when.',
  'App connections': 'Accounts at other services, for tools.',
  Description: 'This document.',
  'Feature flags': 'What an org has switched off.',
  Health: 'Whether the service lives and can take work.',
  Imports: 'Files that are read behind the answer, and what was wrong with them.',
  Inbound: 'Which agent answers which number.',
  'Knowledge bases': 'What agents may look things up in.',
  Logs: 'Transcripts, events, metrics and tool calls of sessions.',
  Me: 'Whose credential this is.',
  Media: 'Recordings, by signed links.',
  Members: 'People of an org, and invites.',
  Memories: 'What an agent knows about a caller.',
  Orgs: 'Organisations, each with its projects and members.',
  Phones: 'Telephone numbers.',
  Projects: 'Parts of an org; agents, keys and calls belong to one.',
  Providers: 'Models, and credentials for those who serve them.',
  'Rate limits': 'Limits that an org sets itself.',
  Realtime: 'Tokens for one connection to an agent.',
  Search: 'Any record of an org, by name, number or id.',
  Sessions: 'Conversations, from their creation to their report.',
  'Sign-in': 'Accounts of people, and their tokens.',
  Statistics: 'What calls were like, by day.',
  'Telephony accounts': 'Accounts at carriers.',
  Tools: 'What agents can do besides talking.',
  Voices: 'Voices of the catalogue, and clones.',
  Webhooks: 'Requests to and from other systems.',
  'carrier-callbacks': 'Called by carriers, signed by them.',
};

/** The OpenAPI 3.1 document of these operations. Reads no state: their services may be missing. */
export function describeOperations(operations: readonly Operation[], options: { url: string }) {
  const paths: ZodOpenApiPathsObject = {};
  const seen = new Set<string>();
  for (const operation of operations) {
    if (operation.described === false || operation.access === 'internal') continue;
    if (seen.has(operation.id)) throw new Error(`Two operations are called ${operation.id}.`);
    seen.add(operation.id);
    const item = (paths[operation.path] ??= {}) as Record<string, ZodOpenApiOperationObject>;
    item[operation.method.toLowerCase()] = describe(operation);
  }
  const tags = [...new Set(operations.filter((o) => o.described !== false).map((o) => o.tag))];
  const document: ZodOpenApiObject = {
    openapi: '3.1.0',
    info: {
      title: 'Parley voice agent platform',
      version: DESCRIPTION_VERSION,
      description: 'Configurable voice agents over the web and the telephone.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: options.url }],
    tags: tags.map((name) => ({ name, description: TAG_TEXTS[name] ?? name })),
    paths,
    components: {
      headers: HEADERS as never,
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'A project API key, `sk-svc-…`.' },
        userToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'A signed-in user.' },
      },
    },
  };
  const described = createDocument(document, {
    // The format says it: the patterns behind it are a page long.
    override: ({ jsonSchema }) => {
      if (jsonSchema.format === 'date-time' || jsonSchema.format === 'uuid') delete jsonSchema.pattern;
      // Of every integer; the bounds of JavaScript's numbers are no rule of ours.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  addFieldTexts(described as unknown as Record<string, unknown>);
  addExamples(described as unknown as Record<string, unknown>);
  return described;
}

function describe(operation: Operation): ZodOpenApiOperationObject {
  const names = parameterNames(operation.path);
  const path = z.object(Object.fromEntries(names.map((name) => [name, pathParameter(operation, name)])));
  const bodies = operation.body === undefined ? [] : ([operation.body].flat() as BodySpec<unknown>[]);
  const { access, idempotent } = operation;
  const header = (idempotent || operation.requestHeaders) && {
    header: z.object({
      ...(idempotent && {
        'Idempotency-Key': (idempotent.required ? idempotencyKey : idempotencyKey.optional()) as z.ZodType,
      }),
      ...operation.requestHeaders,
    }),
  };
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    ...(operation.description !== undefined && { description: operation.description }),
    security:
      typeof access !== 'object'
        ? []
        : [...(access.key ? [{ apiKey: [] }] : []), ...(access.user ? [{ userToken: [] }] : [])],
    requestParams: {
      ...(names.length > 0 && { path }),
      ...(operation.query && { query: operation.query }),
      ...header,
    },
    ...(bodies.length > 0 && {
      requestBody: {
        required: bodies.some((body) => !('optional' in body && body.optional)),
        content: Object.fromEntries(
          bodies.flatMap((body) => {
            const types = contentTypesOf(body);
            const schema =
              'schema' in body ? named(body.schema, operation.id, 'Request') : (body.described ?? binary);
            const bytes = schema === binary ? 'application/octet-stream' : 'application/json';
            return (types.length === 0 ? [bytes] : types).map((type) => [type, { schema }]);
          }),
        ),
      },
    }),
    responses: describeResponses(operation),
    ...(typeof access === 'object' && {
      'x-required-role': {
        ...(access.key && { api_key: access.key }),
        ...(access.user && { user: access.user }),
      },
    }),
  };
}

const idempotencyKey = z.string().min(1).max(255).meta({
  description: 'A request with the same key and body within 24 hours returns the first response again.',
});

/** A body's schema under a name of its own, so that generated clients have one for it. */
function named(schema: z.ZodType, operationId: string, what: 'Request' | 'Response'): z.ZodType {
  if (schema.meta()?.['id'] !== undefined) return schema;
  return schema.meta({ id: `${operationId[0]!.toUpperCase()}${operationId.slice(1)}${what}` });
}

const jsonObject = z.record(z.string(), z.unknown()).meta({ id: 'JsonObject' });

const binary = z.string().meta({ format: 'binary' });

function describeResponses(operation: Operation): ZodOpenApiResponsesObject {
  const responses: Record<string, unknown> = {};
  for (const [status, response] of Object.entries(operation.responses)) {
    const type = response.contentType ?? 'application/json';
    const schema = response.schema
      ? named(response.schema, operation.id, 'Response')
      : response.contentType && binary;
    responses[status] = {
      description: response.description,
      headers: headersOf(operation, Number(status)),
      ...(schema && {
        content: {
          [type]: { schema },
          ...Object.fromEntries(
            (response.alsoAs ?? []).map((other) => [
              other,
              // Of lines of JSON it is what each line holds.
              { schema: other.includes('json') ? jsonObject : z.string() },
            ]),
          ),
        },
      }),
    };
  }
  for (const status of errorStatuses(operation)) {
    if (status in responses) continue;
    const schema = status === 422 ? validationError : errorBody;
    responses[String(status)] = {
      description: ERROR_TEXTS[status] ?? 'Error',
      headers: headersOf(operation, status),
      content: {
        'application/json': {
          schema,
          example: status === 422 ? { detail: validationExample(operation) } : errorExample(status),
        },
      },
    };
  }
  return responses as ZodOpenApiResponsesObject;
}

/** Headers of an answer, besides those of every HTTP response. */
function headersOf(operation: Operation, status: number): Record<string, { $ref: string }> {
  const names = [
    'X-Request-Id',
    ...(typeof operation.access === 'object' && operation.rateLimited !== false && status !== 401
      ? ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']
      : []),
    ...(status === 429 || status === 503 ? ['Retry-After'] : []),
    ...(operation.idempotent && (status < 300 || status === 422) ? ['Idempotency-Replayed'] : []),
  ];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

const HEADERS = {
  'X-Request-Id': { description: 'Names this request in the logs.', schema: { type: 'string' } },
  'RateLimit-Limit': { description: 'Requests that the tightest limit allows.', schema: { type: 'integer' } },
  'RateLimit-Remaining': { description: 'Requests that are left of it.', schema: { type: 'integer' } },
  'RateLimit-Reset': { description: 'Seconds until it starts anew.', schema: { type: 'integer' } },
  'Retry-After': { description: 'Seconds to wait before the next try.', schema: { type: 'integer' } },
  'Idempotency-Replayed': {
    description: '`true`: the first answer to this Idempotency-Key; secrets in it are null.',
    schema: { type: 'string', enum: ['true'] },
  },
} as const;

/** A code that this status comes with. */
const ERROR_CODES: Record<number, string> = {
  400: 'bad_request',
  401: 'unauthenticated',
  402: 'insufficient_balance',
  403: 'role_too_low',
  404: 'not_found',
  409: 'conflict',
  413: 'too_large',
  415: 'unsupported_media_type',
  416: 'range_not_satisfiable',
  429: 'rate_limited',
  500: 'internal',
  502: 'provider_error',
  503: 'unavailable',
  504: 'provider_timeout',
};

function errorExample(status: number) {
  return {
    detail: `${ERROR_TEXTS[status] ?? 'Error'}.`,
    code: ERROR_CODES[status] ?? 'error',
    request_id: 'req_01k5z8r5m2q7v3x9b4n6c8d0ef',
  };
}

/** Those that a request can bring about: a test brings about each of them for every operation. */
function errorStatuses(operation: Operation): number[] {
  const { access, body, query, idempotent } = operation;
  const statuses: number[] = [];
  const credentialed = typeof access === 'object';
  const inPath = operation.path.includes('{');
  const bodies = body === undefined ? [] : ([body].flat() as BodySpec<unknown>[]);
  // Whoever is asked for something has to look it up.
  if (operation.answersAlways !== true && (access !== 'public' || inPath || bodies.length > 0)) {
    statuses.push(500, 503);
  }
  if (credentialed) statuses.push(401);
  if (credentialed && mayBeForbidden(operation)) statuses.push(403);
  // Signed callbacks: an account that does not exist has signed nothing.
  if (access === 'carrier') statuses.push(400, 403);
  else if (inPath && access !== 'webhook') statuses.push(404);
  if (idempotent && bodies.length > 0) statuses.push(409);
  if (credentialed && writesInProject(operation)) statuses.push(409);
  if (credentialed || inPath || body !== undefined || query !== undefined) statuses.push(422);
  if (operation.rateLimited !== false) statuses.push(429);
  if (bodies.some((one) => one.kind === 'multipart')) statuses.push(400);
  if (bodies.some((one) => one.kind !== 'stream')) statuses.push(413);
  if (bodies.some((one) => contentTypesOf(one).length > 0)) statuses.push(415);
  return [...new Set([...statuses, ...(operation.errors ?? [])])].sort((a, b) => a - b);
}

/** A project may be archived. Its keys are worthless then: only users are told so. */
function writesInProject({ access, method, target, whenSuspended }: Operation): boolean {
  if (typeof access !== 'object' || !access.user || !target?.inProject) return false;
  return method !== 'GET' && whenSuspended !== true;
}

/** Reading is open to every member and key, unless a feature is switched off; anything else can be refused. */
function mayBeForbidden({ access, method, target, feature, errors, whenSuspended }: Operation): boolean {
  if (typeof access !== 'object') return false;
  const { key, user } = access;
  const open = key === 'viewer' && (user === 'viewer' || user === 'any');
  return (
    !open ||
    feature !== undefined ||
    (method !== 'GET' && target !== undefined && whenSuspended !== true) ||
    (errors ?? []).includes(403)
  );
}
