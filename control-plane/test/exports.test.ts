import t from 'tap';
import { auditCollection } from '../src/audit/audit-trail.ts';
import { toolCallCollection } from '../src/calls/tool-call-model.ts';
import { turnCollection } from '../src/calls/turn-model.ts';
import { sessionCollection } from '../src/sessions/session-model.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';

const plane = await openTestControlPlane();
t.teardown(() => plane[Symbol.asyncDispose]());
const { database } = plane.app.services;
const P = `/v1/orgs/${plane.first.org._id}/projects/${plane.first.project._id}`;
const START = Date.parse('2026-01-01T00:00:00Z');
const TURNS = [0, 3, 620];

/** Three sessions an hour apart, and one of a test, by what a session of the API looks like. */
const { body } = await plane.call<{ session_id: string }>('POST', '/v1/sessions', { body: {} });
const made = (await database.model(sessionCollection).findById(body.session_id).lean())!;
await database.model(sessionCollection).deleteMany({});
const sessions = database.model(sessionCollection).collection;
const at = (hour: number) => new Date(START + hour * 3_600_000);
const sessionId = (n: number) => `01890000-0000-7000-8000-00000000000${n}`;
for (const [n, turns] of [...TURNS, 5].entries()) {
  const tenant = { org_id: made.org_id, project_id: made.project_id, session_id: sessionId(n) };
  const test_run_id = n === TURNS.length ? 'trn_1' : null;
  const variables = { note: '=1+1' };
  const name = n === 1 ? ' =cmd' : 'asha';
  await sessions.insertOne({
    ...{
      ...made,
      _id: sessionId(n) as never,
      created_at: at(n),
      user_identifier: name,
      variables,
      test_run_id,
    },
  });
  const of = Array.from({ length: turns }, (_, turn_index) => ({
    ...{ ...tenant, _id: `${sessionId(n)}:${turn_index}` as never, turn_index, role: 'caller' },
    ...{ text: turn_index === 1 ? '+1 "or"\r\nso' : `turn ${turn_index}`, start_ms: 0, end_ms: 1 },
    created_at: at(n),
  }));
  if (turns > 0) await database.model(turnCollection).collection.insertMany(of);
}
await database.model(toolCallCollection).collection.insertOne({
  ...{ _id: 'evt_1' as never, org_id: made.org_id, project_id: made.project_id, session_id: sessionId(1) },
  ...{
    tool_name: 'look_up',
    tool_call_id: 'call_1',
    arguments: '{"a":1}',
    ok: true,
    offset_ms: 5,
    created_at: at(1),
  },
});

async function download(path: string, query = ''): Promise<string> {
  const answer = await fetch(`${plane.url}${P}/exports/${path}${query}`, {
    headers: { authorization: `Bearer ${plane.first.apiKey}` },
  });
  if (answer.status !== 200) throw new Error(await answer.text());
  return Buffer.from(await answer.arrayBuffer()).toString('utf8');
}
const lines = (text: string) =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

void t.test('sessions are exported in both formats, those of tests left out', async (t) => {
  const found = lines(await download('sessions', '?format=jsonl'));
  t.match(found, [
    {
      session_id: sessionId(0),
      user_identifier: 'asha',
      created_at: at(0).toISOString(),
      variables: { note: '=1+1' },
    },
    { session_id: sessionId(1) },
    { session_id: sessionId(2) },
  ]);
  const csv = await download(
    'sessions',
    `?created_after=${at(1).toISOString()}&created_before=${at(2).toISOString()}`,
  );
  const [header, record, ...rest] = csv.split('\r\n');
  t.match(header, /^\u{feff}session_id,agent_id,.*,variables,cursor$/u);
  t.match(record, new RegExp(`^${sessionId(1)},`));
  t.match(record, /,' =cmd,/);
  t.match(record, /,"\{""note"":""=1\+1""\}",/);
  t.same(rest, ['']);
});

void t.test('turns and tool calls', async (t) => {
  const turns = lines(await download('turns', '?format=jsonl'));
  t.same(
    turns.map(({ session_id, index }) => [session_id, index]),
    TURNS.flatMap((count, n) => Array.from({ length: count }, (_, index) => [sessionId(n), index])),
  );
  t.match(
    await download('turns', `?created_before=${at(2).toISOString()}`),
    /\r\n1,[^,]*,caller,"'\+1 ""or""\r\nso",0,1/,
  );
  t.match(lines(await download('tool-calls', '?format=jsonl')), [
    { id: 'evt_1', session_id: sessionId(1), tool_name: 'look_up', arguments: '{"a":1}', ok: true },
  ]);
});

void t.test('exports are narrowed by the filters of the list of sessions', async (t) => {
  const ids = async (path: string, query: string) =>
    lines(await download(path, `?format=jsonl&${query}`)).map(({ session_id }) => session_id);
  t.same(await ids('sessions', 'user_identifier=asha'), [sessionId(0), sessionId(2)]);
  t.same(await ids('sessions', `user_identifier=asha&created_after=${at(1).toISOString()}`), [sessionId(2)]);
  t.same(await ids('sessions', 'status=failed&channel=telephony'), []);
  t.equal((await ids('turns', 'user_identifier=asha')).length, TURNS[0]! + TURNS[2]!);
  t.same(new Set(await ids('turns', 'user_identifier=asha')), new Set([sessionId(2)]));
  t.same(await ids('tool-calls', 'user_identifier=asha'), [], 'calls of tools by their sessions');
  t.same(await ids('tool-calls', 'user_identifier=%20%3Dcmd'), [sessionId(1)]);
  t.same(await ids('tool-calls', `user_identifier=%20%3Dcmd&created_after=${at(2).toISOString()}`), []);
  const all = lines(await download('sessions', '?format=jsonl&user_identifier=asha'));
  const cursor = String(all[0]!['cursor']);
  t.same(await ids('sessions', `user_identifier=asha&cursor=${cursor}`), [sessionId(2)], 'goes on');
  t.match(await plane.call('GET', `${P}/exports/sessions?min_duration_seconds=9&max_duration_seconds=1`), {
    status: 422,
  });
});

void t.test('an export goes on behind any record', async (t) => {
  for (const kind of ['sessions', 'turns']) {
    const all = lines(await download(kind, '?format=jsonl'));
    for (const n of [0, 1, 2, 3, 500, all.length - 1].filter((index) => index < all.length)) {
      const cursor = String(all[n]!['cursor']);
      t.same(lines(await download(kind, `?format=jsonl&cursor=${cursor}`)), all.slice(n + 1), `${kind} ${n}`);
    }
  }
  for (const cursor of [
    'x',
    Buffer.from('["a","b"]').toString('base64url'),
    Buffer.from('[1e17,"b"]').toString('base64url'),
  ])
    t.match(await plane.call('GET', `${P}/exports/sessions?cursor=${cursor}`), {
      status: 422,
      body: { detail: [{ loc: ['query', 'cursor'] }] },
    });
  const trail = await database
    .model(auditCollection)
    .find({ action: /exported$/ })
    .lean();
  t.same([...new Set(trail.map(({ action }) => action))].sort(), [
    'sessions.exported',
    'tool_calls.exported',
    'turns.exported',
  ]);
  t.ok(trail.every(({ target }) => target === plane.first.project._id));
});
