/**
 * An error that the client can act on. The HTTP error handler turns it into
 * `{detail, code, request_id}` with `status`; `detail` is the message, so it must be safe to show.
 */
export class AppError extends Error {
  readonly status: number;
  /** Stable word for programs, `snake_case`. */
  readonly code: string;
  /** Seconds for the `Retry-After` header. */
  readonly retryAfterSeconds: number | undefined;
  /** Records that stand in the way, for 409. */
  readonly refs: readonly ErrorRef[] | undefined;

  constructor(status: number, code: string, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.status = status;
    this.code = code;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.refs = options.refs;
  }
}

export interface ErrorRef {
  type: string;
  id: string;
  name: string;
}

export interface AppErrorOptions {
  cause?: unknown;
  retryAfterSeconds?: number;
  refs?: readonly ErrorRef[];
}

/** 401: missing, wrong or expired credentials. */
export class UnauthorizedError extends AppError {
  constructor(
    code = 'unauthenticated',
    message = 'Valid credentials are required.',
    options?: AppErrorOptions,
  ) {
    super(401, code, message, options);
  }
}

/** 402: the wallet of the org does not cover it. */
export class PaymentRequiredError extends AppError {
  constructor(message = 'The balance of the org is used up. Ask the operator for a top-up.') {
    super(402, 'insufficient_balance', message);
  }
}

/** 403: known caller, not allowed. */
export class ForbiddenError extends AppError {
  constructor(code = 'forbidden', message = 'This is not allowed.', options?: AppErrorOptions) {
    super(403, code, message, options);
  }
}

/** 404: absent, or in another tenant. The two are told apart by nobody. */
export class NotFoundError extends AppError {
  constructor(message = 'Resource not found.') {
    super(404, 'not_found', message);
  }
}

/** 409: the state does not allow it. */
export class ConflictError extends AppError {
  constructor(
    code = 'conflict',
    message = 'The current state does not allow this.',
    options?: AppErrorOptions,
  ) {
    super(409, code, message, options);
  }
}

/** 429: slow down; carries `Retry-After`. */
export class TooManyRequestsError extends AppError {
  constructor(code: string, message: string, retryAfterSeconds: number) {
    super(429, code, message, { retryAfterSeconds });
  }
}

/** 503: starting, draining, or something we depend on is down. */
export class UnavailableError extends AppError {
  constructor(message: string, options: AppErrorOptions = {}) {
    super(503, 'unavailable', message, { retryAfterSeconds: 5, ...options });
  }
}

/** One problem of a request, as in the 422 body. */
export interface ValidationDetail {
  /** Starts with `path`, `query`, `header` or `body`. */
  loc: (string | number)[];
  msg: string;
  type: string;
}

/** 422: the request fails validation; the body is `{detail: ValidationDetail[]}`. */
export class ValidationError extends AppError {
  readonly details: readonly ValidationDetail[];

  constructor(details: readonly ValidationDetail[]) {
    super(422, 'validation_error', details.map((d) => `${d.loc.join('.')}: ${d.msg}`).join('; '));
    this.details = details;
  }
}
