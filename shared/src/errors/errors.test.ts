import t from 'tap';
import {
  AppError,
  ConflictError,
  ForbiddenError,
  NotFoundError,
  TooManyRequestsError,
  UnauthorizedError,
  UnavailableError,
  ValidationError,
} from './app-error.ts';
import { ProviderError } from './provider-error.ts';

void t.test('each error carries its status and code', async (t) => {
  const cause = new Error('below');
  const refs = [{ type: 'agent', id: 'agt_1', name: 'Asha' }];
  const cases: [AppError, number, string, string][] = [
    [new UnauthorizedError(), 401, 'unauthenticated', 'UnauthorizedError'],
    [new UnauthorizedError('credential_invalid', 'No.'), 401, 'credential_invalid', 'UnauthorizedError'],
    [new ForbiddenError(), 403, 'forbidden', 'ForbiddenError'],
    [new NotFoundError(), 404, 'not_found', 'NotFoundError'],
    [new ConflictError('in_use', 'It is in use.', { refs, cause }), 409, 'in_use', 'ConflictError'],
    [new TooManyRequestsError('queue_full', 'Later.', 7), 429, 'queue_full', 'TooManyRequestsError'],
    [new UnavailableError('Starting.'), 503, 'unavailable', 'UnavailableError'],
  ];
  for (const [error, status, code, name] of cases) {
    t.type(error, AppError);
    t.match(error, { status, code, name });
    t.ok(error.message.length > 0);
  }
  t.match(cases[4]![0], { refs, cause });
  t.equal(cases[5]![0].retryAfterSeconds, 7);
  t.equal(cases[6]![0].retryAfterSeconds, 5);
  t.equal(new UnavailableError('Full.', { retryAfterSeconds: 60 }).retryAfterSeconds, 60);
  t.notOk('cause' in new NotFoundError(), 'no empty cause in the log');
});

void t.test('a validation error says where each problem is', async (t) => {
  const details = [
    { loc: ['body', 'name'], msg: 'is missing', type: 'missing' },
    { loc: ['query', 'limit'], msg: 'must be a number', type: 'invalid_type' },
  ];
  const error = new ValidationError(details);
  t.match(error, { status: 422, code: 'validation_error', details });
  t.equal(error.message, 'body.name: is missing; query.limit: must be a number');
});

void t.test('a provider error says whose it is and what a turn can do about it', async (t) => {
  const cause = new Error('ECONNRESET');
  const error = new ProviderError('deepgram', 'unavailable', 'the connection ended', { cause });
  t.match(error, { provider: 'deepgram', fault: 'unavailable', cause, name: 'ProviderError' });
  t.equal(error.message, 'deepgram: the connection ended');
});
