import { execFileSync } from 'node:child_process';
import t from 'tap';
import { curlOf } from './curl.ts';
import type { FormField } from './curl.ts';

/** What a shell gives `curl`. */
function wordsOf(command: string): string[] {
  const script = `curl() { for a in "$@"; do printf '%s\\0' "$a"; done; }\n${command}`;
  return execFileSync('sh', ['-c', script], { encoding: 'utf8', env: { PARLEY_API_KEY: 'sk' } })
    .split('\0')
    .slice(0, -1);
}

void t.test('a shell takes the command as it was meant, whatever the body holds', async (t) => {
  const body = { name: 'it\'s `$(id)` "$HOME" \\ !\n', tags: ['é', '<b>'] };
  const command = curlOf({ method: 'POST', path: '/v1/orgs?a=1&b=2', body }, 'http://127.0.0.1:1');
  const words = wordsOf(command);
  t.same(words, [
    ...['-s', '-X', 'POST', 'http://127.0.0.1:1/v1/orgs?a=1&b=2'],
    ...['-H', 'Authorization: Bearer sk', '-H', 'Content-Type: application/json'],
    ...['-d', JSON.stringify(body)],
  ]);
});

void t.test('secrets are told by nobody, wherever they stand in a body', async (t) => {
  const tool = { auth: { type: 'header', name: 'X-Key', value: 'one' }, headers: { authorization: 'two' } };
  const bodies = [
    { name: 'Speech', values: { api_key: 'three' } },
    { provider: 'plivo', credentials: { auth_id: 'four', auth_token: 'five' } },
    { config: { pre_call: { headers: { 'x-key': 'six' } } }, tools: [tool] },
    { type: 'bearer', token: 'seven', password: '', max_tokens: 8, edges: [{ value: 'nine' }] },
  ];
  const shown = bodies.map((body) =>
    JSON.parse(wordsOf(curlOf({ method: 'POST', path: '/v1', body }, '')).at(-1)!),
  );
  const secret = '<secret>';
  t.same(shown, [
    { name: 'Speech', values: { api_key: secret } },
    { provider: 'plivo', credentials: { auth_id: secret, auth_token: secret } },
    {
      config: { pre_call: { headers: { 'x-key': secret } } },
      tools: [{ auth: { type: 'header', name: 'X-Key', value: secret }, headers: { authorization: secret } }],
    },
    { type: 'bearer', token: secret, password: '', max_tokens: 8, edges: [{ value: 'nine' }] },
  ]);
});

void t.test('a form is sent field by field, its files by their names', async (t) => {
  const form: FormField[] = [
    { name: 'default_country', value: "@US;it's", kind: 'part' },
    { name: 'file', value: 'the "best"; people.csv', kind: 'file' },
  ];
  const words = wordsOf(curlOf({ method: 'POST', path: '/v1/import', form }, ''));
  t.same(words.slice(-4), [
    ...['--form-string', "default_country=@US;it's"],
    ...['-F', 'file=@"the \\"best\\"; people.csv"'],
  ]);
  const fields: FormField[] = [{ name: 'name', value: 'Asha & co', kind: 'urlencoded' }];
  t.same(wordsOf(curlOf({ method: 'PATCH', path: '/v1/voices/a', form: fields }, '')).slice(-2), [
    '--data-urlencode',
    'name=Asha & co',
  ]);
});
