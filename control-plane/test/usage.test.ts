import { randomInt } from 'node:crypto';
import t from 'tap';
import { newId, uuidV7 } from '@parley/shared/ids/new-id';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { LONG } from '../../shared/test/fixtures/long.ts';
import type { BookedCall } from '../src/billing/booked-call.ts';
import { replyLatencies } from '../src/sessions/reply-latencies.ts';
import { usageSumCollection } from '../src/usage/usage-model.ts';
import { UsageSums } from '../src/usage/usage-sums.ts';
import { openMortalProcess } from './fixtures/mortal-process.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { signInUser } from './fixtures/test-users.ts';

t.setTimeout(600_000);
const NOW = Date.parse('2037-11-22T20:00:00Z');
const [SESSIONS, QUARTERS] = LONG ? [100_000, 5000] : [600, 90];
const signal = new AbortController().signal;

// Nothing is summed up by itself: the clock stands, and calls are booked past the worker where it would be in the way.
const clock = new ManualClock(NOW);
const plane = await openTestControlPlane({ clock });
t.teardown(() => plane[Symbol.asyncDispose]());
const { database, usageSums } = plane.app.services;
const { org, project } = plane.first;

interface Summary {
  from: string;
  to: string;
  project_id: string | null;
  currency: string;
  total_amount: string;
  sessions: number;
  connected_sessions: number;
  minutes: number;
  average_cost_per_minute_amount: string;
  previous_total_amount: string;
}
interface Day {
  date: string;
  sessions: number;
  connected_sessions: number;
  minutes: number;
  amount: string;
}

const call = (more: Partial<BookedCall> = {}): BookedCall => ({
  session_id: uuidV7(),
  org_id: org._id,
  project_id: project._id,
  agent_id: null,
  agent_version: null,
  channel: 'web',
  direction: 'web',
  connected: true,
  ended_at: new Date('2037-11-20T10:00:00Z'),
  connected_ms: 60_000,
  replies: { count: 0, total_ms: 0 },
  latencies: null,
  end_reason: 'caller_hangup',
  amount_nano: 1_000_000_000n,
  currency: 'USD',
  ...more,
});

const path = (what: string, query: Record<string, string> = {}, orgId = org._id) =>
  `/v1/orgs/${orgId}/usage/${what}?${new URLSearchParams(query)}`;

async function summary(query: Record<string, string> = {}, of = plane.first): Promise<Summary> {
  const answer = await plane.call<Summary>('GET', path('cost-summary', query, of.org._id), {
    token: of.apiKey,
  });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return answer.body;
}
async function daily(query: Record<string, string>, of = plane.first): Promise<Day[]> {
  const answer = await plane.call<{ items: Day[]; total: number }>('GET', path('daily', query, of.org._id), {
    token: of.apiKey,
  });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  if (answer.body.total !== answer.body.items.length) throw new Error('the total is another');
  return answer.body.items;
}

/** Exact decimal text of 10⁻⁹, for amounts that are whole millionths. */
const decimal = (nano: bigint) =>
  `${nano / 1_000_000_000n}.${String((nano % 1_000_000_000n) / 1000n).padStart(6, '0')}`;

void t.test('without a call there are zeros', async (t) => {
  t.match(await summary(), {
    project_id: null,
    from: '2037-11-01',
    to: '2037-11-22',
    currency: 'USD',
    total_amount: '0.000000',
    sessions: 0,
    connected_sessions: 0,
    minutes: 0,
    average_cost_per_minute_amount: '0.000000',
    previous_total_amount: '0.000000',
  });
  const days = await daily({ from: '2037-11-01', to: '2037-11-03' });
  const zero = { sessions: 0, connected_sessions: 0, minutes: 0, amount: '0.000000' };
  t.same(
    days,
    ['2037-11-01', '2037-11-02', '2037-11-03'].map((date) => ({ date, ...zero })),
  );
});

