import t from 'tap';
import type { TransferDestination } from '@parley/shared/contracts/agent-config';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { CarrierRequests } from './carrier-requests.ts';
import { salesDestination, wirePlan } from './fakes.ts';
import { TransferTargets } from './transfer-targets.ts';
import { TrustedVariables } from './trusted-variables.ts';

function argsOf(change: Partial<TransferDestination>, { trusted = ['boss'], number = '+14155550199' } = {}) {
  const plan = wirePlan();
  const variables = { boss: number };
  const targets = new TransferTargets({ plan, trusted: new TrustedVariables(variables, trusted) });
  return targets.argsOf(salesDestination(change), 'trf_1');
}

void t.test('the carrier is told whom to call, for how long, and what number is shown', (t) => {
  const blind = {
    to: '+14155550123',
    destination_id: 'sales',
    caller_id: '+14155550101',
    ring_timeout_seconds: 20,
    transfer_id: 'trf_1',
  };
  t.same(argsOf({}), blind);
  t.same(argsOf({ caller_id: 'caller' }), { ...blind, caller_id: '+14155550100' });
  const { caller_id: _, ...warm } = blind;
  t.same(argsOf({ mode: 'warm' }), warm, 'a number of ours is chosen where the call is made');
  t.same(argsOf({ mode: 'warm', caller_id: 'caller' }), { ...warm, caller_id: '+14155550100' });
  const extended = argsOf({ target: { type: 'phone', phone_number: '+14155550123', extension: 'w12' } });
  t.same(extended, { ...blind, extension: 'w12' });
  t.end();
});

void t.test('a number of a variable must be trusted, and allowed by the agent', (t) => {
  const target = (allowed: { allowed_numbers?: string[]; allowed_prefixes?: string[] }) => ({
    target: { type: 'variable', name: 'boss', ...allowed } as TransferDestination['target'],
  });
  t.equal(argsOf(target({ allowed_numbers: ['+14155550199'] }))?.to, '+14155550199');
  t.equal(argsOf(target({ allowed_prefixes: ['+49', '+1415'] }))?.to, '+14155550199');
  t.equal(argsOf(target({ allowed_prefixes: ['+49'] })), undefined);
  t.equal(argsOf(target({ allowed_prefixes: ['55501'] })), undefined, 'a number begins with its prefix');
  t.equal(argsOf(target({ allowed_numbers: ['+14155550198'] })), undefined);
  t.equal(argsOf(target({})), undefined, 'none is allowed unless it is said');
  t.equal(argsOf(target({ allowed_prefixes: ['+'] }), { trusted: [] }), undefined);
  t.equal(argsOf({ target: { type: 'agent', agent_id: 'agt_2' } }), undefined, 'an agent has no number');
  t.end();
});

void t.test('a carrier has fifteen seconds to answer, and answers count once', async (t) => {
  const clock = new ManualClock();
  const sent: { command_id: string; brief?: string | undefined }[] = [];
  const carrier = new CarrierRequests({ clock, send: (request) => void sent.push(request) });
  carrier.notify('hangup', {});
  t.notOk('brief' in sent[0]!);
  const asked = carrier.ask('send_dtmf', { digits: '1' }, 'Somebody calls.');
  t.match(sent[1], { action: 'send_dtmf', args: { digits: '1' }, brief: 'Somebody calls.' });
  carrier.onResult('another', { ok: false });
  carrier.onResult(sent[1]!.command_id, { ok: true });
  carrier.onResult(sent[1]!.command_id, { ok: false });
  t.same(await asked, { ok: true });
  t.equal(clock.pendingTimers, 0);
  const late = carrier.ask('send_dtmf', { digits: '1' });
  t.notOk('brief' in sent[2]!);
  clock.advance(14_999);
  t.equal(clock.pendingTimers, 1);
  clock.advance(1);
  t.same(await late, { ok: false, code: 'timeout' });
  const waiting = [carrier.ask('hangup', {}), carrier.ask('hangup', {})];
  carrier.giveUp();
  t.same(await Promise.all(waiting), [
    { ok: false, code: 'timeout' },
    { ok: false, code: 'timeout' },
  ]);
  const cut = carrier.ask('hangup', {});
  carrier.close();
  t.same(await cut, { ok: false, code: 'call_over' });
  t.equal(clock.pendingTimers, 0);
});
