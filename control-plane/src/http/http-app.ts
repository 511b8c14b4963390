import type { BlockList } from 'node:net';
import type { Readable } from 'node:stream';
import cors from '@koa/cors';
import Router from '@koa/router';
import Koa from 'koa';
import type { Context } from 'koa';
import helmet from 'koa-helmet';
import {
  AppError,
  ForbiddenError,
  UnauthorizedError,
  ValidationError,
} from '@parley/shared/errors/app-error';
import type { Logger } from '@parley/shared/logging/logger';
import type { Database } from '../storage/database.ts';
import { Access } from '../tenancy/access.ts';
import type { Directory } from '../tenancy/directory.ts';
import { principalId } from '../tenancy/principal.ts';
import type { Principal } from '../tenancy/principal.ts';
import { roleAtLeast } from '../tenancy/roles.ts';
import type { Scope } from '../tenancy/scope.ts';
import { addressKey, clientAddress } from '@parley/shared/http/client-address';
import { errorHandler } from './error-handler.ts';
import { blankSecrets, idempotencyId, parseIdempotencyKey } from './idempotency.ts';
import type { IdempotencyStore } from './idempotency.ts';
import { parameterNames, pathParameter, HttpResponse } from './operation.ts';
import type { BodySpec, Operation } from './operation.ts';
import { checkStorable, chooseBody, collect, parseBody, readBytes } from './read-body.ts';
import { rateLimited } from './request-limiter.ts';
import type { LimitState, RequestLimit, RequestLimiter } from './request-limiter.ts';
import { invalid, parseInput, toValidationDetails } from './validation.ts';

/** What the application needs to check requests. */
export interface HttpRuntime {
  logger: Logger;
  database: Database;
  directory: Directory;
  limiter: RequestLimiter;
  idempotency: IdempotencyStore;
  /** @throws UnauthorizedError */
  authenticate(authorization: string | undefined): Promise<Principal>;
  /** Checks a gateway's credential; only the internal listener has one. @throws UnauthorizedError */
  authenticateGateway?(headers: Readonly<Record<string, string | string[] | undefined>>): void;
  /** Limits of the caller's requests. */
  requestLimits(
    principal: Principal,
    operation: Pick<Operation, 'ownLimits'>,
  ): Promise<readonly RequestLimit[]>;
  /** Limits that an org has set itself, for a user: which org it is shows in the path alone. */
  orgLimits(scope: Scope, operation: Pick<Operation, 'ownLimits'>): Promise<readonly RequestLimit[]>;
  /** Requests a minute from one address, before any credential is looked at; 0: no limit. */
  addressLimitPerMinute: number;
  trustedProxies: BlockList;
  /** The only origin that may call `/v1` and `/auth` from a browser. */
  consoleOrigin: string | null;
  /** Whether pages of this origin may call the public routes of an agent. */
  isPublicOrigin(agentId: string, origin: string): Promise<boolean>;
  /** Whether the process is stopping: connections are closed after their answer. */
  draining(): boolean;
  /** Answers that break their own description become errors: for tests. */
  checkResponses?: boolean;
}

/** Makes the Koa application from its operations; opens no port. */
export function createHttpApp(operations: readonly Operation[], runtime: HttpRuntime): Koa {
  const app = new Koa();
  app.silent = true;
  app.use(errorHandler(runtime.logger));
  app.use(async (ctx, next) => {
    try {
      await next();
    } finally {
      if (runtime.draining()) ctx.set('Connection', 'close');
    }
  });
  app.use(
    helmet({
      contentSecurityPolicy: {
        useDefaults: false,
        directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
      },
      referrerPolicy: { policy: 'no-referrer' },
      crossOriginResourcePolicy: { policy: 'cross-origin' },
    }),
  );
  if (runtime.consoleOrigin !== null) app.use(consoleCors(runtime.consoleOrigin));
  app.use(async (ctx, next) => {
    const peer = ctx.req.socket.remoteAddress ?? '';
    ctx.state['address'] = clientAddress(peer, ctx.get('x-forwarded-for'), runtime.trustedProxies);
    await next();
  });
  app.use(publicCors(runtime));
  const router = new Router({ sensitive: true, strict: true });
  // Fixed segments come before parameters in the same place.
  const ordered = [...operations].sort((a, b) => sortKey(a.path).localeCompare(sortKey(b.path)));
  for (const { path, hidden, allowed } of fixedPaths(operations)) {
    router.register(path, hidden, (ctx) => {
      ctx.set('Allow', allowed.join(', '));
      throw methodNotAllowed();
    });
  }
  for (const operation of ordered) {
    const path = operation.path.replace(/\{([^}]+)\}/g, ':$1');
    router.register(path, [operation.method], prepare(operation, runtime));
  }
  app.use(router.routes());
  const allow = router.allowedMethods();
  app.use(async (ctx, next) => {
    // Sets `Allow` and one of these, where no route took the request.
    await allow(ctx as Parameters<typeof allow>[0], next);
    if (ctx.status === 405 || ctx.status === 501) throw methodNotAllowed();
  });
  return app;
}

