import t from 'tap';
import { NO_FILTER, actionInWords, isFiltered, problemOf, toAuditQuery } from './audit-filter.ts';

void t.test('a filter becomes what the API is asked, both days included', async (t) => {
  t.same(toAuditQuery(NO_FILTER), {});
  const filter = {
    ...{ actor: 'cli', action: 'api_key.revoked', target: ' key_1 ', from: '2026-01-30', to: '2026-01-31' },
  };
  t.same(toAuditQuery(filter), {
    actor: ['cli'],
    action: ['api_key.revoked'],
    target: ['key_1'],
    created_after: '2026-01-30T00:00:00Z',
    created_before: '2026-02-01T00:00:00Z',
  });
  t.same([isFiltered(NO_FILTER), isFiltered({ ...NO_FILTER, to: '2026-01-31' })], [false, true]);
  t.equal(problemOf({ ...filter, to: '2026-01-30' }), null);
  t.equal(problemOf({ ...filter, to: '' }), null);
  t.match(problemOf({ ...filter, to: '2026-01-29' }), /not before/);
  t.same(['api_key.revoked', 'wallet.topped_up'].map(actionInWords), ['API key revoked', 'Wallet topped up']);
});
