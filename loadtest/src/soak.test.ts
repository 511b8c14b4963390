import t from 'tap';
import { judgeSoak, MIN_SOAK_CYCLES, type SoakSample } from './soak.ts';

const MB = 2 ** 20;
const CYCLES = 12;

/** Cycles of a hundred calls each. */
function cycles(
  memoryMb: (cycle: number) => number,
  handles: (cycle: number) => number = () => 30,
): SoakSample[] {
  return Array.from({ length: CYCLES }, (_, cycle) => ({
    calls: (cycle + 1) * 100,
    memoryBytes: memoryMb(cycle) * MB,
    handles: handles(cycle),
  }));
}

void t.test('what goes up and down, or fills once, is no leak', (t) => {
  t.same(judgeSoak(cycles((cycle) => 80 + (cycle % 3))).leaks, []);
  t.same(judgeSoak(cycles((cycle) => 80 + Math.min(cycle, 3) * 10)).leaks, [], 'caches');
  t.same(
    judgeSoak(
      cycles(
        () => 80,
        (cycle) => 30 + (cycle % 2) * 4,
      ),
    ).leaks,
    [],
  );
  t.end();
});

void t.test('rule 34: what grows with every call is one, in memory and in handles', (t) => {
  const memory = judgeSoak(cycles((cycle) => 80 + cycle + (cycle % 2) * 0.4));
  t.same(memory.leaks, ['memory']);
  t.ok(Math.abs(memory.bytesPerCall - MB / 100) < MB / 500, 'and it says how much');
  const handles = judgeSoak(
    cycles(
      () => 80,
      (cycle) => 30 + cycle,
    ),
  );
  t.same(handles.leaks, ['handles']);
  t.ok(Math.abs(handles.handlesPerCall - 0.01) < 0.001);
  t.end();
});

void t.test('growth of less than a kilobyte a call is not told from chance', (t) => {
  t.same(judgeSoak(cycles((cycle) => 80 + cycle * 0.05)).leaks, []);
  t.throws(() => judgeSoak(cycles(() => 80).slice(0, MIN_SOAK_CYCLES - 1)), RangeError);
  t.end();
});
