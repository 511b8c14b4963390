import t, { type Test } from 'tap';
import type { ToolOutcome } from '@parley/shared/tools/tool-runner';
import type { LlmEvent, LlmRequest } from '../providers/llm/llm-provider.ts';
import { fakeCall, salesDestination, wirePlan } from './fakes.ts';

type FakeCall = ReturnType<typeof fakeCall>;

const DONE: ToolOutcome = { ok: true, content: '{"booked":true}', assigned: {}, durationMs: 1 };

const planWith = (execution: { mode?: 'sync' | 'async'; confirm?: boolean; say_before?: string }) =>
  wirePlan((plan, config) => {
    config.transfer.destinations = [salesDestination({})];
    plan.tools = [
      {
        tool_id: 'tol_1',
        name: 'book',
        description: 'Books a table.',
        parameters: { type: 'object', properties: {} },
        type: 'webhook',
        execution,
      },
    ];
  });

/** The last message of a request, as a model would look at it. */
const last = (request: LlmRequest | undefined) => request?.messages.at(-1);
const lastTool = (request: LlmRequest | undefined) => {
  const message = last(request);
  return message?.role === 'tool' ? message.content : '';
};

/** A model that books when it is asked to, asks for the yes, and tells what became of it. */
function booking() {
  let calls = 0;
  return (request: LlmRequest): { events: LlmEvent[] } => {
    const message = last(request);
    const text = (words: string): { events: LlmEvent[] } => ({ events: [{ type: 'text', text: words }] });
    if (message?.role === 'tool') {
      const { content } = message;
      if (content.includes('neither a clear yes')) return text('It is free of charge. Shall I book it?');
      if (content.includes('waiting_for_yes')) return text('Shall I book the table?');
      if (content.includes('said no')) return text('Fine, I leave it.');
      if (content.includes('not clearly say yes')) return text('Then I leave it.');
      if (content.includes('"started"')) return text('I am on it.');
      if (content.includes('booked')) return text('It is booked.');
      return text('That did not work.');
    }
    const said = message?.role === 'user' ? message.content : '';
    if (said.startsWith('Book'))
      return {
        events: [
          { type: 'tool_call', call: { id: `call_${++calls}`, name: 'book', arguments: '{"at":"8"}' } },
        ],
      };
    return text('I see.');
  };
}

const of = (call: FakeCall, type: string) =>
  call.events.filter((event) => event.type === type).map(({ data }) => data);
const answersOf = (call: FakeCall) => of(call, 'tool_confirmation').map(({ answer }) => answer);

async function askedFor(
  execution: Parameters<typeof planWith>[0],
  options: Partial<Parameters<typeof fakeCall>[0]> = {},
) {
  const ran: unknown[] = [];
  const call = fakeCall({
    plan: planWith(execution),
    llm: booking(),
    tool: async (args) => (ran.push(args), DONE),
    ...options,
  });
  await call.wait(1600);
  await call.hears('Book a table');
  await call.wait(2400);
  return { call, ran };
}

const CONFIRM = { confirm: true };

void t.test('a tool that needs a yes runs once the caller has said it, and the model is told', async (t) => {
  const { call, ran } = await askedFor({ ...CONFIRM, say_before: 'Let me see.' });
  t.equal(call.texts().at(-1), 'agent: Shall I book the table?');
  t.same(ran, []);
  await call.hears('Yes please book it');
  await call.wait(2600);
  t.same(ran, [{ at: '8' }]);
  t.same(answersOf(call), ['asked', 'yes']);
  t.equal(call.texts().at(-1), 'agent: Let me see. It is booked.');
  t.equal(of(call, 'tool_started').length, 1, 'one call of the tool');
  t.match(of(call, 'tool_finished'), [
    { tool_call_id: 'call_1', kind: 'webhook', ok: true, outcome: 'succeeded', result: '{"booked":true}' },
  ]);
  await call.hears('Yes');
  await call.wait(1000);
  t.equal(ran.length, 1, 'a second yes means something else');
});

void t.test('a no, and what is twice neither yes nor no, runs nothing', async (t) => {
  const no = await askedFor(CONFIRM);
  await no.call.hears('No thank you');
  await no.call.wait(2000);
  t.equal(no.call.texts().at(-1), 'agent: Fine, I leave it.');
  t.match(of(no.call, 'tool_finished'), [{ ok: false, code: 'declined', outcome: 'declined' }]);

  const unclear = await askedFor(CONFIRM);
  await unclear.call.hears('What does it cost');
  await unclear.call.wait(4600);
  t.equal(unclear.call.texts().at(-1), 'agent: It is free of charge. Shall I book it?');
  t.equal(of(unclear.call, 'tool_finished').length, 0);
  await unclear.call.hears('Perhaps we will see');
  await unclear.call.wait(2000);
  t.same(answersOf(unclear.call), ['asked', 'unclear', 'unclear']);
  t.equal(unclear.call.texts().at(-1), 'agent: Then I leave it.');
  t.match(of(unclear.call, 'tool_finished'), [{ ok: false, outcome: 'unconfirmed' }]);

  const second = await askedFor(CONFIRM);
  await second.call.hears('What does it cost');
  await second.call.wait(4600);
  await second.call.hears('Yes');
  await second.call.wait(2000);
  t.same([no.ran.length, unclear.ran.length, second.ran.length], [0, 0, 1]);
});

