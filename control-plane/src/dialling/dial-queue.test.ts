import t from 'tap';
import { DIAL_PRIORITIES, type DialKind, type SessionRecord } from '../sessions/session-record.ts';
import { DialQueue, type WaitingCalls } from './dial-queue.ts';
import { SleepingScopes } from './sleeping-scopes.ts';

const NOW = Date.UTC(2026, 5, 1);

interface Call {
  id: string;
  org: string;
  kind?: DialKind;
  account?: string;
  agent?: string;
  campaign?: string;
  /** ms since the epoch. */
  notBefore?: number;
}

function toSession({
  id,
  org,
  kind = 'single',
  account = 'tel',
  agent,
  campaign,
  notBefore = NOW,
}: Call): SessionRecord {
  return {
    ...{ _id: id, org_id: org, project_id: 'prj', agent_id: agent ?? 'agt', campaign_id: campaign ?? null },
    dial: {
      ...{ priority: DIAL_PRIORITIES[kind], account_id: account, source: 'campaign' },
      not_before: new Date(notBefore),
    },
  } as unknown as SessionRecord;
}

const byOrg = (one: SessionRecord, other: SessionRecord) => one.org_id.localeCompare(other.org_id);

/** Calls in memory, oldest first; and of which priorities they were asked for. */
function waiting(calls: Call[]) {
  const left = calls.map(toSession);
  const reads: number[] = [];
  const store: WaitingCalls = {
    byOrg(priority, after, limit) {
      reads.push(priority);
      const found = left.filter(({ org_id, dial }) => dial!.priority === priority && org_id > after);
      return Promise.resolve(found.sort(byOrg).slice(0, limit));
    },
    due(org, priority, where, limit) {
      reads.push(priority);
      const accounts = (where as { 'dial.account_id'?: { $nin: string[] } })['dial.account_id']?.$nin ?? [];
      const limited = (where as { $nor?: { agent_id?: string; 'dial.account_id'?: string }[] }).$nor ?? [];
      const found = left.filter(
        ({ org_id, agent_id, dial }) =>
          org_id === org &&
          dial!.priority === priority &&
          !accounts.includes(dial!.account_id) &&
          !limited.some(
            (one) =>
              one.agent_id === agent_id && (one['dial.account_id'] ?? dial!.account_id) === dial!.account_id,
          ),
      );
      return Promise.resolve(found.slice(0, limit));
    },
  };
  const sleeping = new SleepingScopes();
  const queue = new DialQueue({ calls: store, sleeping });
  /** Takes the next call as the dispatcher does. */
  async function next(): Promise<string | null> {
    const call = await queue.next(NOW);
    if (!call) return null;
    left.splice(left.indexOf(call), 1);
    queue.letGo(call);
    return call._id;
  }
  const drain = async () => {
    const order: string[] = [];
    for (let id = await next(); id !== null; id = await next()) order.push(id);
    return order;
  };
  return { queue, sleeping, next, drain, reads, left };
}

void t.test('transfers before singles before campaigns, the orgs in turns, oldest first', async (t) => {
  const { drain } = waiting([
    { id: 'c1', org: 'a', kind: 'campaign' },
    { id: 'a1', org: 'a' },
    { id: 'a2', org: 'a' },
    { id: 'a3', org: 'a' },
    { id: 'b1', org: 'b' },
    { id: 'c2', org: 'b', kind: 'campaign' },
    { id: 'd1', org: 'd' },
    { id: 'd2', org: 'd' },
    { id: 't1', org: 'd', kind: 'transfer' },
  ]);
  t.same(await drain(), ['t1', 'a1', 'b1', 'd1', 'a2', 'd2', 'a3', 'c1', 'c2']);
});

void t.test('the turn goes on behind who was served last, whatever was read anew', async (t) => {
  const { queue, next } = waiting([
    ...['a1', 'a2', 'a3'].map((id) => ({ id, org: 'a' })),
    ...['b1', 'b2', 'b3'].map((id) => ({ id, org: 'b' })),
    ...['c1', 'c2', 'c3'].map((id) => ({ id, org: 'c' })),
  ]);
  const order: (string | null)[] = [];
  for (let i = 0; i < 9; i++) {
    order.push(await next());
    queue.refresh();
  }
  t.same(order, ['a1', 'b1', 'c1', 'a2', 'b2', 'c2', 'a3', 'b3', 'c3']);
});

void t.test('what a limit holds up is passed over, also where it is more than a page', async (t) => {
  const full = Array.from({ length: 50 }, (_, i) => ({ id: `full${i}`, org: 'a', account: 'full' }));
  const { sleeping, drain, queue } = waiting([...full, { id: 'free', org: 'a', account: 'other' }]);
  sleeping.sleep({ by: 'account:full', kind: 'slot', inMs: 60_000 }, NOW);
  t.same(await drain(), ['free']);
  sleeping.slotsAreFree();
  queue.refresh();
  t.same(
    await drain(),
    full.map(({ id }) => id),
  );
});

