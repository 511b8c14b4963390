import t from 'tap';
import { KEPT_LOGS_VARIABLE } from './kept-logs.ts';
import { createLogger, silentLogger } from './logger.ts';

// As outside of a test run: what a run keeps has its own test.
const kept = process.env[KEPT_LOGS_VARIABLE];
delete process.env[KEPT_LOGS_VARIABLE];
t.teardown(() => {
  if (kept !== undefined) process.env[KEPT_LOGS_VARIABLE] = kept;
});

function record(options: { level?: string } = {}) {
  const lines: Record<string, unknown>[] = [];
  const destination = {
    write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>),
  };
  return { lines, logger: createLogger({ name: 'gateway', destination, ...options }) };
}

void t.test('a line is JSON with its level, name and time in words', async (t) => {
  const { lines, logger } = record();
  logger.info({ turn: 3 }, 'turn ended');
  logger.debug('not this one');
  t.match(lines, [
    { level: 'info', name: 'gateway', time: /^\d{4}-\d\d-\d\dT[\d:.]+Z$/, turn: 3, msg: 'turn ended' },
  ]);
});

void t.test('what a person said and what opens doors is never written', async (t) => {
  const { lines, logger } = record({ level: 'debug' });
  const call = logger.child({ callId: 'c1', pii: { caller: 'hunter2' } });
  call.debug({ pii: { text: 'hunter2' }, turn: { pii: ['hunter2'], index: 1 } }, 'heard');
  call.warn(
    { token: 'hunter2', ticket: 'hunter2', ws_ticket: 'hunter2', authorization: 'hunter2' },
    'refused',
  );
  call.warn(
    { headers: { authorization: 'hunter2' }, body: { token: 'hunter2', ws_ticket: 'hunter2' } },
    'odd',
  );
  t.equal(lines.length, 3);
  t.notMatch(JSON.stringify(lines), /hunter2/);
  t.match(lines[0], { callId: 'c1', pii: '[redacted]', turn: { pii: '[redacted]', index: 1 } });
});

void t.test('errors keep their stack and cause', async (t) => {
  const { lines, logger } = record();
  logger.error({ err: new Error('above', { cause: new Error('below') }) }, 'a bug');
  t.match(lines[0], { err: { type: 'Error', message: /above/, stack: /below/ } });
});

void t.test('the silent logger is silent', async (t) => {
  t.equal(silentLogger().isLevelEnabled('fatal'), false);
});