function methodNotAllowed(): AppError {
  return new AppError(405, 'method_not_allowed', 'The route does not support this method.');
}

/** Paths without parameters that a path with some would take for methods of its own, such as `/voices/clone`. */
function fixedPaths(operations: readonly Operation[]) {
  const takes = (pattern: string, path: string) => {
    const [wanted, given] = [pattern.split('/'), path.split('/')];
    return wanted.length === given.length && wanted.every((part, i) => /^\{/.test(part) || part === given[i]);
  };
  const paths = [...new Set(operations.map(({ path }) => path))].filter((path) => !path.includes('{'));
  return paths.flatMap((path) => {
    const allowed = operations.filter((one) => one.path === path).map(({ method }) => method);
    const others = operations.filter((one) => one.path !== path && takes(one.path, path));
    const hidden = [...new Set(others.map(({ method }) => method))].filter(
      (method) => !allowed.includes(method),
    );
    return hidden.length === 0 ? [] : [{ path, hidden, allowed }];
  });
}

function sortKey(path: string): string {
  return path.replace(/\{[^}]+\}/g, '\u{10ffff}');
}

const EXPOSED_HEADERS = [
  'X-Request-Id',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Retry-After',
  'Idempotency-Replayed',
];

function consoleCors(origin: string) {
  const middleware = cors({
    origin: (ctx) => (ctx.get('Origin') === origin ? origin : ''),
    exposeHeaders: EXPOSED_HEADERS,
    maxAge: 600,
    keepHeadersOnError: false,
  });
  return (ctx: Context, next: Koa.Next) =>
    /^\/(v1|auth|api\/v1\/webhooks\/agents)\//.test(ctx.path) ? middleware(ctx, next) : next();
}

/** CORS of public routes: pages whose origin the agent allows. A preflight counts like the request. */
function publicCors(runtime: HttpRuntime) {
  const middleware = cors({
    async origin(ctx) {
      const agentId = /^\/public\/v1\/agents\/([^/]+)\//.exec(ctx.path)?.[1];
      const origin = ctx.get('Origin');
      if (agentId === undefined || origin === '') return '';
      return (await runtime.isPublicOrigin(agentId, origin)) ? origin : '';
    },
    allowMethods: ['POST'],
    allowHeaders: ['Content-Type'],
    exposeHeaders: EXPOSED_HEADERS,
    maxAge: 600,
    keepHeadersOnError: false,
  });
  return async (ctx: Context, next: Koa.Next) => {
    if (!ctx.path.startsWith('/public/')) return next();
    if (ctx.method === 'OPTIONS') await limitAddress(ctx, runtime, ctx.state['address'] as string);
    return middleware(ctx, next) as Promise<unknown>;
  };
}

