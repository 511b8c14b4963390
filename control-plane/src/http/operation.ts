import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { z } from 'zod';
import { idPattern } from '@parley/shared/ids/new-id';
import type { IdPrefix } from '@parley/shared/ids/new-id';
import type { Logger } from '@parley/shared/logging/logger';
import type { Access } from '../tenancy/access.ts';
import type { Principal } from '../tenancy/principal.ts';
import type { Role } from '../tenancy/roles.ts';
import type { Scope } from '../tenancy/scope.ts';
import type { Target } from '../tenancy/target.ts';

/**
 * Who may call: with an API key of at least role `key`, or as a user with at least role `user` in the target's
 * org (`any`: signed in is enough). A kind that is left out is refused with 403. `public` takes no credential;
 * `carrier` and `webhook` ones are checked by their handler against a signature; `internal` is a gateway.
 */
export type OperationAccess =
  { key?: Exclude<Role, 'owner'>; user?: Role | 'any' } | 'public' | 'carrier' | 'webhook' | 'internal';

export interface ResponseSpec {
  description: string;
  /** JSON by default; absent for an empty body. */
  schema?: z.ZodType;
  /** For bodies that are not JSON, such as `audio/wav`. */
  contentType?: string;
  /** Content types of text, of any JSON object, or of lines of them, that the answer may have instead. */
  alsoAs?: readonly string[];
}

/** A body the operation reads. Several kinds may be offered; the request's content type chooses. */
export interface JsonBody<T> {
  kind: 'json';
  schema: z.ZodType<T>;
  /** No body counts as `{}`. */
  optional: boolean;
  /** Fields a client may send back as it read them: they are dropped. */
  readOnly: readonly string[];
  /** At least one field is needed (PATCH). */
  atLeastOne: boolean;
  limitBytes: number;
}
export interface FormBody<T> {
  kind: 'form';
  schema: z.ZodType<T>;
  atLeastOne: boolean;
  limitBytes: number;
}
export interface MultipartBody<T> {
  kind: 'multipart';
  /** Over text fields as strings and files as `File`; a repeated name gives an array. */
  schema: z.ZodType<T>;
  limitBytes: number;
}
export interface RawBody {
  kind: 'raw';
  contentTypes: readonly string[];
  limitBytes: number;
  /** JSON that is described; without it, bytes. The handler checks it. */
  described?: z.ZodType;
}
export interface StreamBody {
  kind: 'stream';
  contentTypes: readonly string[];
  /** What is described; without it, bytes. The handler checks it. */
  described?: z.ZodType;
}
export type BodySpec<T> = JsonBody<T> | FormBody<T> | MultipartBody<T> | RawBody | StreamBody;

export const JSON_LIMIT_BYTES = 1_048_576;

export function jsonBody<T>(
  schema: z.ZodType<T>,
  options: Partial<Pick<JsonBody<T>, 'optional' | 'readOnly' | 'atLeastOne' | 'limitBytes'>> = {},
): JsonBody<T> {
  return {
    kind: 'json',
    schema,
    optional: false,
    readOnly: [],
    atLeastOne: false,
    limitBytes: JSON_LIMIT_BYTES,
    ...options,
  };
}

/** A PATCH body: all fields optional in `schema`, at least one of them sent. */
export function patchBody<T>(
  schema: z.ZodType<T>,
  options: { readOnly?: readonly string[] } = {},
): JsonBody<T> {
  return jsonBody(schema, { ...options, atLeastOne: true });
}

export function formBody<T>(schema: z.ZodType<T>, options: { atLeastOne?: boolean } = {}): FormBody<T> {
  return { kind: 'form', schema, atLeastOne: false, limitBytes: JSON_LIMIT_BYTES, ...options };
}

export function multipartBody<T>(schema: z.ZodType<T>, options: { limitBytes: number }): MultipartBody<T> {
  return { kind: 'multipart', schema, ...options };
}

/** The exact bytes, whatever they are: for signatures. The handler gets a `Buffer`. */
export function rawBody(options: Partial<Omit<RawBody, 'kind'>> = {}): RawBody {
  return { kind: 'raw', contentTypes: [], limitBytes: JSON_LIMIT_BYTES, ...options };
}

/** The request itself, unread and unlimited: the handler reads it. */
export function streamBody(
  options: { contentTypes?: readonly string[]; described?: z.ZodType } = {},
): StreamBody {
  return { kind: 'stream', contentTypes: [], ...options };
}

/** What a body spec hands to the handler. */
export type BodyOf<B> = B extends readonly (infer Each)[]
  ? BodyOf<Each>
  : B extends RawBody
    ? Buffer
    : B extends StreamBody
      ? IncomingMessage
      : B extends { schema: z.ZodType<infer T> }
        ? T
        : undefined;

/** `{name}` parts of a path. */
export type PathParams<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? { [K in Name | keyof PathParams<Rest>]: string }
  : object;

export interface OperationRequest<Params, Query, Body, Item, S> {
  params: Params;
  query: Query;
  body: Body;
  /** Bytes of the body as received; empty when there was none or it is a stream. */
  rawBody: Buffer;
  method: string;
  /** Path and query as received; carriers sign them. */
  url: string;
  headers: IncomingHttpHeaders;
  /** The caller. Reading it on an operation without credentials is a mistake and throws. */
  caller: Principal;
  /** What the caller may reach beyond the target: for flat routes whose project comes from the body. */
  access: Access;
  /** Data of the target's tenant; undefined without a target. */
  scope: S;
  /** The record named by the path, for `item` targets. */
  item: Item;
  requestId: string;
  /** Client address, behind trusted proxies the one they report. */
  address: string;
  log: Logger;
  /** Looks again whether the caller may do this, for answers that go on for long. @throws AppError as at first */
  permitAgain(): Promise<void>;
  /** Aborted when the client goes away. */
  signal: AbortSignal;
}

