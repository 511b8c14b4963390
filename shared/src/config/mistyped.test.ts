import t from 'tap';
import { findMistyped } from './mistyped.ts';

const KNOWN = ['HOST', 'PORT', 'MONGODB_URI', 'REDIS_URL', 'OPENAI_API_KEY', 'OUTBOUND_ALLOW', 'LOG_LEVEL'];

void t.test('a variable that is near to a setting is found, with what was meant', async (t) => {
  const env = {
    OPENAI_APIKEY: 'x',
    MONGODB_URL: 'x',
    OUTBOUND_ALOW: 'x',
    REDIS_ULR: 'x',
    loglevel: 'debug',
    port: '1',
  };
  t.same(Object.fromEntries(findMistyped(env, KNOWN).map(({ name, meant }) => [name, meant])), {
    OPENAI_APIKEY: 'OPENAI_API_KEY',
    MONGODB_URL: 'MONGODB_URI',
    OUTBOUND_ALOW: 'OUTBOUND_ALLOW',
    REDIS_ULR: 'REDIS_URL',
    loglevel: 'LOG_LEVEL',
    port: 'PORT',
  });
});

void t.test(
  "settings, other programs' variables and what is set under its own name as well are left alone",
  async (t) => {
    const env = {
      HOME: '/root',
      POST: '1',
      HOSTNAME: 'a',
      SHELL: 'sh',
      npm_config_host: 'a',
      TEST_REDIS_URL: 'x',
      REDIS_URI: '',
      OPENAI_API_KEY: 'x',
      OPENAI_APIKEY: 'x',
    };
    t.same(findMistyped(env, KNOWN), []);
  },
);
