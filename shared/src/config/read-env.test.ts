import t from 'tap';
import { z } from 'zod';
import { ConfigError } from '../errors/config-error.ts';
import { envBoolean, envInteger, envList, envPort, envSecret, envUrl, readEnv } from './read-env.ts';

void t.test('variables become values', async (t) => {
  const config = readEnv(
    z.object({
      PORT: envPort,
      CALLS: envInteger(1, 100).default(10),
      DEBUG: envBoolean.default(false),
      ORIGINS: envList,
      PUBLIC_URL: envUrl,
      TOKEN: envSecret.optional(),
    }),
    {
      PORT: '0',
      CALLS: '',
      DEBUG: 'yes',
      ORIGINS: ' a, ,b ',
      PUBLIC_URL: 'https://a.example/base//',
      OTHER: 'x',
    },
  );
  t.same(config, {
    PORT: 0,
    CALLS: 10,
    DEBUG: true,
    ORIGINS: ['a', 'b'],
    PUBLIC_URL: 'https://a.example/base',
  });
  t.ok(Object.isFrozen(config));
});

void t.test('every bad variable is named, and no value is told', async (t) => {
  const schema = z.object({
    PORT: envPort,
    CALLS: envInteger(1, 100),
    DEBUG: envBoolean,
    PUBLIC_URL: envUrl,
    TOKEN: envSecret,
    MODE: z.enum(['a', 'b']),
  });
  const env = { PORT: '70000', CALLS: 'hunter2', DEBUG: 'hunter2', PUBLIC_URL: 'hunter2', MODE: 'hunter2' };
  let error: unknown;
  try {
    readEnv(schema, env);
  } catch (thrown) {
    error = thrown;
  }
  t.type(error, ConfigError);
  const { problems, message } = error as ConfigError;
  t.same(
    problems.map((problem) => problem.split(':')[0]),
    ['PORT', 'CALLS', 'DEBUG', 'PUBLIC_URL', 'TOKEN', 'MODE'],
  );
  for (const problem of problems) t.ok(message.includes(problem));
  t.match(message, /CALLS: must be a whole number from 1 to 100\n/);
  t.notMatch(message, /hunter2|70000/);
});

void t.test('each kind knows its bounds', async (t) => {
  const accepts = (schema: z.ZodType, text: string) => schema.safeParse(text).success;
  t.same(
    ['0', '65535', '65536', '-1', '1.5', 'http'].map((text) => accepts(envPort, text)),
    [true, true, false, false, false, false],
  );
  t.same(
    ['1', '100', '0', '101', '1e1', '2.5', 'ten'].map((text) => accepts(envInteger(1, 100), text)),
    [true, true, false, false, true, false, false],
  );
  t.same(
    ['true', '1', 'yes', 'false', '0', 'no'].map((text) => envBoolean.parse(text)),
    [true, true, true, false, false, false],
  );
  t.same(
    ['http://a', 'wss://a:1/b', 'ftp://a', 'javascript:alert(1)', 'a.example', '/a'].map((text) =>
      accepts(envUrl, text),
    ),
    [true, true, false, false, false, false],
  );
});