void t.test('calls are summed up as they are booked, and compared with the days before', async (t) => {
  const at = await plane.makeTenant();
  const of = { org_id: at.org._id, project_id: at.project._id };
  for (const [ended, ms, nano] of [
    ['2037-11-09T23:59:59Z', 1, 7_000_000n],
    ['2037-11-10T00:00:00Z', 90_000, 100_000_000n],
    ['2037-11-11T23:59:59.999Z', 30_000, 50_000_000n],
    ['2037-11-12T00:00:00Z', 60_000, 1_000_000_000n],
  ] as const)
    await usageSums.booked(call({ ...of, ended_at: new Date(ended), connected_ms: ms, amount_nano: nano }));
  await usageSums.booked(
    call({
      ...of,
      ended_at: new Date('2037-11-11T01:00:00Z'),
      connected: false,
      connected_ms: 0,
      amount_nano: 0n,
    }),
  );
  await usageSums.booked(
    call({ ...of, ended_at: new Date('2037-11-11T02:00:00Z'), connected_ms: 0, currency: 'EUR' }),
  );
  await usageSums.work(signal);
  t.match(await summary({ from: '2037-11-10', to: '2037-11-11', timezone: 'UTC' }, at), {
    total_amount: '0.150000',
    sessions: 4,
    connected_sessions: 3,
    minutes: 2,
    average_cost_per_minute_amount: '0.075000',
    previous_total_amount: '0.007000',
  });
  t.same(await daily({ from: '2037-11-10', to: '2037-11-11' }, at), [
    { date: '2037-11-10', sessions: 1, connected_sessions: 1, minutes: 1.5, amount: '0.100000' },
    { date: '2037-11-11', sessions: 3, connected_sessions: 2, minutes: 0.5, amount: '0.050000' },
  ]);

  const file = async (query: string, token = at.apiKey) => {
    const { _id } = at.project;
    const answer = await fetch(
      `${plane.url}/v1/orgs/${at.org._id}/projects/${_id}/exports/usage?from=2037-11-10&to=2037-11-11${query}`,
      { headers: { authorization: `Bearer ${token}` } },
    );
    return [answer.status, await answer.text()];
  };
  t.same(
    await file(''),
    [
      200,
      'date,sessions,connected_sessions,minutes,amount\r\n2037-11-10,1,1,1.5,0.100000\r\n' +
        '2037-11-11,3,2,0.5,0.050000\r\n',
    ],
    'as CSV',
  );
  t.same(
    await file('&format=jsonl'),
    [
      200,
      '{"date":"2037-11-10","sessions":1,"connected_sessions":1,"minutes":1.5,"amount":"0.100000"}\n' +
        '{"date":"2037-11-11","sessions":3,"connected_sessions":2,"minutes":0.5,"amount":"0.050000"}\n',
    ],
    'as lines of JSON',
  );
  t.match(await file('', plane.first.apiKey), [404], 'another org has none of it');
});

void t.test('a call counts once, however often and by however many it is booked', async (t) => {
  const at = await plane.makeTenant();
  const of = { org_id: at.org._id, project_id: at.project._id };
  const calls = Array.from({ length: 60 }, (_, n) =>
    call({
      ...of,
      agent_id: `agt_${n % 3}`,
      ended_at: new Date(NOW + (n % 4) * 900_000),
      amount_nano: BigInt(n) * 1000n,
    }),
  );
  const processes = Array.from({ length: 4 }, () => new UsageSums({ database, clock }));
  await Promise.all(
    processes.map(async (sums, index) => {
      // Each in an order of its own, all of them twice.
      const order = [...calls, ...calls].map((one) => ({ one, by: randomInt(1 << 30) }));
      order.sort((a, b) => a.by - b.by);
      for (const [n, { one }] of order.entries()) {
        await sums.booked(one);
        if (n % (20 + index) === 0) await sums.work(signal);
      }
      await sums.work(signal);
    }),
  );
  const nano = calls.reduce((sum, { amount_nano }) => sum + amount_nano, 0n);
  t.match(await summary({ from: '2037-11-22', to: '2037-11-22' }, at), {
    sessions: 60,
    connected_sessions: 60,
    minutes: 60,
    total_amount: decimal(nano),
  });
  const sums = await database.model(usageSumCollection).find({ project_id: at.project._id }).lean();
  t.equal(sums.length, 4);
  for (const { agents, sessions, unconfirmed } of sums) {
    const byAgent = Object.values(agents).reduce((sum, of) => sum + of.sessions, 0);
    t.equal(byAgent, sessions, 'those of the agents are the same calls');
    t.ok(unconfirmed.length <= 200);
  }
});

