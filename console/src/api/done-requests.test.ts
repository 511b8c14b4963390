import t from 'tap';
import { doneRequests, formFields } from './done-requests.ts';

void t.test('what was done is told, the newest first, until somebody else comes', async (t) => {
  let changes = 0;
  const stop = doneRequests.subscribe(() => (changes += 1));
  for (let n = 1; n <= 7; n++) doneRequests.add({ method: 'POST', path: `/v1/tools/${n}` });
  t.same(
    doneRequests.list.map(({ path }) => path),
    [7, 6, 5, 4, 3].map((n) => `/v1/tools/${n}`),
  );
  t.equal(new Set(doneRequests.list.map(({ number }) => number)).size, 5);
  doneRequests.clear();
  t.same(doneRequests.list, []);
  t.equal(changes, 8);
  stop();
  doneRequests.add({ method: 'DELETE', path: '/v1/tools/8' });
  t.equal(changes, 8);
});

void t.test('what only reads, checks or signs in is not told', async (t) => {
  doneRequests.clear();
  doneRequests.add({ method: 'GET', path: '/v1/agents' });
  doneRequests.add({ method: 'POST', path: '/v1/agents/a/validate?strict=true', body: { greeting: 'He' } });
  doneRequests.add({ method: 'POST', path: '/auth/v1/password/reset', body: { new_password: 'x' } });
  t.same(doneRequests.list, []);
});

void t.test('a form is told by its fields, and files by their names', async (t) => {
  const form = new FormData();
  form.set('name', 'Asha');
  form.set('file', new File(['RIFF'], 'asha.wav'));
  t.same(formFields(form), [
    { name: 'name', value: 'Asha', kind: 'part' },
    { name: 'file', value: 'asha.wav', kind: 'file' },
  ]);
});
