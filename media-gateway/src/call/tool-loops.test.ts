import t from 'tap';
import type { LlmEvent } from '../providers/llm/llm-provider.ts';
import { fakeCall, wirePlan, WORD_MS, salesDestination, webhookTool } from './fakes.ts';
import { ToolGuard, toolCallKey } from './tool-guard.ts';
import type { ToolOutcome } from '@parley/shared/tools/tool-runner';

type FakeCall = ReturnType<typeof fakeCall>;

/** A plan with one destination and one tool. */
const planWith = (failureMessage: string) =>
  wirePlan((plan, config) => {
    config.limits.max_tool_steps = 5;
    config.transfer.destinations = [salesDestination({ failure_message: failureMessage })];
    plan.tools = [webhookTool()];
  });

let calls = 0;
const toolCall = (name: string, args: object): LlmEvent => ({
  type: 'tool_call',
  call: { id: `call_${++calls}`, name, arguments: JSON.stringify(args) },
});

const named = (call: FakeCall, type: string, name: string) =>
  call.events.filter((event) => event.type === type && event.data['name'] === name).map(({ data }) => data);
const warnings = (call: FakeCall) =>
  call.events
    .filter(({ type }) => type === 'warning')
    .map(({ data }) => `${data['code'] as string} ${data['name'] as string}`);

/** Time passes, and the carrier refuses every transfer. @returns how many it was asked for */
async function waitRefusing(call: FakeCall, ms: number): Promise<number> {
  let asked = 0;
  let seen = call.events.length;
  for (let passed = 0; passed < ms; passed += 20) {
    await call.wait(20);
    for (; seen < call.events.length; seen++) {
      const { type, data } = call.events[seen]!;
      if (type !== 'carrier_command' || data['action'] !== 'transfer') continue;
      asked++;
      call.call.command({
        v: 1,
        command_id: 'cmd_1',
        session_id: call.plan.session_id,
        type: 'carrier_result',
        args: { command_id: data['command_id'], ok: false, code: 'busy' },
        expires_at: new Date().toISOString(),
      });
    }
  }
  return asked;
}

void t.test(
  'rule 23: a model that insists on a transfer that fails is stopped, and the caller is told',
  async (t) => {
    const call = fakeCall({
      plan: planWith(''),
      llm: () => ({ events: [toolCall('transfer_call', { destination_id: 'sales' })] }),
    });
    await call.wait(1600);
    await call.hears('Sales please');
    const asked = await waitRefusing(call, 8000);
    t.equal(asked, 3, 'the carrier is asked three times, not for ever');
    t.same(warnings(call), ['tool_refused transfer_call', 'tool_given_up transfer_call']);
    t.equal(call.texts().at(-1), 'agent: I am sorry, I had a technical problem. Could you say that again?');
    const finished = named(call, 'tool_finished', 'transfer_call');
    t.same(
      finished.map(({ ok, code }) => (ok ? 'begun' : code)),
      ['begun', 'begun', 'begun', 'repeated_failure', 'repeated_failure', 'repeated_failure'],
    );
    t.equal(call.report, undefined, 'the call goes on');
  },
);

void t.test('what a destination says of its failure is told when the model insists', async (t) => {
  const call = fakeCall({
    plan: planWith('Nobody is free.'),
    llm: () => ({ events: [toolCall('transfer_call', { destination_id: 'sales' })] }),
  });
  await call.wait(1600);
  for (let turn = 0; turn < 3; turn++) {
    await call.hears('Sales please');
    t.equal(await waitRefusing(call, 3000), 1, 'the carrier is asked once a turn');
  }
  await call.hears('Sales please');
  t.equal(await waitRefusing(call, 3000), 0);
  t.equal(call.texts().at(-1), 'agent: Nobody is free.');
  t.equal(warnings(call).at(-1), 'tool_given_up transfer_call');
});

void t.test('the model learns that a transfer it began has failed', async (t) => {
  let asked = 0;
  const call = fakeCall({
    plan: planWith(''),
    llm: () => ({
      events:
        ++asked === 1
          ? [toolCall('transfer_call', { destination_id: 'sales' })]
          : [{ type: 'text', text: 'Nobody answers.' }],
    }),
  });
  await call.wait(1600);
  await call.hears('Sales please');
  await waitRefusing(call, 2 * WORD_MS + 1500);
  t.equal(call.texts().at(-1), 'agent: Nobody answers.');
  const result = call.requests[1]!.messages.find(({ role }) => role === 'tool');
  t.equal(
    result?.content,
    '{"ok":false,"error":"The transfer failed (busy). The caller is still with you."}',
  );
});

void t.test('a tool that fails in the same way three times is not run a fourth time', async (t) => {
  let runs = 0;
  const fails: ToolOutcome = {
    ok: false,
    status: 500,
    code: 'http_error',
    content: '{"ok":false}',
    assigned: {},
    durationMs: 1,
  };
  const call = fakeCall({
    plan: planWith(''),
    tool: async () => (runs++, fails),
    llm: ({ tools }) =>
      tools.length > 0
        ? { events: [toolCall('find_table', runs % 2 ? { a: 1, b: 2 } : { b: 2, a: 1 })] }
        : { events: [{ type: 'text', text: 'It does not work.' }] },
  });
  await call.wait(1600);
  await call.hears('A table please');
  await call.wait(4000);
  t.equal(runs, 3);
  t.equal(call.texts().at(-1), 'agent: It does not work.');
  t.match(call.requests.at(-1)!.messages.at(-1)?.content, /do not call it again/);
  t.same(warnings(call), ['tool_refused find_table']);
});

void t.test('other arguments, another failure or a success begin anew', (t) => {
  const guard = new ToolGuard();
  const key = toolCallKey('find', { day: 1, at: { h: 8, m: 0 } });
  t.equal(toolCallKey('find', { at: { m: 0, h: 8 }, day: 1 }), key, 'the order of fields is no difference');
  t.not(toolCallKey('find', { at: { m: 0, h: 9 }, day: 1 }), key);
  t.not(toolCallKey('find', { at: [8, 0] }), toolCallKey('find', { at: [0, 8] }));
  for (const failure of ['500', '500', '404', '404']) guard.failed(key, failure);
  t.equal(guard.refuse(key), undefined);
  guard.succeeded(key);
  for (let i = 0; i < 2; i++) guard.failed(key, '404');
  t.equal(guard.refuse(key), undefined);
  guard.failed(key, '404');
  t.equal(guard.refuse(toolCallKey('find', { day: 2 })), undefined);
  t.same(
    [guard.refuse(key), guard.refuse(key), guard.refuse(key), guard.refuse(key)],
    [
      { action: 'refuse', first: true },
      { action: 'refuse', first: false },
      { action: 'give_up', first: false },
      { action: 'give_up', first: false },
    ],
  );
  for (let i = 0; i < 1000; i++) guard.failed(`other ${i}`, '500');
  t.equal(guard.refuse(key), undefined, 'it remembers a bounded number of calls');
  t.end();
});
