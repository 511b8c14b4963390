import t from 'tap';
import { fakeCall, salesDestination, webhookTool, wirePlan } from './fakes.ts';
import { TrustedVariables } from './trusted-variables.ts';
import { VariableChanges } from './variable-changes.ts';

const DESK = '+14155550123';
const ELSEWHERE = '+14155550666';

void t.test('a value counts as long as nothing else has replaced it', (t) => {
  const variables: Record<string, string> = { desk: DESK, caller: 'said' };
  const trusted = new TrustedVariables(variables, ['desk', 'absent']);
  t.equal(trusted.get('desk'), DESK);
  t.equal(trusted.get('caller'), undefined);
  t.equal(trusted.get('absent'), undefined);
  variables['desk'] = ELSEWHERE;
  t.equal(trusted.get('desk'), undefined);
  Object.assign(variables, { desk: DESK, night: DESK });
  trusted.add({ night: DESK });
  t.equal(trusted.get('desk'), DESK, 'the same value again');
  t.equal(trusted.get('night'), DESK);
  t.end();
});

void t.test('a later leg is told which values count', async (t) => {
  const variables: Record<string, string> = { desk: DESK, night: DESK };
  const trusted = new TrustedVariables(variables, ['desk']);
  const changes = new VariableChanges(variables, trusted);
  t.same(changes.take(), {}, 'it begins with what is so now');
  trusted.add({ night: DESK });
  t.same(changes.take(), { variables: { night: DESK }, trusted_variables: ['night'] }, 'the same, by a tool');
  variables['desk'] = ELSEWHERE;
  t.same(changes.take(), { variables: { desk: ELSEWHERE } });
  t.same(changes.take(), {});
});

const target = { type: 'variable' as const, name: 'desk', allowed_prefixes: ['+1415'] };

/** A call whose agent may transfer to the number in `desk`, and the number that the carrier is asked to dial. */
function desk({ names = [], variables = { desk: DESK } }: { names?: string[]; variables?: object } = {}) {
  const call = fakeCall({
    plan: wirePlan((plan, config) => {
      config.transfer.destinations = [salesDestination({ target })];
      plan.variables = { ...variables };
      plan.trusted_variables = names;
      plan.tools = [webhookTool()];
    }),
    llm: ({ messages }) =>
      messages.at(-1)!.role === 'tool'
        ? { events: [{ type: 'text', text: 'Done.' }] }
        : { events: [{ type: 'tool_call', call: { id: 'c', name: webhookTool().name, arguments: '{}' } }] },
    tool: () => Promise.resolve({ ok: true, content: '{}', assigned: { desk: DESK }, durationMs: 1 }),
  });
  const command = (type: 'transfer' | 'event', args: Record<string, unknown>) =>
    call.call.command({
      ...{ v: 1, command_id: 'x', session_id: call.plan.session_id, type, args },
      expires_at: new Date().toISOString(),
    });
  return {
    call,
    command,
    async asked() {
      command('transfer', { destination_id: 'sales' });
      await call.wait(2000);
      const data = (type: string) => call.events.findLast((event) => event.type === type)?.data;
      return (data('carrier_command')?.['args'] as { to: string })?.to ?? data('transfer')?.['code'];
    },
  };
}

void t.test('callers are sent to numbers of the request before the call and of tools alone', async (t) => {
  const requested = desk();
  await requested.call.wait(1600);
  t.equal(await requested.asked(), 'target_not_allowed', 'of the request that began the call');

  const preCall = desk({ names: ['desk'] });
  await preCall.call.wait(1600);
  t.equal(await preCall.asked(), DESK);

  const replaced = desk({ names: ['desk'] });
  await replaced.call.wait(1600);
  replaced.command('event', { name: 'moved', variables: { desk: ELSEWHERE } });
  t.equal(await replaced.asked(), 'target_not_allowed', 'of an event that a client sent');

  const looked = desk({ variables: {} });
  await looked.call.wait(1600);
  await looked.call.hears('Who is there today');
  await looked.call.wait(1500);
  t.equal(await looked.asked(), DESK, 'of a tool');
  const told = looked.call.events.flatMap(({ data }) => data['trusted_variables'] ?? []);
  t.same(told, ['desk'], 'which a later leg is told');
});
