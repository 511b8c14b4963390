import t from 'tap';
import { safeTarget } from './safe-target.ts';

void t.test('a sign-in leads back into the console only', async (t) => {
  t.equal(safeTarget('/projects/p/calls?q=a%20b'), '/projects/p/calls?q=a%20b');
  for (const bad of [
    ...[
      undefined,
      7,
      '',
      'https://evil.test',
      '//evil.test',
      '/\\evil.test',
      '/\t/evil.test',
      'javascript:x',
    ],
    ...['/sign-in?to=/x', '/start#code=1', '\\\\evil.test'],
  ])
    t.equal(safeTarget(bad), '/', String(bad));
});
