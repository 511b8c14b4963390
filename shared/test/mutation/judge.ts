import type { Run } from './test-runner.ts';

export type Status = 'killed' | 'timeout' | 'survived' | 'uncovered' | 'error';

export interface Verdict {
  status: Status;
  /** The test that noticed, or why there is an error. */
  by?: string;
  /** How many test files were run with the mutant. */
  tests: number;
  /** Digests of the texts of those that passed with it. */
  passed?: readonly string[];
  ms: number;
}

/** A test file, run with the product as it is. */
export interface Usual {
  /** Undefined for one that fails, or takes too long: it can't tell a mutant. */
  ms?: number;
  /** The mutants that it reaches. */
  reached: ReadonlySet<string>;
}

/** How much is done for one mutant. */
export interface Effort {
  /** How many test files are run to see whether they reach the mutant, besides those of which that is known. */
  looks: number;
  /** How many of these are run with it. */
  tests: number;
  /** A test that has begun may end. */
  ms: number;
}

export const FIRST_EFFORT: Effort = { looks: 12, tests: 6, ms: 120_000 };
/** Every test that reaches it. */
export const WHOLE_EFFORT: Effort = { looks: Infinity, tests: Infinity, ms: 3_600_000 };

/** As a test's time is another one each time, and the machine's load is. */
const TIMES_USUAL = 5;
const MIN_LIMIT_MS = 20_000;

/**
 * Tries to notice a mutant: the tests that reach it, the nearest first, until one fails.
 * @param id undefined for one that could not be put into its source
 * @param tests that may reach it, the nearest first
 * @param deps.usual runs a test as it is, or knows how that went
 * @param before digests of the texts of tests that passed with it already
 */
export async function judge(
  id: string | undefined,
  tests: readonly string[],
  deps: {
    /** Whether `usual` knows already. */
    isKnown: (test: string) => boolean;
    usual: (test: string) => Promise<Usual>;
    runWith: (mutant: string, test: string, limitMs: number) => Promise<Pick<Run, 'result'>>;
    digest: (test: string) => string;
    now: () => number;
  },
  effort: Effort = FIRST_EFFORT,
  before: readonly string[] = [],
): Promise<Verdict> {
  const began = deps.now();
  const passed = new Set(before);
  let tried = 0;
  let looked = 0;
  let usable = 0;
  const spent = () => deps.now() - began;
  const verdict = (status: Status, by?: string): Verdict => ({
    status,
    ...(by === undefined ? {} : { by }),
    tests: tried,
    passed: [...passed],
    ms: Math.round(spent()),
  });
  if (id === undefined) return verdict('error', 'Node refuses the source with the mutant in it');
  for (const test of tests) {
    if (!deps.isKnown(test) && (looked += 1) > effort.looks) continue;
    const { ms, reached } = await deps.usual(test);
    if (ms === undefined) continue;
    usable += 1;
    if (!reached.has(id)) continue;
    if (tried >= effort.tests || (tried > 0 && spent() > effort.ms)) break;
    tried += 1;
    const text = deps.digest(test);
    if (passed.has(text)) continue;
    const { result } = await deps.runWith(id, test, Math.max(MIN_LIMIT_MS, TIMES_USUAL * ms));
    if (result === 'timeout') return verdict('timeout', test);
    if (result === 'failed') return verdict('killed', test);
    passed.add(text);
  }
  if (tried > 0) return verdict('survived');
  if (tests.length > 0 && usable === 0) return verdict('error', 'no test near it passes without the mutant');
  return verdict('uncovered');
}
