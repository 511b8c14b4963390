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

void t.test('nobody waits for a turn, as somebody does', async (t) => {
  const passwords = new PasswordHasher({ costBits: 10 });
  const answers = await Promise.allSettled(
    Array.from({ length: 14 }, () => passwords.verify('x', null, 'a')),
  );
  t.equal(
    answers.filter(({ status }) => status === 'rejected').length,
    2,
    'beyond two at work and ten waiting',
  );
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
  const begun: string[] = [];
  let refused = 0;
  const ask = (lane: string) => {
    // A password is normalised when its turn has come. Which of two at work ends first is for their threads to say.
    const password = Object.assign(new String('x'), { normalize: () => (begun.push(lane), 'x') });
    return passwords.hash(password as string, lane).catch(() => void refused++);
  };
  const flood = Array.from({ length: 20 }, () => ask('flood'));
  await Promise.all([...flood, ask('asha'), ask('ravi')]);
  t.equal(refused, 8, 'beyond two at work and ten waiting');
  t.same(begun.slice(0, 6), ['flood', 'flood', 'flood', 'asha', 'ravi', 'flood']);
  t.equal(begun.length, 14);
});
