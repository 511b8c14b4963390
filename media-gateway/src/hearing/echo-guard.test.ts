import t from 'tap';
import { EchoGuard } from './echo-guard.ts';

/** Levels of somebody who speaks, 20 ms each: syllables and the gaps between them, never twice the same. */
function levelsOfSpeech(seed: number, bins: number, loud: number): number[] {
  let state = seed;
  const random = () => (state = (state * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31;
  const levels: number[] = [];
  while (levels.length < bins) {
    const peak = loud - 8 * random();
    const length = 6 + Math.floor(8 * random());
    for (let i = 0; i < length; i++) levels.push(peak - 18 * Math.abs((2 * i) / length - 1) ** 2);
    for (let gap = Math.floor(4 * random()); gap > 0; gap--) levels.push(-70);
  }
  return levels.slice(0, bins);
}

const AGENT = levelsOfSpeech(7, 150, -20);

/** The agent speaks for three seconds. @returns the guard after each bin, with what the line holds then */
function listen(line: (bin: number) => number) {
  const guard = new EchoGuard();
  const verdicts: { canBe: boolean; isEcho: boolean }[] = [];
  for (let bin = 0; bin < AGENT.length; bin++) {
    const now = 10_000 + bin * 20;
    guard.agent(AGENT[bin]!, now);
    const level = line(bin);
    guard.caller(level, now);
    const canBe = guard.canBe(level, now);
    verdicts.push({ canBe, isEcho: canBe && guard.isEcho(now) });
  }
  return { verdicts };
}

void t.test('rule 14: an echo follows the agent at a constant distance, whatever its delay', async (t) => {
  for (const delayMs of [50, 100, 200, 300, 400]) {
    const bins = Math.round(delayMs / 20);
    const { verdicts } = listen((bin) => (bin < bins ? -91 : AGENT[bin - bins]! - 20));
    const heard = verdicts.slice(bins);
    t.ok(
      heard.every(({ canBe }) => canBe),
      `${delayMs} ms: never taken for the caller at once`,
    );
    const missed = heard.slice(8).filter(({ isEcho }) => !isEcho).length;
    t.ok(missed <= heard.length / 20, `${delayMs} ms: ${missed} of ${heard.length} not seen`);
  }
});

void t.test('a caller as loud as the agent is no echo', async (t) => {
  const caller = levelsOfSpeech(99, 150, -20);
  const { verdicts } = listen((bin) => caller[bin]!);
  // Only the gaps of the caller's speech are soft enough to be looked at.
  const loud = verdicts.filter((_, bin) => caller[bin]! > -30);
  t.notOk(loud.some(({ canBe }) => canBe));
});

void t.test('a soft caller is looked at, and mostly not taken for an echo', async (t) => {
  let seen = 0;
  let wrong = 0;
  for (let seed = 1; seed <= 20; seed++) {
    const caller = levelsOfSpeech(seed * 1000, 150, -36);
    const { verdicts } = listen((bin) => caller[bin]!);
    seen += verdicts.filter(({ canBe }) => canBe).length;
    // Its first 600 ms are too short to tell.
    wrong += verdicts.slice(30).filter(({ isEcho }) => isEcho).length;
  }
  t.ok(wrong / seen < 0.25, `${wrong} of ${seen}`);
});

void t.test('while the agent is silent, or was cleared, nothing is an echo', async (t) => {
  const guard = new EchoGuard();
  t.notOk(guard.canBe(-50, 1000));
  for (let bin = 0; bin < 50; bin++) guard.agent(-20, 1000 + bin * 20);
  guard.cleared(1100);
  t.ok(guard.canBe(-50, 1200), 'what was played comes back');
  t.notOk(guard.canBe(-50, 1100 + 701), 'what was not played does not');
});
