import t from 'tap';
import { ManualClock } from '@parley/shared/time/manual-clock';
import type { LlmProvider, LlmRequest } from '../providers/llm/llm-provider.ts';
import { NOTHING_USED } from '@parley/shared/contracts/call-prices';
import { wirePlan } from './fakes.ts';
import { FlowRouter, type Question } from './flow-router.ts';

const ROUTES = ['a', 'b'].map((name) => ({ condition: `They want ${name}.`, route: name }));
const route = (mayStay = true) => ({ type: 'route', options: ROUTES, mayStay }) as unknown as Question;
const read = (fields: unknown[], options: unknown[] = []) =>
  ({ type: 'read', fields, options }) as unknown as Question;
const NAME = { name: 'name', description: 'Their name.', type: 'string', options: [] };

/** Has a model decide. @param write what it writes, or how it fails */
function router(write: string | (() => Promise<string>)) {
  const clock = new ManualClock();
  const requests: LlmRequest[] = [];
  const warnings: unknown[] = [];
  const over = new AbortController();
  const usage = { ...NOTHING_USED };
  const llm = {
    name: 'some',
    model: { model_id: 'm' },
    async *stream(request: LlmRequest) {
      requests.push(request);
      yield { type: 'text', text: typeof write === 'string' ? write : await write() };
      yield { type: 'usage', inputTokens: 3, outputTokens: 2 };
    },
  } as unknown as LlmProvider;
  const ids: (string | null)[] = [];
  const flow = new FlowRouter({
    plan: wirePlan(),
    llm: (id) => (ids.push(id), llm),
    messages: (systemPrompt) => [{ role: 'system', content: systemPrompt }],
    clock,
    usage,
    emit: (type, data) => void warnings.push([type, data]),
    signal: over.signal,
  });
  const decide = (question: Question, signal = new AbortController().signal) => flow.decide(question, signal);
  return { clock, requests, warnings, usage, ids, over, decide };
}

void t.test('a model names the way by its number', async (t) => {
  const choice = async (answer: string) => (await router(answer).decide(route())).choice;
  t.equal(await choice('2'), 'b');
  t.equal(await choice('It is 1.'), 'a');
  t.equal(await choice('0'), null);
  t.equal(await choice('3'), null, 'there is no third way');
  t.equal(await choice('none'), null);
  const { decide, requests, usage, ids } = router('1');
  t.same(await decide(route()), { choice: 'a', values: null });
  t.match(requests[0], {
    temperature: 0,
    maxOutputTokens: 16,
    tools: [],
    timeoutMs: 1500,
    cacheKey: 'agt_1:routing',
  });
  t.match(requests[0]!.messages[0]!.content, /numbered conditions/);
  t.equal(
    requests[0]!.messages[1]!.content,
    '[Which of these is true now?\n1. They want a.\n2. They want b.\nAnswer 0 if none of them is true.]',
  );
  t.match([usage.llm_input_tokens, usage.llm_output_tokens], [3, 2]);
  t.same(ids, [null], "the agent's own model");
  const must = router('1');
  await must.decide(route(false));
  t.match(must.requests[0]!.messages[1]!.content, 'Answer with the one that fits best.]');
});

void t.test('a model takes down what callers say', async (t) => {
  const values = async (answer: string) => (await router(answer).decide(read([NAME]))).values;
  t.same(await values('{"values": {"name": "Ada"}}'), { name: 'Ada' });
  t.same(await values('Sure: ```{"values": {"name": "Ada"}}``` there.'), { name: 'Ada' });
  for (const none of ['{"values": null}', '{"values": ["Ada"]}', '{"values": "Ada"}', '{}'])
    t.same(await values(none), {}, none);
  for (const broken of ['Ada', '', '{"values": ']) t.equal(await values(broken), null, broken);
  const { decide, requests } = router('{"values": {}, "choice": 2}');
  t.same(await decide(read([NAME], ROUTES)), { choice: 'b', values: {} });
  t.match(requests[0], { maxOutputTokens: 400 });
  t.match(requests[0]!.messages[0]!.content, /^You take down/);
  const asked = requests[0]!.messages[1]!.content;
  t.ok(asked.startsWith('[Answer {"values": {…}, "choice": 0}.\n'), asked);
  t.match(asked, 'or 0:\n1. They want a.\n2. They want b.]');
  const alone = router('{"values": {}, "choice": 1}');
  t.same(await alone.decide(read([NAME])), { choice: null, values: {} });
  t.ok(alone.requests[0]!.messages[1]!.content.startsWith('[Answer {"values": {…}}.\n'));
  const nothing = router('{}');
  t.same(await nothing.decide(read([])), { choice: null, values: null });
  t.equal(nothing.requests.length, 0, 'where nothing is wanted nobody is asked');
});

void t.test('a decision has a second and a half, and failures leave the caller where they are', async (t) => {
  const late = router(() => new Promise(() => undefined));
  const decision = late.decide(route());
  late.clock.advance(1499);
  t.equal(late.clock.pendingTimers, 1);
  late.clock.advance(1);
  t.same(await decision, { choice: null, values: null });
  t.same(late.warnings, [['warning', { code: 'routing_late' }]]);

  const failing = router(() => Promise.reject(new TypeError('no')));
  t.same(await failing.decide(route()), { choice: null, values: null });
  t.same(failing.warnings, [['warning', { code: 'routing_failed', error: 'TypeError' }]]);
  t.equal(failing.clock.pendingTimers, 0);

  const stopped = new AbortController();
  const dropped = router(() => (stopped.abort(), Promise.reject(new Error('stopped'))));
  await dropped.decide(route(), stopped.signal);
  t.same(dropped.warnings, [], 'nobody wants to know any more');
  const ended = router(() => (ended.over.abort(), Promise.reject(new Error('over'))));
  await ended.decide(route());
  t.same(ended.warnings, []);
});
