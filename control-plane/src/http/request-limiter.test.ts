import t from 'tap';
import { silentLogger } from '@parley/shared/logging/logger';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { rateLimited, RequestLimiter } from './request-limiter.ts';

/** A limiter whose buckets were hit so often already; each window ends 10 s after the one before. */
function open(counts: Record<string, number>) {
  const clock = new ManualClock();
  const now = clock.now();
  const names = Object.keys(counts);
  const limiter = new RequestLimiter({
    clock,
    logger: silentLogger(),
    bus: {
      rates: {
        hit(bucket) {
          if (!names.includes(bucket)) return Promise.reject(new Error('the bus is away'));
          counts[bucket]! += 1;
          return Promise.resolve({
            count: counts[bucket]!,
            resetAt: now + (names.indexOf(bucket) + 1) * 10_000,
          });
        },
      },
    },
  });
  return {
    clock,
    counts,
    hit: (limits: Record<string, number>) =>
      limiter.hit(Object.entries(limits).map(([bucket, limit]) => ({ bucket, limit, windowSeconds: 60 }))),
  };
}

void t.test('of several limits the tightest is told, and one that refuses before all others', async (t) => {
  const state = async (counts: Record<string, number>, limits: Record<string, number>) =>
    (await open(counts).hit(limits))!;
  t.same(await state({ a: 0, b: 5, c: 1 }, { a: 10, b: 10, c: 10 }), {
    state: { limit: 10, remaining: 4, resetSeconds: 20 },
    refused: false,
  });
  t.same(await state({ a: 9, b: 0 }, { a: 10, b: 100 }), {
    state: { limit: 10, remaining: 0, resetSeconds: 10 },
    refused: false,
  });
  // Both have nothing left: the one that refuses says when it does no more.
  t.same(await state({ a: 9, b: 30 }, { a: 10, b: 30 }), {
    state: { limit: 30, remaining: 0, resetSeconds: 20 },
    refused: true,
  });
  t.same(await state({ a: 30, b: 9 }, { a: 30, b: 10 }), {
    state: { limit: 30, remaining: 0, resetSeconds: 10 },
    refused: true,
  });
});

void t.test('every limit is hit, also behind one that refuses', async (t) => {
  const { counts, hit } = open({ a: 30, b: 0 });
  await hit({ a: 1, b: 10 });
  t.same(counts, { a: 31, b: 1 });
});

void t.test(
  'a window that ends now is waited for a second, and without a bus nobody is refused',
  async (t) => {
    const { clock, hit } = open({ a: 0 });
    clock.advance(9999);
    t.match(await hit({ a: 5 }), { state: { resetSeconds: 1 } });
    clock.advance(500);
    t.match(await hit({ a: 5 }), { state: { resetSeconds: 1 } });
    t.equal(await hit({ a: 0, away: 5 }), null);
    t.equal(await hit({}), null);
    t.match(rateLimited({ limit: 1, remaining: 0, resetSeconds: 7 }), { status: 429, retryAfterSeconds: 7 });
  },
);
