import t from 'tap';
import { planToolSchema } from '@parley/shared/contracts/session-plan';
import { createLogger } from '@parley/shared/logging/logger';
import { ManualClock } from '@parley/shared/time/manual-clock';
import type { ToolCall } from '@parley/shared/tools/tool-runner';
import { LimitedTools } from './limited-tools.ts';

const TOOL = planToolSchema.parse({
  tool_id: 'tol_1',
  name: 'look_up',
  description: '',
  parameters: {},
  type: 'webhook',
  webhook: { url: 'https://example.com/', method: 'POST', headers: {} },
  response: {},
});
const CALL: ToolCall = {
  toolCallId: 'call_1',
  arguments: {},
  orgId: 'org_1',
  session: {
    session_id: 's1',
    agent_id: 'agt_1',
    channel: 'web',
    direction: 'web',
    from_number: null,
    to_number: null,
    variables: {},
  },
};

/** Tools of a call with these limits, over counters that `hit` plays. */
function limited(limits: [bucket: string, limit: number][], hit: (bucket: string) => Promise<number>) {
  const clock = new ManualClock();
  let runs = 0;
  const tools = new LimitedTools({
    limits: limits.map(([bucket, limit]) => ({ bucket, limit, window_seconds: 60 })),
    tools: {
      run: () => Promise.resolve({ ok: true, content: `run ${++runs}`, assigned: {}, durationMs: 1 }),
    },
    rates: { hit: async (bucket) => ({ count: await hit(bucket), resetAt: clock.now() + 20_500 }) },
    clock,
    logger: createLogger({ name: 'test', level: 'silent' }),
  });
  return { run: (signal = new AbortController().signal) => tools.run(TOOL, CALL, signal), runs: () => runs };
}

void t.test(
  'a tool runs as often as every limit lets it, and the model learns how long to wait',
  async (t) => {
    const counts = new Map([['project', 1]]);
    const { run, runs } = limited(
      [
        ['org', 5],
        ['project', 3],
      ],
      (bucket) => {
        counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
        return Promise.resolve(counts.get(bucket)!);
      },
    );
    t.match(await run(), { ok: true, content: 'run 1' });
    t.match(await run(), { ok: true, content: 'run 2' });
    t.match(await run(), { ok: false, code: 'rate_limited', content: /within 21 seconds/, assigned: {} });
    t.equal(runs(), 2);
  },
);

void t.test('tools run uncounted while the counters cannot be reached', async (t) => {
  const { run } = limited([['org', 1]], () => Promise.reject(new Error('gone')));
  t.match([await run(), await run()], [{ ok: true }, { ok: true }]);
});

void t.test('a call that ended meanwhile runs nothing', async (t) => {
  const ended = new AbortController();
  const { run, runs } = limited([['org', 1]], () => {
    ended.abort(new Error('ended'));
    return Promise.resolve(1);
  });
  await t.rejects(run(ended.signal), { message: 'ended' });
  t.equal(runs(), 0);
});