void t.test('each version of an agent has its own results', async (t) => {
  const { org: orgOf, project: projectOf } = plane.first;
  const agents = `/v1/orgs/${orgOf._id}/projects/${projectOf._id}/agents`;
  const agent = await plane.call<{ id: string }>('POST', agents, { body: { name: 'Divided' } });
  const path = `/v1/agents/${agent.body.id}`;
  await plane.call('PATCH', path, { body: { greeting: 'two' } });
  const splits = [
    { version: 1, weight: 80 },
    { version: 2, weight: 20 },
  ];
  await plane.call('PUT', `${path}/traffic`, { body: { mode: 'pinned', splits } });

  const had = (agent_version: number | null, more: Partial<BookedCall> = {}) =>
    call({ agent_id: agent.body.id, agent_version, replies: { count: 3, total_ms: 2400 }, ...more });
  const calls = [
    ...[had(1), had(1, { replies: { count: 1, total_ms: 1600 } }), had(1, { connected: false })],
    ...[had(2), had(null), had(2, { ended_at: new Date('2037-09-01T10:00:00Z') })],
  ];
  for (const one of calls) await usageSums.booked(one);
  const found = (n: number, goal: 'achieved' | 'unclear') =>
    usageSums.goalFound({ ...calls[n]!, _id: calls[n]!.session_id }, goal);
  await found(0, 'achieved');
  await usageSums.work(signal);
  // Told again, and later told otherwise: the first word counts, once.
  await found(0, 'achieved');
  await found(0, 'unclear');
  await found(1, 'unclear');
  await found(4, 'achieved');
  await usageSums.work(signal);

  const results = async (query = '') =>
    (await plane.call('GET', `${path}/traffic/results?from=2037-11-01&to=2037-11-30${query}`)).body;
  t.same(await results(), {
    ...{ from: '2037-11-01', to: '2037-11-30', currency: 'USD' },
    items: [
      {
        ...{ version: 1, weight: 80, sessions: 3, connected_sessions: 2, minutes: 3 },
        goals: { achieved: 1, not_achieved: 0, unclear: 1 },
        ...{ average_reply_ms: 914, total_amount: '3.000000' },
      },
      {
        ...{ version: 2, weight: 20, sessions: 1, connected_sessions: 1, minutes: 1 },
        goals: { achieved: 0, not_achieved: 0, unclear: 0 },
        ...{ average_reply_ms: 800, total_amount: '1.000000' },
      },
    ],
  });
  t.match(await results('&version=7'), {
    items: [{ version: 7, weight: 0, sessions: 0, average_reply_ms: null, total_amount: '0.000000' }],
  });
  await plane.call('PUT', `${path}/traffic`, { body: { mode: 'latest' } });
  t.match(await results(), { items: [{ version: 2, weight: 100, sessions: 1 }] });
});

void t.test('statistics tell by day and agent how calls ended and how fast they were answered', async (t) => {
  const at = await plane.makeTenant();
  const of = { org_id: at.org._id, project_id: at.project._id };
  const [one, other] = [newId('agt'), newId('agt')];
  const had = (agent_id: string | null, more: Partial<BookedCall> = {}) =>
    call({ ...of, agent_id, agent_version: agent_id === null ? null : 1, ...more });
  const fast = { count: 2, total_ms: 1000 };
  const calls = [
    ...[had(one, { replies: fast }), had(one, { replies: { count: 1, total_ms: 9000 } })],
    had(one, { connected: false, connected_ms: 0, end_reason: 'no_answer' }),
    ...[had(other, { end_reason: 'a.$b' }), had(null, { end_reason: null })],
    had(one, { ended_at: new Date('2037-11-20T23:59:59Z') }),
    had(one, { ended_at: new Date('2037-11-21T00:00:00Z') }),
    // A test, and a call of long ago.
    ...[had(one, { agent_version: null }), had(one, { ended_at: new Date('2037-10-01T10:00:00Z') })],
  ];
  for (const booked of calls) await usageSums.booked(booked);
  await usageSums.work(signal);
  const read = async (query: string, token = at.apiKey) =>
    plane.call<{ items: object[]; total: number }>(
      'GET',
      `/v1/orgs/${of.org_id}/projects/${of.project_id}/statistics/daily${query}`,
      { token },
    );
  const { items } = (await read('?from=2037-11-20&to=2037-11-21')).body;
  t.match(items, [
    {
      ...{ date: '2037-11-20', agent_id: one, sessions: 4, connected_sessions: 3 },
      ...{ minutes: 3, answer_rate: 0.75 },
      end_reasons: [
        { reason: 'caller_hangup', sessions: 3 },
        { reason: 'no_answer', sessions: 1 },
      ],
    },
    { date: '2037-11-20', sessions: 1 },
    { date: '2037-11-20', sessions: 1 },
    { date: '2037-11-21', agent_id: one, sessions: 1 },
  ]);
  t.same((items[0] as { reply_times: unknown }).reply_times, [
    { up_to_ms: 250, sessions: 0 },
    { up_to_ms: 500, sessions: 1 },
    ...[750, 1000, 1500, 2000, 3000, 5000].map((up_to_ms) => ({ up_to_ms, sessions: 0 })),
    { up_to_ms: null, sessions: 1 },
  ]);
  t.match(
    items.find((item) => (item as { agent_id: string | null }).agent_id === null),
    { end_reasons: [{ reason: 'unknown', sessions: 1 }] },
  );
  t.match((await read(`?to=2037-11-21&agent_id=${other}`)).body.items, [
    { agent_id: other, end_reasons: [{ reason: 'other', sessions: 1 }] },
  ]);
  t.equal((await read('')).body.total, 4, 'the last seven days');
  t.equal((await read('?from=2037-10-01&to=2037-11-20')).status, 422);
  t.equal((await read('', plane.first.apiKey)).status, 404);
});