/** An answer with its own status, headers, or a body that is no JSON. */
export class HttpResponse<T = unknown> {
  readonly status: number;
  readonly body: T;
  readonly headers: Readonly<Record<string, string>>;
  /** The body again, for those who take it so. */
  readonly gzip: Buffer | undefined;

  constructor(status: number, body: T, headers: Record<string, string> = {}, gzip?: Buffer) {
    this.status = status;
    this.body = body;
    this.headers = headers;
    this.gzip = gzip;
  }
}

type SchemaOf<R> = R extends { schema: infer S extends z.ZodType } ? z.input<S> : undefined | void;
/** What a handler may return: the JSON of one of its responses, or a `HttpResponse`. */
export type ResultOf<R extends Record<number, ResponseSpec>> = SchemaOf<R[keyof R]> | HttpResponse;

type Bodies = BodySpec<unknown> | readonly BodySpec<unknown>[] | undefined;

export interface OperationDefinition<
  P extends string,
  Q extends z.ZodObject | undefined,
  B extends Bodies,
  R extends Record<number, ResponseSpec>,
  T extends Target<unknown, Scope | null> | undefined,
> {
  /** Unique, camelCase: the `operationId`. */
  id: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** As in the description: `/v1/agents/{agent_id}`. */
  path: P;
  tag: string;
  summary: string;
  description?: string;
  access: OperationAccess;
  /** Where the role is checked and what `scope` and `item` come from; answers for all ids in the path. */
  target?: T;
  /**
   * Where no credential says who may: looked at like a target, before query and body.
   * @throws NotFoundError, ForbiddenError, TooManyRequestsError
   */
  admit?(request: { params: PathParams<P>; headers: IncomingHttpHeaders; address: string }): Promise<void>;
  /** Schemas of path parameters that are its own; those of a `Feature` are filled in for all its users. */
  params?: Partial<Record<string, z.ZodType<string>>>;
  query?: Q;
  body?: B;
  /** Successful ones. The lowest status answers a handler that returns no `HttpResponse`. */
  responses: R;
  /** Statuses besides the standard errors, such as 402 or 409. */
  errors?: readonly number[];
  /** Request headers that the handler reads, for the description. */
  requestHeaders?: Readonly<Record<string, z.ZodType>>;
  /** Accepts `Idempotency-Key`; fields named in `secrets` are null in a replay. */
  idempotent?: { required?: boolean; secrets?: readonly string[] };
  /** Part of the description: false for pages and internal routes. Default true. */
  described?: boolean;
  /** Reads and changes that stay possible in a suspended org. Default: GET. */
  whenSuspended?: boolean;
  /** The answer does not depend on the outcome of the work behind it: neither 500 nor 503. */
  answersAlways?: boolean;
  /** Whether the request limit of the caller applies. Default true. */
  rateLimited?: boolean;
  /** Whether limits hold that the org has set itself. Default true; false where they are changed. */
  ownLimits?: boolean;
  /** A feature flag that switches the route off. */
  feature?: string;
  handle(
    request: OperationRequest<
      PathParams<P>,
      Q extends z.ZodType ? z.output<Q> : Record<string, never>,
      BodyOf<B>,
      T extends Target<infer Item, infer _> ? Item : undefined,
      T extends Target<unknown, infer S> ? S : undefined
    >,
  ): Promise<ResultOf<R>> | ResultOf<R>;
}

/** A route and its description, whatever its types. */
export type Operation = OperationDefinition<
  string,
  z.ZodObject | undefined,
  Bodies,
  Record<number, ResponseSpec>,
  Target<unknown, Scope | null> | undefined
>;

/**
 * What a path names is looked for before roles, query and body: 404 before 403 before 422. That holds because every
 * id in the path of an operation with a credential belongs to its target.
 */
function checkTarget(definition: Pick<Operation, 'id' | 'path' | 'access' | 'target'>): void {
  const last = parameterNames(definition.path).at(-1);
  if (typeof definition.access !== 'object' || last === definition.target?.parameter) return;
  throw new Error(
    last === undefined
      ? `${definition.id}: its target is named by {${definition.target!.parameter}}, which is not in its path`
      : `${definition.id}: no target answers for {${last}}; see within() in tenancy/target.ts`,
  );
}

/** Makes an operation: the router and the OpenAPI document are both made from it. */
export function defineOperation<
  const P extends string,
  const R extends Record<number, ResponseSpec>,
  Q extends z.ZodObject | undefined = undefined,
  B extends Bodies = undefined,
  T extends Target<unknown, Scope | null> | undefined = undefined,
>(definition: OperationDefinition<P, Q, B, R, T>): Operation {
  checkTarget(definition);
  return definition as unknown as Operation;
}

/** An id of one kind, as path, query or body value. */
export function idSchema(prefix: IdPrefix): z.ZodString {
  return z
    .string()
    .regex(idPattern(prefix), `must be an id that starts with ${prefix}_`)
    .meta({ example: `${prefix}_01k5z8r5m2q7v3x9b4n6c8d0ef` });
}

/** The schema of a path parameter. */
export function pathParameter(operation: Pick<Operation, 'id' | 'params'>, name: string): z.ZodType<string> {
  const schema = operation.params?.[name];
  if (!schema) throw new Error(`${operation.id}: no feature has the path parameter ${name}.`);
  return schema;
}

/** Names of the `{…}` parts, in order. */
export function parameterNames(path: string): string[] {
  return [...path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1]!);
}
