import t from 'tap';
import type { LiveEvent } from '@parley/shared/contracts/live-events';
import { silentLogger } from '@parley/shared/logging/logger';
import { ManualClock } from '@parley/shared/time/manual-clock';
import type { SessionEventRecord } from './session-event-model.ts';
import { sessionStream } from './session-stream.ts';
import { SessionWatches, WATCH_EVERY_MS } from './session-watches.ts';

void t.test('a gateway is asked for words as long as somebody follows', (t) => {
  const clock = new ManualClock();
  const asked: [string, number][] = [];
  const watches = new SessionWatches({
    clock,
    logger: silentLogger(),
    watch: (sessionId, until) => {
      asked.push([sessionId, until.getTime() - clock.now()]);
      return Promise.reject(new Error('it is gone'));
    },
  });
  const first = watches.watch('ses_1');
  const second = watches.watch('ses_1');
  t.same(asked, [['ses_1', 45_000]], 'once for all');
  clock.advance(WATCH_EVERY_MS - 1);
  t.equal(asked.length, 1);
  clock.advance(1);
  t.equal(asked.length, 2, 'before the first is over');
  watches.renew('ses_1');
  t.equal(asked.length, 3, 'the call has another gateway');
  clock.advance(WATCH_EVERY_MS - 1);
  t.equal(asked.length, 3);
  watches.renew('ses_2');
  t.equal(asked.length, 3, 'which nobody follows');
  first();
  clock.advance(1);
  t.equal(asked.length, 4);
  second();
  t.equal(clock.pendingTimers, 0);
  watches.watch('ses_1');
  t.equal(asked.length, 5, 'begun anew');
  t.end();
});

const record = (index: number, more: Partial<SessionEventRecord> = {}): SessionEventRecord =>
  ({
    _id: `evt_${index}`,
    session_id: 'ses_1',
    index,
    at: new Date(0),
    created_at: new Date(index),
    offset_ms: 0,
    type: 'dtmf',
    data: {},
    ...more,
  }) as unknown as SessionEventRecord;

async function streamOf(
  events: SessionEventRecord[],
  { after = {}, types }: { after?: { id?: string; index?: number }; types?: string[] } = {},
) {
  const asked: { index: number; types?: readonly string[] | undefined }[] = [];
  const watched: string[] = [];
  const stream = await sessionStream(
    {
      event: (_session, id) => Promise.resolve(events.find(({ _id }) => _id === id) ?? null),
      eventsAfter: (_session, query) => {
        asked.push(query);
        const page = events.filter(({ index }) => index > query.index).slice(0, query.limit);
        return Promise.resolve(page);
      },
      turnsNumbered: (_session, numbers) =>
        Promise.resolve(numbers.map((turn_index) => ({ turn_index, text: `text ${turn_index}` }) as never)),
    },
    'ses_1',
    {
      after,
      types,
      watches: {
        watch: (id) => (watched.push(`watch ${id}`), () => void watched.push('over')),
        renew: (id) => void watched.push(`renew ${id}`),
      },
    },
  );
  const stored: unknown[] = [];
  for await (const items of stream.stored()) stored.push(...items.map(({ id }) => id));
  return { stream, stored, asked, watched };
}

void t.test('what is stored is told in order, page by page, behind what the client has', async (t) => {
  const events = Array.from({ length: 450 }, (_, index) => record(index));
  const { stream, stored, asked } = await streamOf(events);
  t.same(stream.topic, { sessionId: 'ses_1' });
  t.equal(stored.length, 450);
  t.same(
    asked.map(({ index }) => index),
    [-201, 199, 399],
  );
  t.equal((await streamOf(events.slice(0, 400))).asked.length, 3, 'a full page may not be the last');
  t.same((await streamOf(events, { after: { index: 447 } })).stored, ['evt_448', 'evt_449']);
  const byId = await streamOf(events, { after: { id: 'evt_448' } });
  t.same(byId.stored, ['evt_449']);
  t.equal(byId.asked[0]!.index, 248);
  t.equal((await streamOf(events, { after: { id: 'evt_x' } })).stored.length, 450, 'an unknown id is none');
});

void t.test('an event that was stored later than one behind it is told, too', async (t) => {
  const events = [record(5, { created_at: new Date(99) }), record(6), record(7)];
  t.same((await streamOf(events, { after: { id: 'evt_7' } })).stored, ['evt_5']);
  const again = await streamOf(events, { after: { id: 'evt_7' } });
  const more: unknown[] = [];
  for await (const items of again.stream.stored()) more.push(...items);
  t.equal(again.asked.at(-1)!.index, 7 - 200, 'it goes on from the furthest');
});

void t.test('words are asked for where they are wanted, and turns have their text', async (t) => {
  const event = (type: string, data: Record<string, unknown> = {}, index: number | null = 3) =>
    ({ id: 'evt_3', index, at: 'now', offset_ms: 0, type, data }) as LiveEvent;
  const { stream, watched } = await streamOf([]);
  stream.opened!()();
  t.same(watched, ['watch ses_1', 'over']);
  t.same(await stream.item(event('turn', { turn_index: 4 }), 'ses_1'), {
    id: 'evt_3',
    data: event('turn', { turn_index: 4, text: 'text 4' }),
  });
  t.same(await stream.item(event('dtmf', { turn_index: 4 }), 'ses_1'), {
    id: 'evt_3',
    data: event('dtmf', { turn_index: 4 }),
  });
  t.equal(
    (await stream.item(event('words', {}, null), 'ses_1'))?.id,
    null,
    'what is not stored has no place',
  );
  t.equal(watched.length, 2);
  for (const type of ['state', 'call_started']) await stream.item(event(type), 'ses_1');
  t.same(watched.slice(2), ['renew ses_1', 'renew ses_1']);
  const some = await streamOf([], { types: ['turn'] });
  some.stream.opened!()();
  t.same(some.watched, []);
  t.equal(await some.stream.item(event('dtmf'), 'ses_1'), null);
  t.ok(await some.stream.item(event('turn', { turn_index: 1 }), 'ses_1'));
  const words = await streamOf([], { types: ['turn', 'words'] });
  words.stream.opened!();
  t.same(words.watched, ['watch ses_1']);
});
