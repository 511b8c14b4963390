import t from 'tap';
import { planToolSchema } from '@parley/shared/contracts/session-plan';
import type { ToolCallRequest } from '@parley/shared/contracts/tool-calls';
import { silentLogger } from '@parley/shared/logging/logger';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { RemoteTools } from './remote-tools.ts';

const tool = planToolSchema.parse({
  tool_id: 'tol_1',
  name: 'shop_find_order',
  description: 'Finds.',
  parameters: { type: 'object' },
  type: 'mcp',
  function: 'find-order',
});
const call = {
  toolCallId: 'call_1',
  arguments: '{"id":"7"}',
  session: {
    ...{ session_id: 's1', agent_id: null, channel: 'web', direction: 'web' },
    ...{ from_number: null, to_number: null, variables: {} },
  },
  orgId: 'org_1',
};

function scene(answer: (signal: AbortSignal) => Promise<never>) {
  const asked: [string, ToolCallRequest, number][] = [];
  const tools = new RemoteTools({
    webhooks: { run: () => Promise.reject(new Error('not a webhook')) },
    source: {
      runTool: (sessionId, request, timeoutMs, signal) => {
        asked.push([sessionId, request, timeoutMs]);
        return answer(signal);
      },
    },
    clock: new ManualClock(),
    logger: silentLogger(),
  });
  return { tools, asked };
}

void t.test('what is no webhook is run by the control plane, and its failures are outcomes', async (t) => {
  const answer = { ok: true, content: 'sent', assigned: {}, duration_ms: 3 };
  const { tools, asked } = scene(() => Promise.resolve(answer as never));
  const signal = new AbortController().signal;
  t.same(await tools.run(tool, call, signal), { ok: true, content: 'sent', assigned: {}, durationMs: 3 });
  t.same(asked, [
    [
      's1',
      { tool_call_id: 'call_1', tool_id: 'tol_1', function: 'find-order', arguments: { id: '7' } },
      10_000,
    ],
  ]);
  t.match(await tools.run(tool, { ...call, arguments: '[' }, signal), { code: 'invalid_arguments' });
  const broken = scene(() => Promise.reject(new Error('no answer')));
  t.match(await broken.tools.run(tool, call, signal), { ok: false, code: 'unavailable' });
});

void t.test('the end of the call ends the wait', async (t) => {
  const over = new AbortController();
  const { tools } = scene(
    (signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
  );
  const run = tools.run(tool, call, over.signal);
  over.abort(new Error('The call is over.'));
  await t.rejects(run, { message: 'The call is over.' });
});