void t.test('medians of replies and of their parts are those of single answers', async (t) => {
  const at = await plane.makeTenant();
  const of = { org_id: at.org._id, project_id: at.project._id };
  const [one, other] = [newId('agt'), newId('agt')];
  const answered = (agent_id: string, ended: string, replies: readonly number[]) =>
    call({
      ...{ ...of, agent_id, agent_version: 1, ended_at: new Date(ended) },
      latencies: replyLatencies(
        replies.map((e2e) => ({
          latency: {
            ...{
              e2e,
              stt_final: e2e / 2,
              llm_first_token: e2e / 4,
              tts_first_audio: null,
              thought_ahead: null,
            },
          },
        })),
      ),
    });
  for (const booked of [
    // Means of 700 and 2000; the median of the six answers is 500.
    answered(one, '2037-11-20T10:00:00Z', [400, 450, 500, 1450]),
    answered(other, '2037-11-20T11:00:00Z', [3000, 1000]),
    answered(one, '2037-11-21T10:00:00Z', [200]),
    call({ ...of, ended_at: new Date('2037-11-19T10:00:00Z') }),
  ])
    await usageSums.booked(booked);
  await usageSums.work(signal);
  interface Figures {
    date: string;
    agent_id: string | null;
    sessions: number;
    answer_rate: number | null;
    reply_latency: Record<string, number | null>;
  }
  const read = async (query: string) =>
    (
      await plane.call<{ items: Figures[]; total: number; period: Figures }>(
        'GET',
        `/v1/orgs/${of.org_id}/projects/${of.project_id}/statistics/daily?from=2037-11-19&to=2037-11-21${query}`,
        { token: at.apiKey },
      )
    ).body;
  const near = (figures: Figures | undefined, [replies, reply, llm]: [number, number, number]) => {
    const { median_ms, llm_median_ms, ...rest } = figures!.reply_latency;
    t.equal(rest['replies'], replies);
    t.ok(Math.abs(median_ms! - reply) <= 0.05 * reply + 1, `${median_ms} is near ${reply}`);
    t.ok(Math.abs(llm_median_ms! - llm) <= 0.05 * llm + 1, `${llm_median_ms} is near ${llm}`);
    t.equal(rest['voice_median_ms'], null, 'what was not measured has none');
  };
  const days = await read('&by=day');
  t.match(days.items, [
    { date: '2037-11-19', agent_id: null, sessions: 1, reply_latency: { replies: 0, median_ms: null } },
    { date: '2037-11-20', agent_id: null, sessions: 2 },
    { date: '2037-11-21', agent_id: null, sessions: 1 },
  ]);
  near(days.items[1], [6, 500, 125]);
  near(days.period, [7, 500, 125]);
  t.match(days.period, { from: '2037-11-19', to: '2037-11-21', sessions: 4, answer_rate: 1 });
  const agents = await read('&by=agent');
  t.match(agents.items, [
    { date: '2037-11-19', agent_id: one, sessions: 2 },
    { agent_id: null, sessions: 1 },
    { agent_id: other, sessions: 1 },
  ]);
  near(agents.items[0], [5, 450, 112]);
  near((await read('')).items[1], [4, 450, 112]);
  near((await read(`&agent_id=${other}`)).period, [2, 1000, 250]);
  t.match((await read(`&agent_id=${newId('agt')}`)).period, { sessions: 0, answer_rate: null });
});