/** Turns one operation into its middleware. The order of the checks is part of the interface (resources 1.6). */
function prepare(operation: Operation, runtime: HttpRuntime) {
  const names = parameterNames(operation.path);
  const schemas = names.map((name) => [name, pathParameter(operation, name)] as const);
  const bodies = operation.body === undefined ? [] : ([operation.body].flat() as BodySpec<unknown>[]);
  const { access } = operation;
  const credentialed = typeof access === 'object';
  const strictQuery = operation.query?.strict();
  const defaultStatus = Math.min(...Object.keys(operation.responses).map(Number));

  return async function handle(ctx: Context & { params: Record<string, string> }): Promise<void> {
    ctx.state['route'] = operation.path;
    const log = ctx.state['log'] as Logger;
    const requestId = ctx.state['requestId'] as string;
    const address = ctx.state['address'] as string;

    if (access !== 'internal' && operation.rateLimited !== false) await limitAddress(ctx, runtime, address);
    let principal: Principal | undefined;
    if (credentialed) {
      principal = await runtime.authenticate(ctx.req.headers.authorization);
      ctx.state['callerId'] = principalId(principal);
      if (operation.rateLimited !== false)
        await limitCaller(ctx, await runtime.requestLimits(principal, operation), runtime);
      checkKind(access, principal);
    } else if (access === 'internal') {
      if (!runtime.authenticateGateway) throw new UnauthorizedError();
      runtime.authenticateGateway(ctx.req.headers);
    }

    const params = parseParams(schemas, ctx.params);
    await operation.admit?.({ params, headers: ctx.req.headers, address });
    const reach = principal && new Access(principal, runtime);
    let scope: Scope | undefined;
    let record: unknown;
    if (reach && operation.target) {
      const query = collect(new URLSearchParams(ctx.querystring));
      const found = await operation.target.resolve(reach, { params, query });
      scope = found.scope ?? undefined;
      record = found.item;
      if (scope && principal?.auth === 'jwt' && operation.rateLimited !== false)
        await limitCaller(ctx, await runtime.orgLimits(scope, operation), runtime);
      const write = operation.method !== 'GET' && operation.whenSuspended !== true;
      if (scope) {
        await reach.permit(scope, neededRole(access, reach.principal), { write, feature: operation.feature });
      }
      if (found.readOnly && operation.method !== 'GET') {
        throw new ForbiddenError(
          'forbidden',
          'This record is shared with projects you have no access to: you cannot change it.',
        );
      }
    } else if (principal?.auth === 'api_key' && !roleAtLeast(principal.role, neededRole(access, principal))) {
      throw new ForbiddenError(
        'role_too_low',
        `This operation requires the role ${neededRole(access, principal)}.`,
      );
    }

    const spec = bodies.length > 0 ? chooseBody(ctx.req, bodies) : undefined;
    const raw = !spec || spec.kind === 'stream' ? Buffer.alloc(0) : await readBytes(ctx.req, spec.limitBytes);
    const run = async (): Promise<Answer> => {
      const query = parseQuery(strictQuery, credentialed, ctx.querystring);
      const body = spec ? await parseBody(spec, raw, ctx.req) : undefined;
      const result = await operation.handle({
        params: params as never,
        query: query as never,
        body: body as never,
        rawBody: raw,
        method: ctx.method,
        url: ctx.originalUrl,
        headers: ctx.req.headers,
        get caller(): Principal {
          if (!principal) throw new Error(`${operation.id} has no caller`);
          return principal;
        },
        get access(): Access {
          if (!reach) throw new Error(`${operation.id} has no caller`);
          return reach;
        },
        scope: (operation.target ? (scope ?? null) : undefined) as never,
        item: record as never,
        requestId,
        address,
        log,
        permitAgain: () => permitAgain(operation, runtime, ctx, params),
        get signal(): AbortSignal {
          return abortedWithClient(ctx);
        },
      });
      return result instanceof HttpResponse
        ? { status: result.status, body: result.body, headers: result.headers, gzip: result.gzip }
        : { status: defaultStatus, body: result, headers: {} };
    };
    const streams = spec?.kind === 'stream';
    const answer = await once(ctx, operation, runtime, { scope, principal, raw, streams, requestId }, run);
    if (runtime.checkResponses) checkResponse(operation, answer);
    send(ctx, answer);
    // What may be kept by its tag says so by declaring 304.
    if (operation.responses[304] && ctx.fresh) ctx.status = 304;
  };
}

