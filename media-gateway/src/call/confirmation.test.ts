import t from 'tap';
import type { ReplyPart } from '../speech/reply.ts';
import { Confirmation } from './confirmation.ts';
import { DueCalls } from './due-calls.ts';
import { RunningTools } from './running-tools.ts';

const speech = (text: string): ReplyPart => ({ type: 'speech', text, fromModel: true });
const calls = (...ids: string[]): ReplyPart => ({
  type: 'tools',
  calls: ids.map((id) => ({ id, name: 'book', arguments: '{}' })),
  results: new Map(),
});

/** What a yes comes to after an utterance. */
function yesAfter(parts: ReplyPart[], heard: string): string {
  const confirmation = new Confirmation('call_1');
  confirmation.agentSaid(parts, heard);
  return confirmation.callerSaid('Yes.', 'en');
}

void t.test('a yes counts for what was asked behind the call, when half of that was heard', (t) => {
  const asked = [calls('call_0', 'call_1'), speech('Shall I book it?')];
  t.equal(yesAfter(asked, 'Shall I book it?'), 'yes');
  t.equal(yesAfter(asked, 'Shall I'), 'yes');
  t.equal(yesAfter(asked, 'Shall'), 'unclear');
  t.equal(yesAfter(asked, ''), 'unclear');
  t.equal(yesAfter([speech('One moment.'), ...asked], 'One moment. Shall I'), 'yes');
  t.equal(yesAfter([speech('One moment.'), ...asked], 'One moment. Shall'), 'unclear');
  t.equal(yesAfter([calls('call_1'), speech('Sure?')], 'Sure?'), 'yes', 'one word is a question');
  t.equal(yesAfter([speech('Sure?'), calls('call_1')], 'Sure?'), 'unclear', 'what came before is none');
  t.equal(yesAfter([calls('call_2'), speech('Sure?')], 'Sure?'), 'unclear', 'nor what follows another call');
  t.end();
});

void t.test('what is said in between makes an answer unclear, what is not heard does not', (t) => {
  const confirmation = new Confirmation('call_1');
  confirmation.agentSaid([calls('call_1'), speech('Shall I book it?')], 'Shall I book it?');
  confirmation.agentSaid([speech('Hello?')], '');
  t.equal(confirmation.callerSaid('No.', 'en'), 'no');
  t.equal(confirmation.callerSaid(' … ', 'en'), 'unclear', 'keys are no word');
  confirmation.agentSaid([speech('Are you there?')], 'Are you');
  t.equal(confirmation.callerSaid('Yes.', 'en'), 'unclear');
  t.end();
});

void t.test('the second question is behind a call of another name', (t) => {
  const confirmation = new Confirmation('call_1');
  t.equal(confirmation.asked, 1);
  confirmation.agentSaid([calls('call_1'), speech('Shall I book it?')], 'Shall I book it?');
  confirmation.askAgain('late00001');
  t.equal(confirmation.asked, 2);
  t.equal(confirmation.callerSaid('Yes.', 'en'), 'unclear', 'it was not asked again yet');
  confirmation.agentSaid([calls('late00001'), speech('So, yes or no?')], 'So, yes or no?');
  t.equal(confirmation.callerSaid('Yes.', 'en'), 'yes');
  t.end();
});

void t.test('due calls have names of their own, run once, and can be taken back', async (t) => {
  const due = new DueCalls();
  t.notOk(due.waiting);
  const call = { id: 'call_1', name: 'book', arguments: '{}' };
  const first = due.tell(call, 'not done');
  const second = due.add(call, () => Promise.resolve({ content: 'done' }));
  t.same([first, second], ['late00001', 'late00002']);
  t.ok(due.waiting);
  t.ok(due.withdraw(second));
  t.notOk(due.withdraw(second));
  t.equal(due.runOf(second), undefined);
  t.same(due.take(), [{ ...call, id: first }]);
  t.same(due.take(), []);
  t.notOk(due.waiting);
  t.notOk(due.withdraw(first), 'a reply makes it by now');
  const run = due.runOf(first);
  t.same(await run!(() => Promise.resolve()), { content: 'not done' });
  t.equal(due.runOf(first), undefined);
});

void t.test('a reply waits until no tool runs, or those that run are given up', async (t) => {
  const running = new RunningTools();
  await running.idle();
  running.began();
  running.began();
  t.ok(running.any);
  let idle = 0;
  const waits = [running.idle(), running.idle()].map((wait) => wait.then(() => idle++));
  running.ended();
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(idle, 0);
  running.ended();
  await Promise.all(waits);
  t.notOk(running.any);

  t.same(await running.timely(Promise.resolve({ ok: true, content: 'in time' })), {
    ok: true,
    content: 'in time',
  });
  const hanging = [
    running.timely(new Promise(() => undefined)),
    running.timely(new Promise(() => undefined)),
  ];
  running.giveUp();
  t.match(await Promise.all(hanging), [
    { ok: false, code: 'timeout' },
    { ok: false, code: 'timeout' },
  ]);
});
