import t from 'tap';
import type { LogEvent } from '../call/session-log.ts';
import { EMPTY_LOG, floorOf, withEvent, type LiveLog } from './live-log.ts';

let next = 0;
const event = (type: string, data: Record<string, unknown>): LogEvent => ({
  id: `evt_${next}`,
  index: next++,
  at: '2026-01-01T00:00:00.000Z',
  offset_ms: 0,
  type,
  data,
});
const after = (log: LiveLog, ...events: LogEvent[]) => events.reduce(withEvent, log);

void t.test('words become turns, and tell whose turn it is', (t) => {
  t.equal(floorOf(EMPTY_LOG).who, 'nobody');
  const speaking = after(EMPTY_LOG, event('words', { role: 'caller', text: 'I want', final: false }));
  t.same(floorOf(speaking), { who: 'caller', text: 'The caller is speaking' });
  const turn = { turn_index: 1, role: 'caller', text: 'I want a table', start_ms: 900, end_ms: 1800 };
  const said = after(speaking, event('turn', turn));
  t.same(said.words, { caller: '', agent: '' });
  t.equal(floorOf(said).text, 'The agent is thinking');
  const running = after(said, event('tool_started', { tool_call_id: 'c1', name: 'find_table' }));
  t.equal(floorOf(running).text, 'Waiting for find_table');
  const found = after(
    running,
    event('tool_finished', { tool_call_id: 'c1', name: 'find_table', ok: true, duration_ms: 40 }),
    event('words', { role: 'agent', text: 'Yes', final: false }),
  );
  t.same(found.tools, [{ id: 'c1', name: 'find_table', outcome: 'succeeded', durationMs: 40 }]);
  t.equal(floorOf(found).who, 'agent');
  t.end();
});

void t.test('a transfer is told, and a request that was refused', (t) => {
  const log = after(EMPTY_LOG, event('turn', { turn_index: 1, role: 'agent', text: 'Hello.' }));
  const away = after(log, event('state', { status: 'transferring' }));
  t.match(floorOf(away).text, /brought to somebody else/);
  t.equal(floorOf(after(away, event('state', { status: 'in_progress' }))).who, 'caller');
  const refused = event('command_result', { command_id: 'cmd_1', ok: false, code: 'away' });
  t.same(after(log, event('command_result', { command_id: 'cmd_2', ok: true }), refused).others, [refused]);
  t.end();
});

void t.test('a turn that comes again replaces itself, in order', (t) => {
  const one = event('turn', { turn_index: 2, role: 'agent', text: 'Yes', start_ms: 2000 });
  const earlier = event('turn', { turn_index: 1, role: 'caller', text: 'Hello', start_ms: 1000 });
  const changed = event('turn', { turn_index: 2, role: 'agent', text: 'Yes, at', interrupted: true });
  const log = after(EMPTY_LOG, one, earlier, changed);
  t.match(log.turns, [
    { index: 1, text: 'Hello' },
    { index: 2, text: 'Yes, at', interrupted: true },
  ]);
  const state = event('state', { status: 'ended' });
  const over = after(log, state, state);
  t.equal(over.status, 'ended');
  t.equal(over.others.length, 1);
  t.end();
});
