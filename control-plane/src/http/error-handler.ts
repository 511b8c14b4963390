import type { Context, Next } from 'koa';
import { AppError, ValidationError } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Logger } from '@parley/shared/logging/logger';
import { isDatabaseUnreachable, isDiskFull } from '../storage/unreachable.ts';

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/**
 * The outermost middleware: gives the request its id, writes every error body, and one log line per request with
 * the route's pattern (never path values or queries, which may hold credentials and numbers).
 */
export function errorHandler(logger: Logger) {
  return async function handleErrors(ctx: Context, next: Next): Promise<void> {
    const started = performance.now();
    const given = ctx.get('X-Request-Id');
    const requestId = REQUEST_ID.test(given) ? given : newId('req');
    ctx.state['requestId'] = requestId;
    const log = logger.child({ requestId });
    ctx.state['log'] = log;
    ctx.set('X-Request-Id', requestId);
    try {
      await next();
      if (ctx.status === 404 && ctx.body === undefined && ctx.state['route'] === undefined) {
        throw new AppError(404, 'not_found', 'No route matches this method and path.');
      }
    } catch (error) {
      answerError(ctx, error, log);
    }
    // 499 as nginx: the client went away before the answer.
    const status = ctx.res.destroyed && !ctx.res.writableEnded ? 499 : ctx.status;
    log.info(
      {
        method: ctx.method,
        route: ctx.state['route'] ?? 'unknown',
        status,
        ms: Math.round(performance.now() - started),
        caller: ctx.state['callerId'],
      },
      'request',
    );
  };
}

function answerError(ctx: Context, error: unknown, log: Logger): void {
  const known = toAppError(error);
  const route: unknown = ctx.state['route'];
  // A full disk is no fault of the code and fails every write: a stack trace each would fill the disk further.
  if (isDiskFull(error)) log.warn({ route }, 'request refused: the disk is full');
  else if (known.status >= 500) log.error({ err: error, route }, 'request failed');
  ctx.status = known.status;
  if (known.retryAfterSeconds !== undefined) ctx.set('Retry-After', String(known.retryAfterSeconds));
  if (known.status === 401) ctx.set('WWW-Authenticate', 'Bearer');
  // The rest of the request body will not be read.
  if (known.status === 413) ctx.set('Connection', 'close');
  if (known instanceof ValidationError) ctx.body = { detail: known.details };
  else {
    ctx.body = {
      detail: known.message,
      code: known.code,
      request_id: ctx.state['requestId'] as string,
      ...(known.refs && { refs: known.refs }),
    };
  }
}

function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (isDiskFull(error)) {
    return new AppError(
      503,
      'insufficient_storage',
      'The disk of this installation is full, so nothing new can be stored. Retry when space has been freed.',
      { cause: error, retryAfterSeconds: 30 },
    );
  }
  if (isDatabaseUnreachable(error)) {
    return new AppError(503, 'unavailable', 'The database cannot be reached. Retry in a few seconds.', {
      cause: error,
      retryAfterSeconds: 5,
    });
  }
  const status = httpStatus(error);
  if (status !== undefined)
    return new AppError(status, 'bad_request', 'The request is malformed.', { cause: error });
  return new AppError(500, 'internal', 'An internal error occurred.', { cause: error });
}

/** Errors of Koa and its router for bad URLs carry a 4xx status. */
function httpStatus(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('status' in error)) return undefined;
  const { status } = error;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : undefined;
}
