import t from 'tap';
import { formatAllowEntry, isAllowed, parseAllowEntry } from './allow-list.ts';

void t.test('entries are exact origins, with conditions', async (t) => {
  t.same(parseAllowEntry('http://127.0.0.1:9000'), { origin: 'http://127.0.0.1:9000' });
  t.same(parseAllowEntry('HTTPS://CRM.Example:443/'), { origin: 'https://crm.example' });
  const entry = parseAllowEntry('http://crm.internal ; org=org_1;for=webhook');
  t.same(entry, { origin: 'http://crm.internal', org: 'org_1', for: 'webhook' });
  t.same(parseAllowEntry(formatAllowEntry(entry)), entry);
  t.equal(formatAllowEntry({ origin: 'http://a' }), 'http://a');
});

void t.test('anything else is refused', async (t) => {
  const bad = [
    '',
    'crm.internal',
    '*',
    'ftp://a',
    'http://a/path',
    'http://a?q=1',
    'http://user@a',
    'http://a;org=',
    'http://a;for=everything',
    'http://a;x=1',
  ];
  // A star stands for itself and never for others.
  for (const text of bad) t.throws(() => parseAllowEntry(text), text);
  t.notOk(isAllowed([{ origin: 'http://*' }], new URL('http://a'), { purpose: 'tool' }));
});

void t.test('an entry lets through its origin, org and purpose only', async (t) => {
  const list = [
    { origin: 'http://a:1' },
    { origin: 'http://b:1', org: 'org_1' },
    { origin: 'http://c:1', for: 'tool' as const },
  ];
  const cases: [string, string | undefined, 'tool' | 'webhook', boolean][] = [
    ['http://a:1/any?path', undefined, 'tool', true],
    ['http://a:2/', undefined, 'tool', false],
    ['https://a:1/', undefined, 'tool', false],
    ['http://a.b:1/', undefined, 'tool', false],
    ['http://b:1/', 'org_1', 'webhook', true],
    ['http://b:1/', 'org_2', 'webhook', false],
    ['http://b:1/', undefined, 'webhook', false],
    ['http://c:1/', 'org_2', 'tool', true],
    ['http://c:1/', 'org_2', 'webhook', false],
  ];
  for (const [url, orgId, purpose, expected] of cases) {
    t.equal(isAllowed(list, new URL(url), { purpose, orgId }), expected, `${url} ${orgId} ${purpose}`);
  }
});
