/** A field that the server refused: `loc` without its first part, such as `['config', 'llm', 'model_id']`. */
export interface FieldFault {
  path: readonly (string | number)[];
  message: string;
}

/** A record that the server names in an error. */
export interface ErrorRef {
  /** Such as `campaign`. */
  type: string;
  id: string;
  name: string;
}

/** What the server answered instead of data. */
export class ApiError extends Error {
  readonly status: number;
  /** Stable, for a program: `not_found`, `role_too_low`; `invalid` where fields were refused; `unreachable` without an answer. */
  readonly code: string;
  /** Names the request in the server's log; null without an answer. */
  readonly requestId: string | null;
  readonly fields: readonly FieldFault[];
  /** Records that are in the way, such as who uses what was to be removed. */
  readonly refs: readonly ErrorRef[];

  constructor(
    message: string,
    rest: {
      status: number;
      code: string;
      requestId: string | null;
      fields?: readonly FieldFault[];
      refs?: readonly ErrorRef[];
    },
  ) {
    super(message);
    this.name = 'ApiError';
    this.status = rest.status;
    this.code = rest.code;
    this.requestId = rest.requestId;
    this.fields = rest.fields ?? [];
    this.refs = rest.refs ?? [];
  }
}

interface Detail {
  loc: (string | number)[];
  msg: string;
}

/** Reads an error body of any form: `{detail, code, request_id}`, `{detail: [{loc, msg}]}`, or something else. */
export function toApiError(status: number, body: unknown, requestId: string | null): ApiError {
  const { detail, code, request_id, refs } = (typeof body === 'object' && body !== null ? body : {}) as {
    detail?: unknown;
    code?: unknown;
    request_id?: unknown;
    refs?: unknown;
  };
  if (Array.isArray(detail)) {
    const details = detail as Detail[];
    const fields = details.map(({ loc, msg }) => ({ path: loc.slice(1), message: msg }));
    const message = details
      .map(({ loc, msg }) => (loc.length > 1 ? `${loc.slice(1).join('.')}: ${msg}` : msg))
      .join('; ');
    return new ApiError(message, { status, code: 'invalid', requestId, fields });
  }
  return new ApiError(typeof detail === 'string' ? detail : `The server answered with status ${status}.`, {
    status,
    code: typeof code === 'string' ? code : 'unknown',
    requestId: typeof request_id === 'string' ? request_id : requestId,
    refs: Array.isArray(refs) ? (refs as ErrorRef[]) : [],
  });
}

/** There was no answer at all. */
export function unreachable(cause: unknown): ApiError {
  const error = new ApiError('The server cannot be reached. Check the connection and try again.', {
    status: 0,
    code: 'unreachable',
    requestId: null,
  });
  error.cause = cause;
  return error;
}
