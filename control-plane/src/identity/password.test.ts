import t from 'tap';
import { PasswordHasher } from './password.ts';

void t.test('a password is known again, at whatever cost it was hashed', async (t) => {
  const usual = new PasswordHasher({ costBits: 17 });
  const cheap = new PasswordHasher({ costBits: 10 });
  const stored = await usual.hash('correct horse battery');
  t.match(stored, /^scrypt\$17\$8\$[\w-]{22}\$[\w-]{43}$/);
  t.not(stored, await usual.hash('correct horse battery'), 'salted');
  t.ok(await cheap.verify('correct horse battery', stored));
  t.notOk(await cheap.verify('correct horse batterz', stored));
  t.ok(
    await usual.verify('caf\u00e9 au lait', await cheap.hash('cafe\u0301 au lait')),
    'however it was typed',
  );
});

void t.test('nobody has no password', async (t) => {
  const passwords = new PasswordHasher({ costBits: 10 });
  t.notOk(await passwords.verify('', null));
  t.notOk(await passwords.verify('correct horse battery', null));
});

void t.test('past a bound, sign-ins are told to come back, and those before it are served', async (t) => {
  const passwords = new PasswordHasher({ costBits: 10 });
  const answers = await Promise.allSettled(Array.from({ length: 110 }, () => passwords.hash('x')));
  const refused = answers.filter(({ status }) => status === 'rejected');
  t.equal(refused.length, 8, 'two at work and a hundred waiting');
  t.match(refused[0], { reason: { status: 503 } });
  t.match(await passwords.hash('x'), /^scrypt\$10\$/);
});
