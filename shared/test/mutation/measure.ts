import { hash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CoveringTests, longTests, opensBrowser } from './covering-tests.ts';
import { draw } from './draw.ts';
import { FIRST_EFFORT, judge, WHOLE_EFFORT, type Usual, type Verdict } from './judge.ts';
import { mutantsOf, switchMutants, type Mutant } from './mutants.ts';
import { productSources } from './product-sources.ts';
import type { Draw, Records, TestRecord } from './records.ts';
import { copyRepository } from './repository-copy.ts';
import type { Judged } from './report.ts';
import { TestRunner } from './test-runner.ts';

/** One that takes longer says nothing about a mutant in the time that there is. */
const MAX_USUAL_MS = 120_000;

/** Draws a sample of the product's mutants. @param onSource after each source that was read */
export async function drawMutants(
  root: string,
  { seed, count, under }: { seed: number; count: number; under: readonly string[] },
  onSource: (done: number, of: number) => void = () => undefined,
): Promise<Draw> {
  const all: Mutant[] = [];
  let readByPeople = 0;
  const files = productSources(root, under);
  for (const [index, file] of files.entries()) {
    const found = await mutantsOf(root, file);
    all.push(...found.mutants);
    readByPeople += found.readByPeople;
    onSource(index + 1, files.length);
  }
  const mutants = draw(all, count, seed);
  const population = all.length;
  return { kind: 'draw', seed, population, readByPeople, under, sources: textOf(root, mutants), mutants };
}

/**
 * Tries every mutant of the draw that has no verdict yet, in the order drawn, and adds what it finds to `records`.
 * @param options.processes how many tests run at once, each in a copy of the repository
 * @param options.again whether those that nothing noticed are tried again, with every test that reaches them
 * @param options.onVerdict after each
 * @param options.signal ends the run between two records; what is known stays
 * @throws Error when the sources are not those of the draw
 */
export async function measure(
  root: string,
  records: Records,
  options: {
    processes?: number;
    /** How many tests are run with one mutant at most, and twice as many looked at. */
    tests?: number | undefined;
    again?: boolean;
    onVerdict?: (index: number, mutant: Mutant, verdict: Verdict) => void;
    signal: AbortSignal;
  },
): Promise<void> {
  const { mutants, sources } = records.draw!;
  if (textOf(root, mutants) !== sources)
    throw new Error('The sources have changed since the sample was drawn. Begin another file.');
  const open = [...mutants.entries()].filter(([index]) => {
    const known = records.verdicts.get(index);
    return !known || (options.again === true && isUnnoticed(known));
  });
  if (open.length === 0) return;
  const folder = mkdtempSync(path.join(tmpdir(), 'mutants-'));
  try {
    const { texts, ids } = await switchMutants(root, mutants);
    const again = options.again === true;
    const { tests } = options;
    const whole = again && tests === undefined;
    const effort = whole ? WHOLE_EFFORT : FIRST_EFFORT;
    const covering = new CoveringTests(root, whole ? opensBrowser(root) : longTests(root));
    const looks = new Map<string, Promise<Usual>>();
    const left = open.values();
    const work = async (own: string): Promise<void> => {
      const copy = path.join(own, 'parley');
      mkdirSync(copy, { recursive: true });
      copyRepository(root, copy, texts);
      const runner = new TestRunner({ copy, folder: own }, options.signal);
      // Whoever comes next takes the next.
      for (const [index, mutant] of left) {
        const verdict = await judge(
          ids[index],
          covering.of(mutant.file),
          {
            isKnown: (file) => looks.has(file) || knownOf(copy, file, records) !== undefined,
            usual: (file) => {
              if (!looks.has(file)) looks.set(file, usualOf(copy, file, records, runner));
              return looks.get(file)!;
            },
            runWith: (id, test, limitMs) => runner.runWith(id, test, limitMs),
            digest: (file) => digestOf(copy, file),
            now: () => performance.now(),
          },
          tests === undefined ? effort : { ...effort, tests, looks: 2 * tests },
          records.verdicts.get(index)?.passed,
        );
        records.add({ kind: 'verdict', index, ...verdict });
        options.onVerdict?.(index, mutant, verdict);
      }
    };
    const processes = Array.from({ length: options.processes ?? 1 }, (_, at) =>
      work(path.join(folder, `${at}`)),
    );
    const ended = await Promise.allSettled(processes);
    for (const one of ended) if (one.status === 'rejected') throw one.reason;
  } catch (error) {
    if (!options.signal.aborted) throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The mutants that have a verdict, in the order drawn. */
export function judgedOf({ draw, verdicts }: Records): Judged[] {
  return draw!.mutants.flatMap((mutant, index) => {
    const verdict = verdicts.get(index);
    return verdict ? [{ mutant, verdict }] : [];
  });
}

function isUnnoticed({ status }: Verdict): boolean {
  return status !== 'killed' && status !== 'timeout';
}

async function usualOf(copy: string, file: string, records: Records, runner: TestRunner): Promise<Usual> {
  const known = knownOf(copy, file, records) ?? (await lookAt(copy, file, runner));
  if (records.tests.get(file) !== known) records.add(known);
  return { ...(known.ms === undefined ? {} : { ms: known.ms }), reached: new Set(known.reached) };
}

/** @returns undefined for a test that was not run yet, or had another text then */
function knownOf(copy: string, file: string, records: Records): TestRecord | undefined {
  const known = records.tests.get(file);
  return known?.text === digestOf(copy, file) ? known : undefined;
}

async function lookAt(copy: string, file: string, runner: TestRunner): Promise<TestRecord> {
  const { result, ms, output, reached } = await runner.runAsIs(file, MAX_USUAL_MS);
  return {
    kind: 'test',
    file,
    text: digestOf(copy, file),
    reached: [...reached],
    ...(result === 'passed' ? { ms: Math.round(ms) } : { why: `${result}: ${output}` }),
  };
}

function digestOf(root: string, file: string): string {
  return hash('sha1', readFileSync(path.join(root, file), 'utf8'));
}

/** A digest of the sources that the mutants are of. */
function textOf(root: string, mutants: readonly Mutant[]): string {
  const files = [...new Set(mutants.map(({ file }) => file))].sort();
  return hash(
    'sha1',
    files.map((file) => `${file}\n${readFileSync(path.join(root, file), 'utf8')}`).join('\n'),
  );
}