void t.test("an org's own limit holds up what it is on, and nothing else", async (t) => {
  const limited = Array.from({ length: 50 }, (_, i) => ({ id: `l${i}`, org: 'org_a', agent: 'agt_1' }));
  const others = [
    { id: 'other account', org: 'org_a', agent: 'agt_1', account: 'tel_2' },
    { id: 'other agent', org: 'org_a', agent: 'agt_2' },
  ];
  const { sleeping, drain, queue } = waiting([...limited, ...others, { id: 'other org', org: 'org_b' }]);
  sleeping.sleep({ by: 'limit:agt_1:tel', kind: 'slot', inMs: 60_000 }, NOW);
  t.same(await drain(), ['other account', 'other org', 'other agent']);
  sleeping.sleep({ by: 'limit:org_a', kind: 'pace', inMs: 60_000 }, NOW);
  sleeping.slotsAreFree();
  queue.refresh();
  t.same(await drain(), []);
});

void t.test('calls that go first are looked for without reading the others again', async (t) => {
  const { queue, left, next, reads } = waiting([
    { id: 'c1', org: 'a', kind: 'campaign' },
    { id: 'c2', org: 'a', kind: 'campaign' },
  ]);
  t.equal(await next(), 'c1');
  reads.length = 0;
  left.push(toSession({ id: 'new', org: 'a' }));
  queue.refresh(DIAL_PRIORITIES.campaign);
  t.equal(await next(), 'new');
  t.equal(await next(), 'c2');
  t.same(reads.sort(), [DIAL_PRIORITIES.transfer, DIAL_PRIORITIES.single], 'each once');
});

void t.test('a pace that pauses what was read costs no further reading', async (t) => {
  const calls = Array.from({ length: 10 }, (_, i) => ({ id: `${i}`, org: 'a' }));
  const { sleeping, next, reads } = waiting(calls);
  t.equal(await next(), '0');
  reads.length = 0;
  for (let i = 1; i < 10; i++) {
    sleeping.sleep({ by: 'account:tel', kind: 'pace', inMs: 20 }, NOW - 30);
    t.equal(await next(), `${i}`);
  }
  t.same(reads, []);
  sleeping.sleep({ by: 'server', kind: 'pace', inMs: 20 }, NOW);
  t.equal(await next(), null);
  t.equal(sleeping.firstWake(NOW), NOW + 20);
});

void t.test('a call that only it holds up comes again after a refresh', async (t) => {
  const { queue, left, next } = waiting([
    { id: 'held', org: 'a' },
    { id: 'free', org: 'a' },
  ]);
  queue.holdUp(left[0]!);
  t.equal(await next(), 'free');
  t.equal(await next(), null);
  queue.refresh();
  t.equal(await next(), 'held');
});

void t.test('what a pace has refused is the next of its org again', async (t) => {
  const { queue, sleeping, left } = waiting([
    { id: 'first', org: 'a' },
    { id: 'second', org: 'a' },
  ]);
  const first = (await queue.next(NOW))!;
  t.equal(first._id, 'first');
  sleeping.sleep({ by: 'account:tel', kind: 'pace', inMs: 20 }, NOW);
  queue.putBack(first);
  t.equal(await queue.next(NOW), null);
  t.same(
    queue.upcoming(8).map(({ _id }) => _id),
    ['first', 'second'],
  );
  t.equal((await queue.next(NOW + 20))?._id, 'first');
  t.equal((await queue.next(NOW + 20))?._id, 'second');
  // Of an org whose last call was handed out, too.
  queue.putBack(left[1]!);
  t.equal((await queue.next(NOW + 20))?._id, 'second');
});

void t.test('a call is handed out once, until it is known what became of it', async (t) => {
  const { queue, left } = waiting([
    { id: 'one', org: 'a' },
    { id: 'two', org: 'a' },
  ]);
  const one = (await queue.next(NOW))!;
  t.equal(one._id, 'one');
  queue.refresh();
  t.equal((await queue.next(NOW))?._id, 'two', 'though the store has it still waiting');
  queue.refresh();
  const reading = queue.next(NOW);
  left.shift();
  queue.letGo(one);
  t.equal(await reading, null, 'what was read before it was let go is too old');
  left.unshift(one);
  queue.refresh();
  t.equal((await queue.next(NOW))?._id, 'one', 'it waits again');
});

void t.test(
  'more orgs than a page holds have their turns, and calls for later are passed over',
  async (t) => {
    const names = Array.from({ length: 45 }, (_, i) => `org ${i + 10}`);
    const later = Array.from({ length: 30 }, (_, i) => ({
      id: `later ${i}`,
      org: 'org 20',
      notBefore: NOW + 1,
    }));
    const calls = names.map((org) => ({ id: org, org })).filter(({ org }) => org !== 'org 20');
    const { queue, next, drain } = waiting([...calls, ...later]);
    t.equal(await next(), 'org 10');
    t.equal(await next(), 'org 11');
    queue.refresh();
    const rest = names.filter((org) => !['org 10', 'org 11', 'org 20'].includes(org));
    t.same(await drain(), rest);
  },
);
