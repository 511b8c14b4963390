import { join } from 'node:path';
import t from 'tap';
import { openDocumentStore } from '@parley/document-store/document-store';
import type { CarrierCommandData } from '@parley/shared/contracts/call-events';
import { silentLogger } from '@parley/shared/logging/logger';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { CarrierError } from '../carriers/carrier.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import { openDatabase } from '../storage/database.ts';
import { carrierCommandCollection } from './carrier-command-model.ts';
import { CarrierCommands } from './carrier-commands.ts';

const store = await openDocumentStore({ path: join(t.testdir(), 'commands.db') });
const database = await openDatabase(store.uri, { logger: silentLogger() });
t.teardown(async () => {
  await database[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});
let commands = 0;

function scene(change: Partial<SessionRecord> = {}) {
  const clock = new ManualClock(Date.now());
  const world = {
    account: true,
    mayCall: true,
    blocked: new Set<string>(),
    fails: undefined as Error | undefined,
  };
  const did: unknown[][] = [];
  const note =
    (name: string, answer?: unknown) =>
    (...args: unknown[]) => {
      did.push([name, ...args]);
      return world.fails ? Promise.reject(world.fails) : Promise.resolve(answer);
    };
  const session = {
    ...{ _id: 'ses_1', org_id: 'org_1', project_id: 'prj_1', provider: 'twilio' },
    ...{ telephony_account_id: 'tel_1', carrier_call_id: 'CA1' },
    ...change,
  } as SessionRecord;
  const carriers = new CarrierCommands({
    database,
    carriers: {
      open: () =>
        Promise.resolve(
          world.account
            ? ({ hangup: note('hangup'), sendDtmf: note('dtmf'), transfer: note('transfer') } as never)
            : null,
        ),
      mayCall: (account, number) => (did.push(['may', account, number]), Promise.resolve(world.mayCall)),
    },
    store: { change: note('change') } as never,
    consults: {
      begin: note('begin', { ok: true, code: 'begun' }),
      cancel: note('cancel', { ok: true }),
      bridge: note('bridge', { ok: true }),
    } as never,
    suppressions: { blocks: () => Promise.resolve(world.blocked) },
    publicUrl: 'https://parley.example',
    clock,
    logger: silentLogger(),
  });
  const command = (action: CarrierCommandData['action'], args: object = {}): CarrierCommandData => ({
    command_id: `c_${++commands}`,
    action,
    args,
  });
  const run = (action: CarrierCommandData['action'], args: object = {}) =>
    carriers.run(session, command(action, args));
  const model = database.model(carrierCommandCollection);
  return { clock, world, did, session, carriers, command, run, model };
}

void t.test('a command is done once, and its outcome told again', async (t) => {
  const { carriers, session, command, did, model, clock, world } = scene();
  const hangup = command('hangup');
  t.same(await carriers.run(session, hangup), { ok: true });
  t.match(await model.findOne({ _id: hangup.command_id }).lean(), {
    session_id: 'ses_1',
    action: 'hangup',
    state: 'done',
    ok: true,
    code: null,
    expires_at: new Date(clock.now() + 86_400_000),
  });
  t.same(await carriers.run(session, hangup), { ok: true });
  t.same(did, [['hangup', 'CA1']]);
  world.fails = new CarrierError('twilio', 'unavailable', 503);
  const keys = command('send_dtmf', { digits: '1' });
  const outcome = await carriers.run(session, keys);
  t.same(outcome, { ok: false, code: 'unavailable' });
  world.fails = undefined;
  t.same(await carriers.run(session, keys), outcome);
});

void t.test('what a process died over is done again only where that is harmless', async (t) => {
  const { carriers, session, command, did, model } = scene();
  const died = async (action: CarrierCommandData['action'], args: object) => {
    const one = command(action, args);
    await model.create({
      ...{ _id: one.command_id, session_id: 'ses_1', action, state: 'running' },
      expires_at: new Date(Date.now() + 60_000),
    });
    did.length = 0;
    return [await carriers.run(session, one), did.map(([name, , again]) => [name, again])];
  };
  t.same(await died('send_dtmf', { digits: '1' }), [{ ok: false, code: 'unknown' }, []]);
  t.same(await died('transfer', { to: '+14155550123' }), [{ ok: false, code: 'unknown' }, []]);
  t.match(await died('hangup', {}), [{ ok: true }, [['hangup']]]);
  t.match(await died('consult', {}), [{ ok: true, code: 'begun' }, [['begin']]]);
  t.match(await died('consult_cancel', {}), [{ ok: true }, [['cancel']]]);
  t.same(
    await died('bridge', {}),
    [{ ok: true }, [['bridge', true]]],
    'which is told that it is the second time',
  );
});

void t.test('a call of somebody else’s account is out of reach', async (t) => {
  for (const change of [{ telephony_account_id: null }, { carrier_call_id: null }]) {
    const { run, did } = scene(change);
    t.same(await run('hangup'), { ok: false, code: 'no_account' });
    t.same(did, []);
  }
  const gone = scene();
  gone.world.account = false;
  t.same(await gone.run('hangup'), { ok: false, code: 'no_account' });
  gone.world.account = true;
  gone.world.fails = new Error('a bug');
  await t.rejects(gone.run('hangup'), /a bug/);
  gone.world.fails = undefined;
  await gone.carriers.hangup(gone.session);
  t.same(gone.did.at(-1), ['hangup', 'CA1']);
  t.same(await gone.run('bridge'), { ok: true });
  t.same(gone.did.at(-1)!.slice(2), [false]);
});

void t.test('keys are those of a telephone, and pauses', async (t) => {
  const { run, did } = scene();
  for (const digits of ['1', '0123456789ABCD*#wW', '1'.repeat(64)])
    t.same(await run('send_dtmf', { digits }), { ok: true });
  t.same(did[0], ['dtmf', 'CA1', '1']);
  for (const digits of [undefined, '', 'E', '1 2', '1'.repeat(65), '1\n'])
    t.same(await run('send_dtmf', { digits }), { ok: false, code: 'invalid_digits' }, `${digits}`);
});

void t.test(
  'a transfer goes to a number that may be called, and is known before it is asked for',
  async (t) => {
    const { run, did, world } = scene();
    const to = '+14155550123';
    for (const bad of [
      undefined,
      '14155550123',
      '+0415555012',
      '+141555',
      '+1415555012345678',
      '+14155550123 ',
      'x+14155550123',
    ])
      t.same(await run('transfer', { to: bad }), { ok: false, code: 'invalid_number' }, `${bad}`);
    for (const extension of ['', 'A', '1'.repeat(33), '1 '])
      t.same(await run('transfer', { to, extension }), { ok: false, code: 'invalid_digits' });
    t.same(did, []);
    world.mayCall = false;
    t.same(await run('transfer', { to }), { ok: false, code: 'blocked' });
    t.same(did.splice(0), [['may', 'tel_1', to]]);
    world.mayCall = true;
    world.blocked = new Set([to]);
    t.same(await run('transfer', { to }), { ok: false, code: 'blocked' });
    world.blocked = new Set();
    did.length = 0;
    t.same(await run('transfer', { to }), { ok: true });
    const transfer = {
      ...{ transfer_id: 'ses_1', to, caller_id: null, ring_timeout_seconds: 30 },
      ...{ destination_id: null, extension: null },
    };
    t.same(did[1], ['change', 'ses_1', { transfer }]);
    t.match(did[2], [
      'transfer',
      'CA1',
      { transferId: 'ses_1', to, extension: null, callerId: null, ringTimeoutSeconds: 30 },
    ]);
    const { documentUrl, resultUrl } = did[2]![2] as { documentUrl: string; resultUrl: string };
    t.match(documentUrl, /^https:\/\/parley\.example\/.*twilio.*tel_1\?transfer=ses_1$/);
    t.equal(resultUrl, documentUrl.replace('transfer=', 'transfer_result='));
    did.length = 0;
    const all = {
      transfer_id: 'a/b',
      caller_id: '+1',
      ring_timeout_seconds: 9,
      destination_id: 'sales',
      extension: 'w1#',
    };
    t.same(await run('transfer', { to, ...all }), { ok: true });
    t.same(did[1], ['change', 'ses_1', { transfer: { to, ...all } }]);
    t.match((did[2]![2] as { documentUrl: string }).documentUrl, '?transfer=a%2Fb');
  },
);
