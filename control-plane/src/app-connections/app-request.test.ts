import t from 'tap';
import { ACTIONS, APPS } from './app-catalog.ts';
import type { AppBodyTemplate } from './app-descriptor.ts';
import { fillRequest } from './app-request.ts';

const API = 'https://api.example.com/v1';

void t.test('arguments go where their placeholders stand, as they are', async (t) => {
  const template = {
    method: 'POST',
    path: '/things/{thing}/parts',
    query: { zone: '{zone}', kind: 'a {kind|plain} one' },
    headers: { 'x-version': '7' },
    body: {
      id: '{id}',
      who: { name: '{name}', mail: '{mail}' },
      tags: ['{tag}'],
      note: 'for {name}',
      max: 5,
    },
  } as const;
  const filled = fillRequest(API, template, {
    thing: 'a/b ?',
    id: 7,
    name: 'Asha "A" {id}',
    zone: 'Europe/Berlin',
  });
  t.equal(filled?.url, `${API}/things/a%2Fb%20%3F/parts?zone=Europe%2FBerlin&kind=a+plain+one`);
  t.same(filled?.headers, { 'x-version': '7', 'content-type': 'application/json' });
  t.same(
    JSON.parse(String(filled?.body)),
    { id: 7, who: { name: 'Asha "A" {id}' }, note: 'for Asha "A" {id}', max: 5 },
    'what is missing is left out, and what an argument says is no placeholder',
  );
});

void t.test('what is missing has its default, or is left out with all that it would make', async (t) => {
  const template = {
    method: 'POST',
    path: '/{at|main}',
    query: { q: '{q}' },
    body: { who: { mail: '{mail}' } },
  } as const;
  const filled = fillRequest(API, template, { at: '', mail: null });
  t.match(filled, { url: `${API}/main`, body: '{}' });
});

void t.test('no argument leads out of the path', async (t) => {
  const template = { method: 'DELETE', path: '/things/{thing}' } as const;
  for (const thing of ['..', '.', '']) t.equal(fillRequest(API, template, { thing }), undefined, thing);
  t.equal(fillRequest(API, template, { thing: '../x' })?.url, `${API}/things/..%2Fx`);
  t.equal(fillRequest(API, template, { thing: 'x' })?.body, undefined);
});

void t.test('every action of the catalogue names its arguments, and sends all of them', async (t) => {
  for (const { app, action, parameters, request, description } of ACTIONS) {
    const about = `${app}.${action}`;
    t.match(action, /^[a-z][a-z0-9_]{0,63}$/);
    t.match(description, /^[A-Z].*\.$/, about);
    const text = JSON.stringify([request.path, request.query ?? {}, request.body ?? ('' as AppBodyTemplate)]);
    const named = new Set([...text.matchAll(/\{([a-z0-9_]+)(?:\|[^{}"]*)?\}/g)].map((match) => match[1]!));
    t.same([...named].sort(), Object.keys(parameters.properties).sort(), about);
    for (const name of parameters.required) t.ok(named.has(name), `${about} ${name}`);
    for (const [name, property] of Object.entries(parameters.properties))
      t.match(property['description'], /^[A-Z].*\.$/, `${about} ${name}`);
  }
  for (const { app, auth, account } of APPS)
    if (auth.type === 'api_key') t.ok(account, `${app}: a key can be tried`);
});
