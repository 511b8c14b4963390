import t from 'tap';
import { randomBytes } from 'node:crypto';
import { maskSecret, SecretBox } from './secret-box.ts';

const old = { id: 'k1', key: randomBytes(32) };
const fresh = { id: 'k2', key: randomBytes(32) };

void t.test('what was encrypted is read again, and never looks the same twice', async (t) => {
  const box = new SecretBox([old]);
  const stored = box.encryptSecret('whsec_äöü');
  t.equal(box.decryptSecret(stored), 'whsec_äöü');
  t.not(box.encryptSecret('whsec_äöü'), stored);
  t.notMatch(stored, /whsec/);
});

void t.test('a new key in front encrypts, the old one still decrypts', async (t) => {
  const stored = new SecretBox([old]).encryptSecret('before');
  const rotated = new SecretBox([fresh, old]);
  t.equal(rotated.decryptSecret(stored), 'before');
  t.match(rotated.encryptSecret('after'), /^v1\.k2\./);
  t.throws(
    () => new SecretBox([fresh]).decryptSecret(stored),
    /encryption key k1 of a stored secret is missing/,
  );
});

void t.test('a changed value or a changed key id is refused', async (t) => {
  const box = new SecretBox([old, { id: 'k3', key: old.key }]);
  const stored = box.encryptSecret('secret');
  const other = stored.at(-2) === 'A' ? 'B' : 'A';
  t.throws(() => box.decryptSecret(stored.slice(0, -2) + other + stored.at(-1)!));
  t.throws(() => box.decryptSecret(stored.replace('.k1.', '.k3.')));
  t.throws(() => box.decryptSecret('nonsense'));
});

void t.test('a mask shows four characters of long secrets and none of short ones', async (t) => {
  t.same(maskSecret('whsec_0123456789ab'), { set: true, last_four: '89ab' });
  t.same(maskSecret('hunter2'), { set: true, last_four: '' });
});