void t.test('a process may die after any step', async (t) => {
  const at = await plane.makeTenant();
  const of = { org_id: at.org._id, project_id: at.project._id };
  let booked = 0;
  let lived = false;
  // The second round meets a sum that is there.
  for (const round of [1, 2]) {
    lived = false;
    for (let steps = 0; !lived; steps++) {
      t.ok(steps < 20, `round ${round} comes to an end`);
      const one = call(of);
      const mortal = await openMortalProcess(plane);
      lived = await mortal.live(steps, async (services) => {
        await services.usageSums.booked(one);
        await services.usageSums.work(signal);
      });
      await mortal[Symbol.asyncDispose]();
      booked++;
      if (steps % 2 === 0) await usageSums.booked(one);
      // Another process finds what is left; told again, or stored before.
      else await new UsageSums({ database, clock }).work(signal);
      await usageSums.booked(one);
      await usageSums.work(signal);
      t.equal((await summary({}, at)).sessions, booked, `after ${steps} steps`);
    }
  }
  t.ok(booked > 8);
});

void t.test('an addition that comes late, after that of another process, adds nothing twice', async (t) => {
  const at = await plane.makeTenant();
  const of = { org_id: at.org._id, project_id: at.project._id };
  for (const sessions of [1, 2]) {
    await usageSums.booked(call(of));
    const { held, let: letGo, reached } = heldAtTheSum();
    const late = held.work(signal);
    await reached;
    await usageSums.work(signal);
    letGo();
    await late;
    t.equal(
      (await summary({}, at)).sessions,
      sessions,
      sessions === 1 ? 'the first of a sum' : 'a later one',
    );
  }
});

/** A process that stops before its write to a sum, until it is let go. */
function heldAtTheSum() {
  const gate = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const { collection } = database.model(usageSumCollection);
  const slow = {
    insert: database.insert.bind(database),
    model: (of: typeof usageSumCollection) =>
      of.name !== usageSumCollection.name
        ? database.model(of)
        : {
            collection: {
              findOne: collection.findOne.bind(collection),
              async updateOne(...args: Parameters<typeof collection.updateOne>) {
                reached.resolve();
                await gate.promise;
                return collection.updateOne(...args);
              },
            },
          },
  };
  const held = new UsageSums({ database: slow as unknown as typeof database, clock });
  return { held, let: () => gate.resolve(), reached: reached.promise };
}

