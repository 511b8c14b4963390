import t from 'tap';
import { parseRetryAfterMs, RETRY_DELAYS_MS, retryDelayMs } from './webhook-retry.ts';

void t.test('eight attempts, from ten seconds to twelve hours apart', async (t) => {
  const exact = RETRY_DELAYS_MS.map((_, index) => retryDelayMs(index + 1, { random: () => 0.5 }));
  t.same(exact, [10_000, 60_000, 300_000, 1_800_000, 7_200_000, 21_600_000, 43_200_000]);
  t.equal(retryDelayMs(8), null);
});

void t.test('waits are spread by a tenth, both ways', async (t) => {
  t.equal(retryDelayMs(1, { random: () => 0 }), 9000);
  t.equal(retryDelayMs(1, { random: () => 1 }), 11_000);
});

void t.test('what the receiver asks for is obeyed up to an hour', async (t) => {
  const middle = { random: () => 0.5 };
  t.equal(retryDelayMs(1, { ...middle, retryAfterMs: 120_000 }), 120_000);
  t.equal(retryDelayMs(1, { ...middle, retryAfterMs: 86_400_000 }), 3_600_000);
  t.equal(retryDelayMs(1, { ...middle, retryAfterMs: 1 }), 10_000, 'never sooner than planned');
});

void t.test('Retry-After is seconds or a date', async (t) => {
  const now = Date.parse('2026-01-01T00:00:00Z');
  t.equal(parseRetryAfterMs('30', now), 30_000);
  t.equal(parseRetryAfterMs('Thu, 01 Jan 2026 00:01:00 GMT', now), 60_000);
  t.equal(parseRetryAfterMs('Wed, 31 Dec 2025 00:01:00 GMT', now), 0);
  for (const header of [undefined, '', 'soon', '-5']) t.equal(parseRetryAfterMs(header, now), 0);
});
