import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { KEPT_LOGS_VARIABLE, keptSecretsFile, searchKeptLogs } from './kept-logs.ts';
import { createLogger, silentLogger } from './logger.ts';

const random = () => randomBytes(32).toString('base64url');
/** 32 bytes whose form has a capital and a digit, as nearly all have. */
const ticket = `${random().slice(0, 40)}aB3`;
const planted = {
  'a ticket in an address': `/media/v1/streams/plivo/${ticket}`,
  'a ticket alone': ticket,
  'a token of /v1/realtime': `ek_${ticket}`,
  'an API key': `sk-svc-${random()}`,
  'a secret of webhooks': `whsec_${ticket}`,
  'a JWT': `eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJ1c3JfMSJ9.${random()}`,
  'a bearer credential': 'Bearer some-token-of-somebody',
  'what the run noted as secret': 'carrier "auth" token 7731',
};

void t.test('what is logged during a run of the suite is kept, and searched', (t) => {
  const dir = t.testdir();
  const before = process.env[KEPT_LOGS_VARIABLE];
  process.env[KEPT_LOGS_VARIABLE] = dir;
  t.teardown(() => {
    if (before === undefined) delete process.env[KEPT_LOGS_VARIABLE];
    else process.env[KEPT_LOGS_VARIABLE] = before;
  });
  writeFileSync(keptSecretsFile(dir), `${JSON.stringify('carrier "auth" token 7731')}\n"short"\n`);
  const written: string[] = [];
  const destination = { write: (line: string) => void written.push(line) };
  const logger = createLogger({ name: 'test', level: 'warn', destination });

  logger.info(
    { sessionId: '01a1fe42-e91f-7a0d-918e-18f5404d6cb6', digest: 'ab'.repeat(32) },
    'short and fine',
  );
  logger.trace({ token: ticket, pii: { text: 'hello' } }, 'what the logger redacts is fine');
  t.same(searchKeptLogs(dir), { leaks: [], lines: 2, secrets: 1 });
  t.same(written, [], 'its own destination has its own level');

  for (const [what, value] of Object.entries(planted)) {
    const { leaks } = searchKeptLogs(dir);
    silentLogger().debug({ value }, 'planted');
    const now = searchKeptLogs(dir).leaks;
    t.ok(now.length > leaks.length, what);
    t.notOk(now.at(-1)!.text.includes(JSON.stringify(value)), `${what}: it is not shown again`);
  }
  logger.error({ err: new Error(`refused ${ticket}`) }, 'in a message');
  t.match(searchKeptLogs(dir).leaks.at(-1), {
    file: path.basename(`${process.pid}.log`),
    text: /refused \[FOUND\]/,
  });
  t.equal(written.length, 1);
  t.end();
});
