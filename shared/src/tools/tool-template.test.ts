import t from 'tap';
import { fillJson, fillText, fillUrl, valueAt } from './tool-template.ts';

const values = {
  arguments: { city: 'São "Paulo"\n', count: 2, flags: { late: true }, empty: '', both: 'argument' },
  variables: { name: 'Asha & Co', both: 'variable' },
  session: { session_id: 's1', from_number: null },
};

void t.test('a JSON template stays JSON, whatever is put into it', (t) => {
  const cases: [template: string, filled: unknown][] = [
    ['{"city":"{{city}}"}', { city: 'São "Paulo"\n' }],
    ['{"city":{{city}}}', { city: 'São "Paulo"\n' }],
    ['{"n":{{count}},"s":"{{count}} of {{name}}"}', { n: 2, s: '2 of Asha & Co' }],
    [
      '{"f":{{flags}},"t":"{{flags}}","l":{{flags.late}}}',
      { f: { late: true }, t: '{"late":true}', l: true },
    ],
    ['{"a":"{{nothing}}","b":{{nothing}},"c":"{{empty|none}}"}', { a: '', b: null, c: 'none' }],
    ['{"q":"say \\"{{name}}\\"","b":{{both}}}', { q: 'say "Asha & Co"', b: 'argument' }],
    ['{"v":"{{variables.both}}","s":"{{ session.session_id }}"}', { v: 'variable', s: 's1' }],
    ['{"p":{{__proto__}},"c":{{constructor.name}}}', { p: null, c: null }],
  ];
  for (const [template, filled] of cases) t.same(JSON.parse(fillJson(template, values)), filled, template);
  t.end();
});

void t.test('in addresses every value is encoded', (t) => {
  t.equal(fillUrl('/v1/{{name}}/x?c={{city}}', values), '/v1/Asha%20%26%20Co/x?c=S%C3%A3o%20%22Paulo%22%0A');
  t.equal(fillUrl('/{{name|../..}}{{nothing|../..}}', values), '/Asha%20%26%20Co..%2F..');
  t.equal(fillText('{{name}} {not} {{}}', values), 'Asha & Co {not} {{}}');
  t.end();
});

void t.test('paths', (t) => {
  const json = { data: { items: [{ id: 7 }] }, 'a-b': 1 };
  t.equal(valueAt(json, 'data.items[0].id'), 7);
  t.equal(valueAt(json, '$.data.items.0.id'), 7);
  t.equal(valueAt(json, 'a-b'), 1);
  t.same(valueAt(json, '$'), json);
  for (const path of ['data.none', 'data.items.1', 'toString', 'data.items.length.x', '__proto__']) {
    t.equal(valueAt(json, path), undefined, path);
  }
  t.end();
});
