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
  { seed, count, under }: { seed: number; count: number; under: string },
  onSource: (done: number, of: number) => void = () => undefined,
): Promise<Draw> {
  const all: Mutant[] = [];
  const files = productSources(root, under);
  for (const [index, file] of files.entries()) {
    all.push(...(await mutantsOf(root, file)));
    onSource(index + 1, files.length);
  }
  const mutants = draw(all, count, seed);
  return { kind: 'draw', seed, population: all.length, under, sources: textOf(root, mutants), mutants };
}

/**
 * Tries every mutant of the draw that has no verdict yet, one after the other, and adds what it finds to `records`.
 * @param options.again whether those that nothing noticed are tried again, with every test that reaches them
 * @param options.onVerdict after each
 * @param options.signal ends the run between two records; what is known stays
 * @throws Error when the sources are not those of the draw
 */
export async function measure(
  root: string,
  records: Records,
  options: {
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
    const copy = path.join(folder, 'parley');
    mkdirSync(copy);
    const { texts, ids } = await switchMutants(root, mutants);
    copyRepository(root, copy, texts);
    const again = options.again === true;
    const covering = new CoveringTests(root, again ? opensBrowser(root) : longTests(root));
    const runner = new TestRunner({ copy, folder }, options.signal);
    for (const [index, mutant] of open) {
      const verdict = await judge(
        ids[index],
        covering.of(mutant.file),
        {
          isKnown: (file) => knownOf(copy, file, records) !== undefined,
          usual: (file) => usualOf(copy, file, records, runner),
          runWith: (id, test, limitMs) => runner.runWith(id, test, limitMs),
          now: () => performance.now(),
        },
        again ? WHOLE_EFFORT : FIRST_EFFORT,
      );
      records.add({ kind: 'verdict', index, ...verdict });
      options.onVerdict?.(index, mutant, verdict);
    }
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
