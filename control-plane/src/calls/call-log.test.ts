import { join } from 'node:path';
import t from 'tap';
import { openDocumentStore } from '@parley/document-store/document-store';
import type { CallEvent } from '@parley/shared/contracts/call-events';
import type { Turn } from '@parley/shared/contracts/turn';
import { silentLogger } from '@parley/shared/logging/logger';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { openDatabase } from '../storage/database.ts';
import { CallLog, toTurn, type LogOwner } from './call-log.ts';
import { accountOf, totalsOf } from './leg-accounts.ts';
import { sessionEventCollection } from './session-event-model.ts';
import { turnCollection } from './turn-model.ts';

const store = await openDocumentStore({ path: join(t.testdir(), 'log.db') });
const database = await openDatabase(store.uri, { logger: silentLogger() });
t.teardown(async () => {
  await database[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});
await database.ensureIndexes([sessionEventCollection, turnCollection]);

let sessions = 0;
function open({ words = false } = {}) {
  const clock = new ManualClock(Date.now());
  const published: { of: LogOwner; event: { id: string; index: number | null; type: string } }[] = [];
  const searched: unknown[] = [];
  const log = new CallLog({
    database,
    clock,
    listeners: { publish: (of, event) => void published.push({ of, event }) },
    ...(words && {
      words: {
        add: (_session, text) => Promise.resolve(void searched.push(['add', text])),
        change: async (_session, texts, turns) => void searched.push(['change', texts, await turns()]),
      },
    }),
  });
  const owner = { session_id: `ses_${++sessions}`, org_id: 'org_1', project_id: 'prj_1' };
  const gatewayEvent = (index: number, more: Partial<CallEvent> = {}): CallEvent => ({
    ...{ v: 1, id: `evt_${owner.session_id}_g${index}`, session_id: owner.session_id },
    ...{ gateway_id: 'gw_1', claim_id: 'clm_1', index, at: new Date(clock.now()).toISOString() },
    ...{ offset_ms: 1000 + index, type: 'dtmf', data: { direction: 'received', digits: '1' } },
    ...more,
  });
  const all = async () => (await log.events(owner.session_id, { limit: 100, offset: 0 })).items;
  return { clock, log, owner, published, searched, gatewayEvent, all };
}

const turn = (turn_index: number, text: string, more: Partial<Turn> = {}): Turn => ({
  ...{ turn_index, role: 'caller', text, start_ms: 1, end_ms: 2, interrupted: false, redacted: false },
  ...more,
});

void t.test('an event of a gateway is stored once, by its id and by its place', async (t) => {
  const { log, owner, gatewayEvent, all } = open();
  t.equal(await log.storeGatewayEvent(owner, gatewayEvent(0)), true);
  t.equal(await log.storeGatewayEvent(owner, gatewayEvent(0)), false);
  t.equal(await log.storeGatewayEvent(owner, gatewayEvent(0, { id: `evt_${owner.session_id}_x` })), false);
  t.equal(await log.storeGatewayEvent(owner, gatewayEvent(1)), true);
  const events = await all();
  t.equal(events.length, 2);
  t.ok(events[0]!.index > 1 && events[1]!.index - events[0]!.index > 1, 'there is room between them');
  t.equal((await log.event(owner.session_id, events[0]!._id))?._id, events[0]!._id);
  t.equal(await log.event('ses_x', events[0]!._id), null, 'of another session it is none');
});

void t.test('who follows is told what is stored, with its place, and what is not, without', (t) => {
  const { log, owner, gatewayEvent, published } = open();
  const event = gatewayEvent(3);
  log.tell(owner, event);
  log.pass(owner, event);
  const [told, passed] = published;
  t.same([told!.of, passed!.of], [owner, owner]);
  t.ok(told!.event.index! > 0);
  t.match(passed!.event, {
    id: event.id,
    index: null,
    type: 'dtmf',
    at: event.at,
    offset_ms: 1003,
    data: event.data,
  });
  t.match(told!.event, { id: event.id, type: 'dtmf', at: event.at, offset_ms: 1003, data: event.data });
  t.end();
});

void t.test('an own event comes behind the last one, in the time of the call', async (t) => {
  const { clock, log, owner, gatewayEvent, all, published } = open();
  const memory = { type: 'memory', data: { action: 'read', count: 1 } } as never;
  await log.append(owner, memory);
  t.equal((await all())[0]!.offset_ms, 0, 'before the answer');
  await log.storeGatewayEvent(owner, gatewayEvent(0));
  clock.advance(250);
  await log.append(owner, memory);
  const [, second, third] = await all();
  t.equal(third!.index, second!.index + 1);
  t.equal(third!.offset_ms, 1250);
  t.same(third!.at, new Date(clock.now()));
  await log.append(owner, { ...(memory as object), offsetMs: 7 } as never);
  t.equal((await all()).at(-1)!.offset_ms, 7);
  t.equal(published.length, 3);
  t.match(published.at(-1)!.event, { type: 'memory', index: third!.index + 1 });
});

void t.test('an event with a key happens once', async (t) => {
  const { log, owner, all, published } = open();
  const event = { type: 'memory', data: { action: 'read', count: 1 }, key: 'k' } as never;
  await log.append(owner, event);
  await log.append(owner, event);
  const events = await all();
  t.same(
    events.map(({ _id }) => _id),
    [`evt_${owner.session_id}_k`],
  );
  t.equal(published.length, 1);
});

void t.test('who is first, or alone, need not look, and finds a place all the same', async (t) => {
  const { log, owner, gatewayEvent, all } = open();
  const event = (key: string, more: object) =>
    ({ type: 'memory', data: { count: 1 }, key, ...more }) as never;
  await log.append(owner, event('a', { first: true }));
  await log.append(owner, event('b', { alone: true }));
  t.same(
    (await all()).map(({ index }) => index),
    [1, 2],
  );
  await log.append(owner, event('c', { first: true }));
  t.same(
    (await all()).map(({ index }) => index),
    [1, 2, 3],
    'though it was not',
  );
  await log.storeGatewayEvent(owner, gatewayEvent(0));
  await log.append(owner, event('d', {}));
  const last = (await all()).at(-1)!;
  t.match(last._id, /_d$/);
});

void t.test('events are read by type and place, page by page', async (t) => {
  const { log, owner, gatewayEvent, all } = open();
  for (let at = 0; at < 5; at++)
    await log.storeGatewayEvent(
      owner,
      gatewayEvent(at, at % 2 === 0 ? {} : { type: 'warning', data: { code: 'a' } }),
    );
  const indexes = (await all()).map(({ index }) => index);
  const read = async (query: object) => {
    const page = await log.events(owner.session_id, { limit: 10, offset: 0, ...query });
    return [page.items.map(({ index }) => indexes.indexOf(index)), page.total];
  };
  t.same(await read({}), [[0, 1, 2, 3, 4], 5]);
  t.same(await read({ types: ['warning'] }), [[1, 3], 2]);
  t.same(await read({ afterIndex: indexes[1] }), [[2, 3, 4], 3]);
  t.same(await read({ limit: 2, offset: 1 }), [[1, 2], 5]);
  const after = async (query: { types?: string[]; index: number; limit: number }) =>
    (await log.eventsAfter(owner.session_id, query)).map(({ index }) => indexes.indexOf(index));
  t.same(await after({ index: indexes[1]!, limit: 2 }), [2, 3]);
  t.same(await after({ types: ['warning'], index: 0, limit: 9 }), [1, 3]);
});

void t.test('a turn is replaced by a later form of it, and its words stay with its text', async (t) => {
  const { log, owner } = open();
  const words = [{ text: 'Hello', start_ms: 1, end_ms: 2 }];
  const read = async () => (await log.turns(owner.session_id, { words: true }))[0]!;
  await log.storeTurn(owner, turn(0, 'Hello', { confidence: 0.5, language: 'en', node_id: 'n1' }), words);
  t.match(await read(), {
    ...owner,
    ...{ turn_index: 0, role: 'caller', text: 'Hello', start_ms: 1, end_ms: 2, language: 'en' },
    ...{ confidence: 0.5, node_id: 'n1', interrupted: false, backchannel: false, latency: null },
  });
  t.match((await read()).words, words);
  t.notOk('words' in (await log.turns(owner.session_id))[0]!, 'unless they are asked for');
  await log.storeTurn(owner, turn(0, 'Hello', { interrupted: true, backchannel: true }));
  t.match(await read(), {
    interrupted: true,
    backchannel: true,
    language: null,
    confidence: null,
    node_id: null,
  });
  t.match((await read()).words, words);
  await log.storeTurn(owner, turn(0, 'Hell'));
  t.equal((await read()).words, null, 'they were those of another text');
  await log.storeTurn(owner, turn(0, 'Hell'), words);
  await log.storeTurn(owner, turn(0, 'Hell'), null);
  t.equal((await read()).words, null);
  t.equal(await log.countTurns(owner.session_id), 1);
});

void t.test('turns are read in order, or by their numbers', async (t) => {
  const { log, owner } = open();
  for (const index of [2, 0, 1]) await log.storeTurn(owner, turn(index, `turn ${index}`));
  t.same(
    (await log.turns(owner.session_id)).map(({ text }) => text),
    ['turn 0', 'turn 1', 'turn 2'],
  );
  t.same(
    (await log.turnsNumbered(owner.session_id, [2, 9])).map(({ text }) => text),
    ['turn 2'],
  );
  t.equal(await log.countTurns('ses_x'), 0);
});

void t.test('transcripts are searched by the words of now', async (t) => {
  const { log, owner, searched } = open({ words: true });
  await log.storeTurn(owner, turn(0, 'one'));
  await log.storeTurn(owner, turn(1, 'two'));
  await log.storeTurn(owner, turn(1, 'two'));
  await log.storeTurn(owner, turn(1, 'three'));
  t.same(searched, [
    ['add', 'one'],
    ['add', 'two'],
    ['change', { before: 'two', after: 'three' }, ['one', 'three']],
  ]);
});

void t.test('erasing leaves how a session moved, and nothing that was said', async (t) => {
  const { log, owner, gatewayEvent, all } = open();
  await log.storeGatewayEvent(owner, gatewayEvent(0));
  await log.append(owner, { type: 'state', data: { status: 'ended' } } as never);
  await log.storeTurn(owner, turn(0, 'Hello'));
  await log.erase(owner.session_id);
  t.same(
    (await all()).map(({ type }) => type),
    ['state'],
  );
  t.equal(await log.countTurns(owner.session_id), 0);
});

void t.test('a stored turn is told as a leg and an analysis take it', async (t) => {
  const { log, owner } = open();
  const latency = { e2e: 5, stt_final: 1, llm_first_token: 2, tts_first_audio: 3, thought_ahead: null };
  const whole = turn(0, 'Hi', { language: 'en', confidence: 1, node_id: 'n', backchannel: true, latency });
  await log.storeTurn(owner, whole);
  await log.storeTurn(owner, turn(1, 'plain'));
  const [first, second] = await log.turns(owner.session_id);
  t.same(toTurn(first!), whole);
  t.same(toTurn(second!), turn(1, 'plain'), 'what is not known is left out');
});

void t.test('the legs of a call are summed', (t) => {
  const usage = {
    stt_seconds: 1,
    llm_input_tokens: 2,
    llm_output_tokens: 3,
    tts_characters: 4,
    carrier_seconds: 5,
  };
  const report = { usage, agent_talk_ms: 1500, transfer_ms: 250, turns: [] } as never;
  const account = accountOf(report);
  t.same(account, { usage, agent_talk_ms: 1500, transfer_ms: 250 });
  t.match(totalsOf({ legs: { 0: account, 1: account } }), {
    usage: {
      stt_seconds: 2,
      llm_input_tokens: 4,
      llm_output_tokens: 6,
      tts_characters: 8,
      carrier_seconds: 10,
    },
    agent_duration_seconds: 3,
    transfer_duration_seconds: 0.5,
  });
  t.match(totalsOf({ legs: null } as never), { agent_duration_seconds: 0, usage: { stt_seconds: 0 } });
  const handed = accountOf({ ...(report as object), hand_overs: [] } as never);
  t.same(handed.hand_overs, []);
  t.end();
});
