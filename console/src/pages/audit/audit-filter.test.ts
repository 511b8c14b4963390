import t from 'tap';
import {
  NO_FILTER,
  actionInWords,
  isFiltered,
  problemOf,
  readAuditFilter,
  toAddress,
  toAuditQuery,
} from './audit-filter.ts';

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

void t.test('a filter is kept in the address, and only what is understood is read there', async (t) => {
  const filter = { ...NO_FILTER, actor: 'cli', action: 'api_key.revoked', from: '2026-01-30' };
  t.same(toAddress(filter), { actor: 'cli', action: 'api_key.revoked', from: '2026-01-30' });
  t.same(readAuditFilter(toAddress(filter)), filter);
  t.same(toAddress(NO_FILTER), {});
  const strange = { actor: 42, action: 'nothing.known', target: ['x'], from: 'yesterday', to: '2026-13-40' };
  t.same(readAuditFilter(strange), { ...NO_FILTER, actor: '42' });
});
