import t from 'tap';
import { PasswordHasher } from './password.ts';

void t.test('a password is known again, at whatever cost it was hashed', async (t) => {
  const usual = new PasswordHasher({ costBits: 17 });
  const cheap = new PasswordHasher({ costBits: 10 });
  const stored = await usual.hash('correct horse battery', 'a');
  t.match(stored, /^scrypt\$17\$8\$[\w-]{22}\$[\w-]{43}$/);
  t.not(stored, await usual.hash('correct horse battery', 'a'), 'salted');
  t.ok(await cheap.verify('correct horse battery', stored, 'a'));
  t.notOk(await cheap.verify('correct horse batterz', stored, 'a'));
  t.ok(
    await usual.verify('caf\u00e9 au lait', await cheap.hash('cafe\u0301 au lait', 'a'), 'a'),
    'however it was typed',
  );
});

void t.test('nobody has no password', async (t) => {
  const passwords = new PasswordHasher({ costBits: 10 });
  t.notOk(await passwords.verify('', null, 'a'));
  t.notOk(await passwords.verify('correct horse battery', null, 'a'));
});

void t.test('past a bound, sign-ins are told to come back, and those before it are served', async (t) => {
  const passwords = new PasswordHasher({ costBits: 10 });
  const answers = await Promise.allSettled(
    Array.from({ length: 110 }, (_, index) => passwords.hash('x', `address ${index}`)),
  );
  const refused = answers.filter(({ status }) => status === 'rejected');
  t.equal(refused.length, 8, 'two at work and a hundred waiting');
  t.match(refused[0], { reason: { status: 503 } });
  t.match(await passwords.hash('x', 'a'), /^scrypt\$10\$/);
});

void t.test('no lane makes the others wait', async (t) => {
  const passwords = new PasswordHasher({ costBits: 10 });
  const order: string[] = [];
  const ask = (lane: string) =>
    passwords.hash('x', lane).then(
      () => void order.push(lane),
      () => void order.push(`${lane} refused`),
    );
  const flood = Array.from({ length: 20 }, () => ask('flood'));
  await Promise.all([...flood, ask('asha'), ask('ravi')]);
  t.equal(order.filter((lane) => lane === 'flood refused').length, 8, 'beyond two at work and ten waiting');
  const served = order.filter((lane) => !lane.endsWith('refused'));
  t.ok(served.indexOf('asha') < 6 && served.indexOf('ravi') < 6, served.join());
});
