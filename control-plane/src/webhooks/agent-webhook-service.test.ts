import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import t from 'tap';
import { openDocumentStore } from '@parley/document-store/document-store';
import { ValidationError } from '@parley/shared/errors/app-error';
import { silentLogger } from '@parley/shared/logging/logger';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { agentCollection } from '../agents/agent-model.ts';
import type { AgentRecord } from '../agents/agent-record.ts';
import type { SecretBox } from '../crypto/secret-box.ts';
import { openDatabase } from '../storage/database.ts';
import { AgentWebhookService } from './agent-webhook-service.ts';

const store = await openDocumentStore({ path: join(t.testdir(), 'agents.db') });
const database = await openDatabase(store.uri, { logger: silentLogger() });
t.teardown(async () => {
  await database[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});
const box = {
  encryptSecret: (text: string) => `locked ${text}`,
  decryptSecret: (text: string) => text.replace('locked ', ''),
} as unknown as SecretBox;

async function scene(archived = false) {
  const clock = new ManualClock(Date.now());
  const did: unknown[][] = [];
  let fails: Error | undefined;
  const _id = `agt_${randomBytes(4).toString('hex')}`;
  const model = database.model(agentCollection);
  await model.collection.insertOne({
    ...{ _id, org_id: 'org_1', project_id: 'prj_1', name: 'Desk', webhook_secrets: {} },
    archived_at: archived ? new Date() : null,
  } as never);
  const service = new AgentWebhookService({
    agents: {
      setWebhooks: (_scope: unknown, _caller: unknown, agent: AgentRecord, settings: unknown) => {
        did.push(['set', settings]);
        return fails ? Promise.reject(fails) : Promise.resolve(agent);
      },
    } as never,
    database,
    agentRecords: agentCollection,
    box,
    audit: {
      record: (entry: { action: string; target: string }) =>
        Promise.resolve(void did.push(['audit', entry.action, entry.target])),
    } as never,
    clock,
  });
  const agent = async () => (await service.find(_id))!;
  const rotate = async (webhook: 'start_call' | 'call_ended', grace = 0) =>
    service.rotate({} as never, {} as never, 'address', await agent(), webhook, grace);
  return { clock, service, did, agent, rotate, _id, fail: (error: Error) => void (fails = error) };
}

void t.test('the first secret of start-call enables it, and each is shown once', async (t) => {
  const { service, rotate, did, agent, _id, clock } = await scene();
  t.same(service.mask(await agent(), 'start_call'), { set: false, last_four: '' });
  const first = await rotate('start_call');
  t.match(first, { secret: /^whsec_/, rotatedAt: new Date(clock.now()), previousValidUntil: null });
  t.notOk('first' in first);
  t.same(did.splice(0), [
    ['set', { start_call: { enabled: true } }],
    ['audit', 'secret.rotated', _id],
  ]);
  t.same(service.mask(await agent(), 'start_call'), { set: true, last_four: first.secret.slice(-4) });
  await rotate('start_call');
  t.same(did.splice(0), [['audit', 'secret.rotated', _id]]);
  await rotate('call_ended');
  t.same(did, [['audit', 'secret.rotated', _id]]);
  const archived = await scene(true);
  await archived.rotate('start_call');
  t.equal(archived.did.length, 1, 'an archived agent is not changed');
});

void t.test('an old secret is good as long as it was given, the newest comes first', async (t) => {
  const { service, rotate, clock, _id } = await scene();
  const known = () => service.known(_id, 'call_ended');
  t.same(await known(), []);
  const first = await rotate('call_ended');
  t.same(await known(), [first.secret]);
  const second = await rotate('call_ended', 60);
  t.same(second.previousValidUntil, new Date(clock.now() + 60_000));
  t.same(await known(), [second.secret, first.secret]);
  t.same(await service.secrets(_id, 'call_ended'), [second.secret, first.secret]);
  clock.advance(59_999);
  t.equal((await known()).length, 2);
  clock.advance(1);
  t.same(await known(), [second.secret]);
  const third = await rotate('call_ended');
  t.same(await known(), [third.secret], 'without grace it is worthless at once');
  t.same(await service.known(_id, 'start_call'), [], 'each has its own');
});

void t.test('who signs first has a secret made, once', async (t) => {
  const { service, _id } = await scene();
  const made = await service.secrets(_id, 'call_ended');
  t.equal(made.length, 1);
  t.same(await service.secrets(_id, 'call_ended'), made);
  const { service: another, _id: other } = await scene();
  const [a, b] = await Promise.all([
    another.secrets(other, 'call_ended'),
    another.secrets(other, 'call_ended'),
  ]);
  t.same(a, b, 'though two asked at once');
  t.same(await service.secrets('agt_gone', 'call_ended'), []);
  t.same(await service.known('agt_gone', 'call_ended'), []);
});

void t.test('settings are stored with the agent, and enabling makes a secret', async (t) => {
  const { service, did, agent, _id } = await scene();
  const set = async (settings: { enabled: boolean }) =>
    service.set({} as never, {} as never, await agent(), 'call_ended', settings);
  await set({ enabled: false });
  t.same(did.splice(0), [['set', { call_ended: { enabled: false } }]]);
  t.same(await service.known(_id, 'call_ended'), []);
  const changed = await set({ enabled: true });
  t.equal((await service.known(_id, 'call_ended')).length, 1);
  t.ok('call_ended' in changed.webhook_secrets, 'as it is now');
});

void t.test('what is wrong with settings is told at its place in the request', async (t) => {
  const { service, agent, fail } = await scene();
  const set = async () =>
    service.set({} as never, {} as never, await agent(), 'call_ended', { enabled: true });
  const detail = (loc: (string | number)[]) => ({ loc, msg: 'wrong', type: 'value_error' });
  fail(
    new ValidationError([
      detail(['body', 'config', 'webhooks', 'call_ended', 'url']),
      detail(['body', 'config', 'webhooks', 'start_call', 'url']),
      detail(['body', 'name']),
    ]),
  );
  await t.rejects(set(), {
    details: [
      detail(['body', 'url']),
      detail(['body', 'config', 'webhooks', 'start_call', 'url']),
      detail(['body', 'name']),
    ],
  } as unknown as Error);
  fail(new Error('a bug'));
  await t.rejects(set(), /a bug/);
});