const say = (call: FakeCall, text: string) =>
  call.call.command({
    v: 1,
    command_id: 'cmd_1',
    session_id: call.plan.session_id,
    type: 'say',
    args: { text },
    expires_at: new Date().toISOString(),
  });

void t.test('a yes counts only for the question that was asked and heard', async (t) => {
  await t.test('not for what was said in between', async (t) => {
    const { call, ran } = await askedFor(CONFIRM);
    say(call, 'Are you still there?');
    await call.wait(2000);
    await call.hears('Yes');
    await call.wait(1000);
    t.same(answersOf(call), ['asked', 'unclear']);
    t.same(ran, []);
  });
  await t.test('not before it was asked', async (t) => {
    const call = fakeCall({ plan: planWith(CONFIRM), llm: booking(), tool: async () => t.fail() as never });
    await call.wait(1600);
    await call.hears('Book a table');
    // The question is being thought of.
    await call.wait(160);
    await call.hears('Yes yes', 60);
    await call.wait(2000);
    t.notOk(answersOf(call).includes('yes'));
  });
});

void t.test('a transfer and the end of the call leave undone what waits for a yes', async (t) => {
  const moved = await askedFor(CONFIRM);
  moved.call.call.command({
    v: 1,
    command_id: 'cmd_1',
    session_id: moved.call.plan.session_id,
    type: 'transfer',
    args: { destination_id: 'sales' },
    expires_at: new Date().toISOString(),
  });
  t.match(of(moved.call, 'tool_finished'), [{ code: 'transferred', outcome: 'cancelled' }]);

  const over = await askedFor(CONFIRM);
  over.call.call.end({ ended_by: 'system', hangup_reason: 'shutdown' });
  t.match(of(over.call, 'tool_finished'), [{ code: 'call_ended', outcome: 'cancelled' }]);
  t.same([...moved.ran, ...over.ran], []);
});

/** Tools that answer when the test says so. */
function slowTools() {
  const waiting: ((outcome: ToolOutcome) => void)[] = [];
  return { waiting, tool: () => new Promise<ToolOutcome>((resolve) => waiting.push(resolve)) };
}

void t.test('the call goes on while an async tool runs, and its result is told when it comes', async (t) => {
  const { waiting, tool } = slowTools();
  const { call } = await askedFor({ mode: 'async' }, { tool });
  t.equal(call.texts().at(-1), 'agent: I am on it.');
  t.equal(of(call, 'tool_finished').length, 0);
  await call.hears('How are you');
  await call.wait(1600);
  t.equal(call.texts().at(-1), 'agent: I see.', 'the caller is answered meanwhile');
  waiting[0]!(DONE);
  await call.wait(2000);
  t.equal(call.texts().at(-1), 'agent: It is booked.', 'nobody had to ask');
  t.match(of(call, 'tool_finished'), [{ tool_call_id: 'call_1', ok: true, outcome: 'succeeded' }]);
  const request = call.requests.at(-1)!;
  t.equal(lastTool(request), '{"booked":true}');
  t.match(request.messages.at(-2), { role: 'assistant', toolCalls: [{ name: 'book' }] });
  const before = call.requests.length;
  await call.wait(3000);
  t.equal(call.requests.length, before, 'it is told once');
});

void t.test('a result that comes while somebody speaks waits for them', async (t) => {
  const { waiting, tool } = slowTools();
  const { call } = await askedFor({ mode: 'async' }, { tool });
  say(call, 'One two three four five six.');
  await call.wait(200);
  waiting[0]!(DONE);
  await call.wait(600);
  t.notOk(call.texts().some((text) => text.includes('booked')));
  await call.wait(4000);
  t.equal(call.texts().at(-1), 'agent: It is booked.');
});

void t.test(
  'an async tool that still runs when the call ends is told as cancelled, once',
  async (t: Test) => {
    const { waiting, tool } = slowTools();
    const { call } = await askedFor({ mode: 'async' }, { tool });
    call.call.end({ ended_by: 'system', hangup_reason: 'shutdown' });
    waiting[0]!(DONE);
    await call.wait(100);
    await call.call.ended;
    t.match(of(call, 'tool_finished'), [{ ok: false, code: 'call_ended', outcome: 'cancelled' }]);
  },
);

void t.test('a tool that needs a yes and takes its time does both', async (t) => {
  const { waiting, tool } = slowTools();
  const { call } = await askedFor({ mode: 'async', confirm: true }, { tool });
  await call.hears('Yes');
  await call.wait(2200);
  t.equal(call.texts().at(-1), 'agent: I am on it.');
  waiting[0]!(DONE);
  await call.wait(2000);
  t.equal(call.texts().at(-1), 'agent: It is booked.');
  t.equal(of(call, 'tool_finished').length, 1);
});
