import t from 'tap';
import type { LoadResult } from '../load-result.ts';
import { spreadTable } from './figures.ts';

const none = { count: 0 };
const run = (p50: number, { valid = true, perCallMb = 1 } = {}) =>
  ({
    valid,
    overheadLater: { p50, p95: p50 * 2 },
    overheadFirst: none,
    greeting: none,
    bargeInWire: none,
    pacing: none,
    cpuSecondsPerCallMinute: 0.125,
    memory: { perCallMb, peakMb: 0, beforeMb: 0 },
    counts: { missingReplies: 0, refused: 0, lost: 0 },
    truth: { invented: 0, forgotten: 0 },
    lateness: { p99: 1 },
  }) as unknown as LoadResult;
const line = (text: string, name: string) =>
  text
    .split('\n')
    .find((one) => one.startsWith(name))
    ?.slice(name.length)
    .trim()
    .split(/\s+/);

void t.test('several runs are told by median, lowest and highest', async (t) => {
  const text = spreadTable([run(3), run(9), run(4)]);
  t.same(line(text, 'overhead, later turns, p50 ms'), ['4.0', '3.0', '9.0']);
  t.same(line(text, 'CPU-seconds per call-minute'), ['0.125', '0.125', '0.125']);
  t.same(line(text, '3 of 3 runs'), ['median', 'lowest', 'highest']);
  t.equal(line(text, '|gap - chunk| p99 ms'), undefined, 'what was not measured has no line');
});

void t.test('runs in which the simulator was late do not count, unless it always was', async (t) => {
  const late = { valid: false };
  t.same(line(spreadTable([run(3), run(100, late), run(5)]), 'overhead, later turns, p50 ms'), [
    '4.0',
    '3.0',
    '5.0',
  ]);
  t.ok(spreadTable([run(3), run(100, late)]).startsWith('1 of 2 runs'));
  t.same(line(spreadTable([run(7, late)]), 'overhead, later turns, p50 ms'), ['7.0', '7.0', '7.0']);
});