/** The checks of a caller that may have changed since the request began. Counts nothing. @throws AppError */
async function permitAgain(
  { access, target, feature }: Operation,
  runtime: HttpRuntime,
  ctx: Context,
  params: Readonly<Record<string, string>>,
): Promise<void> {
  if (typeof access !== 'object') return;
  const principal = await runtime.authenticate(ctx.req.headers.authorization);
  checkKind(access, principal);
  const reach = new Access(principal, runtime);
  const query = collect(new URLSearchParams(ctx.querystring));
  const scope = (await target?.resolve(reach, { params, query }))?.scope;
  if (scope) await reach.permit(scope, neededRole(access, principal), { write: false, feature });
}

interface Answer {
  status: number;
  body: unknown;
  headers: Readonly<Record<string, string>>;
  gzip?: Buffer | undefined;
}

function send(ctx: Context, answer: Answer): void {
  ctx.status = answer.status;
  for (const [name, value] of Object.entries(answer.headers)) ctx.set(name, value);
  if (answer.gzip) ctx.vary('Accept-Encoding');
  const packed = answer.gzip && ctx.acceptsEncodings('gzip', 'identity') === 'gzip';
  if (packed) ctx.set('Content-Encoding', 'gzip');
  const body = packed ? answer.gzip : answer.body;
  if (body === undefined || body === null) {
    ctx.body = null;
    ctx.status = answer.status;
  } else if (Buffer.isBuffer(body) || isStream(body) || typeof body === 'string') {
    if (!ctx.response.get('Content-Type'))
      ctx.type = typeof body === 'string' ? 'text/plain' : 'application/octet-stream';
    ctx.body = body;
  } else {
    if (!ctx.response.get('Content-Type')) ctx.type = 'application/json';
    ctx.body = JSON.stringify(body);
  }
}

function isStream(body: unknown): body is Readable {
  return typeof body === 'object' && body !== null && 'pipe' in body && typeof body.pipe === 'function';
}

async function limitAddress(ctx: Context, runtime: HttpRuntime, address: string): Promise<void> {
  if (runtime.addressLimitPerMinute === 0) return;
  const bucket = `address:${addressKey(address)}`;
  const hit = await runtime.limiter.hit([
    { bucket, limit: runtime.addressLimitPerMinute, windowSeconds: 60 },
  ]);
  if (hit?.refused) {
    setLimitHeaders(ctx, hit.state);
    throw rateLimited(hit.state);
  }
}

async function limitCaller(
  ctx: Context,
  limits: readonly RequestLimit[],
  runtime: HttpRuntime,
): Promise<void> {
  if (limits.length === 0) return;
  const hit = await runtime.limiter.hit(limits);
  if (!hit) return;
  setLimitHeaders(ctx, hit.state);
  if (hit.refused) throw rateLimited(hit.state);
}

function setLimitHeaders(ctx: Context, state: LimitState): void {
  ctx.set('RateLimit-Limit', String(state.limit));
  ctx.set('RateLimit-Remaining', String(state.remaining));
  ctx.set('RateLimit-Reset', String(state.resetSeconds));
}

function checkKind(access: Operation['access'], principal: Principal): void {
  if (typeof access !== 'object') return;
  if (principal.auth === 'api_key' && access.key === undefined) {
    throw new ForbiddenError(
      'user_required',
      'This operation requires a signed-in user; an API key cannot perform it.',
    );
  }
  if (principal.auth === 'jwt' && access.user === undefined) {
    throw new ForbiddenError('forbidden', 'This operation requires an API key.');
  }
}

function neededRole(access: Operation['access'], principal: Principal) {
  if (typeof access !== 'object') return 'viewer';
  if (principal.auth === 'api_key') return access.key ?? 'admin';
  return access.user === undefined || access.user === 'any' ? 'viewer' : access.user;
}

function parseParams(
  schemas: readonly (readonly [string, ReturnType<typeof pathParameter>])[],
  params: Record<string, string>,
): Record<string, string> {
  const details = schemas.flatMap(([name, schema]) => {
    const result = schema.safeParse(params[name], { reportInput: true });
    return result.success ? [] : toValidationDetails(result.error, ['path', name]);
  });
  if (details.length > 0) throw new ValidationError(details);
  return Object.fromEntries(schemas.map(([name]) => [name, params[name]!]));
}

