import { execFileSync } from 'node:child_process';
import t from 'tap';
import { curlOf } from './curl.ts';

void t.test('a shell takes the command as it was meant, whatever the body holds', async (t) => {
  const body = { name: 'it\'s `$(id)` "$HOME" \\ !\n', tags: ['é', '<b>'] };
  const command = curlOf({ method: 'POST', path: '/v1/orgs?a=1&b=2', body }, 'http://127.0.0.1:1');
  const script = `curl() { for a in "$@"; do printf '%s\\0' "$a"; done; }\n${command}`;
  const words = execFileSync('sh', ['-c', script], { encoding: 'utf8', env: { PARLEY_API_KEY: 'sk' } })
    .split('\0')
    .slice(0, -1);
  t.same(words, [
    ...['-s', '-X', 'POST', 'http://127.0.0.1:1/v1/orgs?a=1&b=2'],
    ...['-H', 'Authorization: Bearer sk', '-H', 'Content-Type: application/json'],
    ...['-d', JSON.stringify(body)],
  ]);
});