void t.test(`the figures are those of ${SESSIONS} calls, in every zone`, async (t) => {
  const at = await plane.makeTenant();
  const second = newId('prj');
  await database
    .model(plane.app.features.collections.find(({ name }) => name === 'projects')!)
    .collection.insertOne({
      ...at.project,
      _id: second as never,
      slug: 'second',
    });
  const from = Date.parse('2036-11-22T00:00:00Z');
  const quarters = Array.from({ length: QUARTERS }, () => from + randomInt((NOW - from) / 900_000) * 900_000);
  const calls = Array.from({ length: SESSIONS }, () => {
    const connected = randomInt(5) > 0;
    return call({
      org_id: at.org._id,
      project_id: randomInt(3) === 0 ? second : at.project._id,
      agent_id: randomInt(4) === 0 ? null : `agt_${randomInt(5)}`,
      ended_at: new Date(quarters[randomInt(QUARTERS)]! + randomInt(900_000)),
      connected,
      connected_ms: connected ? randomInt(1, 3_600_000) : 0,
      amount_nano: connected ? BigInt(randomInt(1, 2_000_000)) * 1000n : 0n,
    });
  });
  for (let n = 0; n < calls.length; n += 500)
    await Promise.all(calls.slice(n, n + 500).map((one) => usageSums.booked(one)));
  await usageSums.work(signal);
  for (const timezone of [
    'UTC',
    'Asia/Kathmandu',
    'Australia/Lord_Howe',
    'Africa/Cairo',
    'America/Santiago',
  ]) {
    const day = new Intl.DateTimeFormat('en-CA', { timeZone: timezone });
    for (const project_id of [undefined, second]) {
      const query = {
        ...{ from: '2036-12-01', to: '2037-11-21', timezone },
        ...(project_id !== undefined && { project_id }),
      };
      const expected = new Map<string, { calls: number; connected: number; ms: number; nano: bigint }>();
      const total = { calls: 0, ms: 0, nano: 0n };
      for (const one of calls) {
        if (project_id !== undefined && one.project_id !== project_id) continue;
        const date = day.format(one.ended_at);
        if (date < query.from || date > query.to) continue;
        const of = expected.get(date) ?? { calls: 0, connected: 0, ms: 0, nano: 0n };
        expected.set(date, {
          calls: of.calls + 1,
          connected: of.connected + (one.connected ? 1 : 0),
          ms: of.ms + one.connected_ms,
          nano: of.nano + one.amount_nano,
        });
        total.calls++;
        total.ms += one.connected_ms;
        total.nano += one.amount_nano;
      }
      const days = await daily(query, at);
      const none = { calls: 0, connected: 0, ms: 0, nano: 0n };
      t.equal(days.length, 356);
      t.same(
        days,
        days.map(({ date }) => {
          const { calls, connected, ms, nano } = expected.get(date) ?? none;
          return {
            date,
            sessions: calls,
            connected_sessions: connected,
            minutes: Math.round(ms / 60) / 1000,
            amount: decimal(nano),
          };
        }),
        `${timezone} ${project_id}`,
      );
      t.match(await summary(query, at), {
        project_id: project_id ?? null,
        sessions: total.calls,
        minutes: Math.round(total.ms / 60) / 1000,
        total_amount: decimal(total.nano),
      });
    }
  }
});

void t.test('a query that can mean nothing is refused', async (t) => {
  const other = await plane.makeTenant();
  for (const [query, loc] of [
    [{ timezone: 'Mars/Olympus' }, 'timezone'],
    [{ timezone: '+05:30' }, 'timezone'],
    [{ from: '2037-02-30' }, 'from'],
    [{ from: '2037-01-01T00:00:00Z' }, 'from'],
    [{ from: '2036-01-01', to: '2037-01-02' }, 'to'],
    [{ from: '2037-01-02', to: '2037-01-01' }, 'to'],
    [{ project_id: other.project._id }, 'project_id'],
    [{ project_id: newId('prj') }, 'project_id'],
    [{ agent_id: newId('agt') }, 'agent_id'],
  ] as const)
    for (const what of ['cost-summary', 'daily']) {
      const answer = await plane.call<{ detail: { loc: string[] }[] }>('GET', path(what, query));
      t.equal(answer.status, 422, JSON.stringify(query));
      t.same(answer.body.detail[0]?.loc, ['query', loc]);
    }
});

void t.test('a key sees the whole org, a user of some projects nothing', async (t) => {
  const owner = await signInUser(plane, 'owner@example.com');
  await owner.join(org._id, 'owner');
  const made = await plane.call<{ id: string }>('POST', `/v1/orgs/${org._id}/projects`, {
    token: owner.token,
    body: { name: 'Another' },
  });
  t.equal(made.status, 201, JSON.stringify(made.body));
  await usageSums.booked(call({ project_id: made.body.id, ended_at: new Date('2037-11-21T10:00:00Z') }));
  await usageSums.work(signal);
  t.equal((await summary({ from: '2037-11-21', to: '2037-11-21' })).sessions, 1);
  t.equal((await summary({ from: '2037-11-21', project_id: made.body.id })).sessions, 1);
  const members = plane.app.features.collections.find(({ name }) => name === 'members')!;
  await database.model(members).collection.updateOne({ user_id: owner.userId, org_id: org._id } as never, {
    $set: { project_ids: [project._id], role: 'editor' },
  });
  plane.app.services.directory.forget(owner.userId);
  for (const what of ['cost-summary', 'daily']) {
    const refused = await plane.call<{ code: string }>('GET', path(what), { token: owner.token });
    t.same([refused.status, refused.body.code], [403, 'forbidden']);
  }
});