function parseQuery(schema: Operation['query'], strict: boolean, querystring: string): unknown {
  const fields = collect(new URLSearchParams(querystring));
  checkStorable(fields, 'query');
  if (schema) return parseInput(schema, fields, 'query');
  const unknown = strict ? Object.keys(fields) : [];
  if (unknown.length > 0) {
    throw new ValidationError(
      unknown.map((name) => ({
        loc: ['query', name],
        msg: 'Extra inputs are not permitted',
        type: 'extra_forbidden',
      })),
    );
  }
  return {};
}

/** Runs `run`, or gives the answer of the first request with the same Idempotency-Key. */
async function once(
  ctx: Context,
  operation: Operation,
  runtime: HttpRuntime,
  request: {
    scope: Scope | undefined;
    principal: Principal | undefined;
    raw: Buffer;
    /** The body is not read yet: nobody can tell whether it is the same. */
    streams: boolean;
    requestId: string;
  },
  run: () => Promise<Answer>,
): Promise<Answer> {
  const { idempotent } = operation;
  const { principal } = request;
  if (!idempotent || !principal || request.streams) {
    refuseIdempotencyKey(ctx, operation);
    return run();
  }
  const key = parseIdempotencyKey(
    ctx.req.headers['idempotency-key'] as string | undefined,
    idempotent.required ?? false,
  );
  if (key === null) return run();
  const scope = principal.auth === 'api_key' ? principal.project_id : principal.user_id;
  const id = idempotencyId(scope, ctx.method, ctx.path, key);
  const sent = withoutBoundary(request.raw, ctx.req.headers['content-type']);
  const first = await runtime.idempotency.begin(id, sent, request.requestId);
  if (first) {
    return {
      status: first.status,
      body: first.body === '' ? null : (JSON.parse(first.body) as unknown),
      headers: { 'Idempotency-Replayed': 'true' },
    };
  }
  try {
    const answer = await run();
    const stored =
      answer.body == null ? '' : JSON.stringify(blankSecrets(answer.body, idempotent.secrets ?? []));
    await runtime.idempotency.finish(id, request.requestId, { status: answer.status, body: stored });
    return answer;
  } catch (error) {
    if (error instanceof ValidationError) {
      const body = JSON.stringify({ detail: error.details });
      await runtime.idempotency.finish(id, request.requestId, { status: 422, body });
    } else await runtime.idempotency.release(id, request.requestId);
    throw error;
  }
}

/**
 * A client that counts on the header must know where it does nothing: answers that are not kept, such as tokens of
 * people and speech. @throws ValidationError
 */
function refuseIdempotencyKey(ctx: Context, { access, method }: Operation): void {
  const ours = typeof access === 'object' || access === 'public';
  if (!ours || method !== 'POST' || ctx.req.headers['idempotency-key'] === undefined) return;
  throw invalid(
    ['header', 'Idempotency-Key'],
    'is not supported by this operation: send the request without it',
    'not_available',
  );
}

/** The parts of a multipart body: what separates them is chosen anew for each request. */
function withoutBoundary(raw: Buffer, contentType: string | undefined): Buffer {
  const boundary = /^multipart\/.*;\s*boundary="?([^";]+)"?/i.exec(contentType ?? '')?.[1];
  return boundary === undefined
    ? raw
    : Buffer.from(raw.toString('latin1').replaceAll(boundary, ''), 'latin1');
}

function abortedWithClient(ctx: Context): AbortSignal {
  const controller = new AbortController();
  ctx.res.once('close', () => {
    if (!ctx.res.writableFinished) controller.abort(new Error('The client closed the connection.'));
  });
  return controller.signal;
}

function checkResponse(operation: Operation, answer: Answer): void {
  if (answer.headers['Idempotency-Replayed'] !== undefined) return;
  const spec = operation.responses[answer.status];
  if (!spec) throw new Error(`${operation.id}: status ${answer.status} is not described`);
  if (!spec.schema || typeof answer.body === 'string' || isStream(answer.body)) return;
  const result = spec.schema.safeParse(JSON.parse(JSON.stringify(answer.body)));
  if (!result.success)
    throw new Error(`${operation.id}: the answer breaks its description: ${result.error.message}`);
}
