import { format, inspect } from 'node:util';
import t from 'tap';
import { Secret } from './secret.ts';

void t.test('a secret shows itself to nobody who did not ask', async (t) => {
  const secret = new Secret('hunter2');
  t.equal(secret.reveal(), 'hunter2');
  const shown = [
    String(secret),
    `${secret}`,
    JSON.stringify({ secret }),
    inspect({ nested: { secret } }, { depth: 9, showHidden: true }),
    format('%s %o %O %j', secret, secret, secret, secret),
    JSON.stringify({ ...secret }),
    JSON.stringify(Object.entries(secret)),
    new Error(`with ${secret}`).stack,
  ];
  for (const text of shown) t.notMatch(text, /hunter2/);
  t.match(shown[0], '[secret]');
});
