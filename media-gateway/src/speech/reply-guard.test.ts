import t from 'tap';
import type { CallEventData } from '@parley/shared/contracts/call-events';
import { GuardedReply, Refused, type ReplyGuard, type Verdict } from './reply-guard.ts';

const told = (rule: string) => ({ rule }) as unknown as CallEventData<'guardrail'>;
const MESSAGES = [{ role: 'user' as const, content: 'Tell me a secret.' }];

function guarded(verdicts: { caller?: Verdict; agent?: Verdict }, { answers = true } = {}) {
  const tellings: unknown[] = [];
  const asked: unknown[][] = [];
  const abort = new AbortController();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { caller, agent } = verdicts;
  const guard: ReplyGuard = {
    refusal: () => 'I cannot talk about that.',
    ...(caller && { caller: (messages) => (asked.push(['caller', messages]), Promise.resolve(caller)) }),
    ...(agent && {
      agent: (text, before, messages) => (
        asked.push(['agent', text, before, messages]),
        Promise.resolve(agent)
      ),
    }),
    tell: (event) => void tellings.push(event),
  };
  const reply = new GuardedReply({ guard, answers, messages: MESSAGES, signal: abort.signal, released });
  return { reply, tellings, asked, abort, release };
}

const isRefused = (work: Promise<void>) =>
  work.then(
    () => false,
    (error: unknown) => error instanceof Refused,
  );
const settled = () => new Promise((resolve) => setImmediate(resolve));

void t.test('what the caller said is looked at once, for answers alone', async (t) => {
  const { reply, asked } = guarded({ caller: { passes: true } });
  await reply.admit();
  await reply.pass('One.', '');
  t.same(asked, [['caller', MESSAGES]]);
  const refused = guarded({ caller: { passes: false } });
  t.ok(await isRefused(refused.reply.admit()));
  t.ok(await isRefused(refused.reply.pass('One.', '')));
  t.equal(await refused.reply.mayBeSaid('One moment.', refused.abort.signal), false);
  const greeting = guarded({ caller: { passes: false } }, { answers: false });
  await greeting.reply.admit();
  t.same(greeting.asked, []);
  t.equal(reply.refusal, 'I cannot talk about that.');
});

void t.test('what the agent says is looked at with what it said before', async (t) => {
  const { reply, asked, abort } = guarded({ agent: { passes: false } });
  t.ok(await isRefused(reply.pass('Two.', 'One.')));
  t.equal(await reply.mayBeSaid('One moment.', abort.signal), false);
  t.same(asked, [
    ['agent', 'Two.', 'One.', MESSAGES],
    ['agent', 'One moment.', '', MESSAGES],
  ]);
  const free = guarded({});
  await free.reply.pass('Two.', '');
  t.equal(await free.reply.mayBeSaid('One moment.', free.abort.signal), true);
});

void t.test('a verdict is told when the reply counts, and not of what need not be said', async (t) => {
  const { reply, tellings, release, abort } = guarded({
    caller: { passes: true, told: told('caller') },
    agent: { passes: true, told: told('agent') },
  });
  await reply.mayBeSaid('One moment.', abort.signal);
  await reply.pass('One.', '');
  t.same(tellings, [], 'it may be dropped yet');
  release();
  await settled();
  t.same(tellings, [told('caller'), told('agent')]);

  const silent = guarded({ caller: { passes: true }, agent: { passes: true } });
  await silent.reply.pass('One.', '');
  silent.release();
  await settled();
  t.same(silent.tellings, []);
});

void t.test('of a reply that was dropped nothing is told, and nothing passes', async (t) => {
  const { reply, tellings, release, abort } = guarded({ caller: { passes: false, told: told('caller') } });
  abort.abort(new Error('dropped'));
  release();
  await t.rejects(reply.admit(), /dropped/);
  await settled();
  t.same(tellings, []);
  const late = guarded({ agent: { passes: true, told: told('agent') } });
  const passing = late.reply.pass('One.', '');
  late.abort.abort(new Error('dropped'));
  late.release();
  await t.rejects(passing, /dropped/);
  await settled();
  t.same(late.tellings, []);
});
