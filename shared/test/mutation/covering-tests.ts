import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ALTERNATING } from '../suite/alternating.ts';
import { importersOf, type Importers } from '../suite/tests-of.ts';

/** Beside the source; there is no greater one within a package. */
const SAME_FOLDER = -100;
const OTHER_PACKAGE = 100;
const OF_A_WORD = 2;
const BROWSER = /\bchromium\b/i;

/** The test files that reach a source by imports of more than types, the nearest first. */
export class CoveringTests {
  readonly #importers: Importers;
  readonly #tests: ReadonlySet<string>;

  /**
   * @param root of the repository
   * @param leftOut test files that are not run
   */
  constructor(root: string, leftOut: (file: string) => boolean) {
    this.#importers = importersOf(root, { types: false });
    this.#tests = new Set(
      [...this.#importers.keys()].filter((file) => file.endsWith('.test.ts') && !leftOut(file)),
    );
  }

  of(source: string): string[] {
    const steps = new Map([[source, 0]]);
    // A map goes on over what is added meanwhile.
    for (const [file, count] of steps)
      for (const importer of this.#importers.get(file) ?? [])
        if (!steps.has(importer)) steps.set(importer, count + 1);
    return [...steps]
      .filter(([file]) => this.#tests.has(file))
      .map(([file, count]) => ({ file, count, distance: distance(source, file) }))
      .sort((a, b) => a.distance - b.distance || a.count - b.count || (a.file < b.file ? -1 : 1))
      .map(({ file }) => file);
  }
}

/** Folders between the two, less for each word that their names share: a feature's tests of whole services are near, too. */
function distance(source: string, test: string): number {
  const [from, to] = [path.posix.dirname(source), path.posix.dirname(test)];
  const folders = path.posix.relative(from, to).split('/').length;
  const words = wordsOf(source);
  const shared = [...wordsOf(test)].filter((word) => words.has(word)).length;
  const own = test.startsWith(`${source.slice(0, -'.ts'.length)}.`) ? SAME_FOLDER : 0;
  const place =
    from === to ? SAME_FOLDER : source.split('/', 1)[0] === test.split('/', 1)[0] ? folders : OTHER_PACKAGE;
  return own + place - OF_A_WORD * shared;
}

/** `invoice-service.ts` in `control-plane/src/invoices`: invoice, service. */
function wordsOf(file: string): Set<string> {
  const [, , ...names] = file.replace(/(\.[a-z-]+)?\.ts$/, '').split('/');
  return new Set(names.flatMap((name) => name.split('-')).map((word) => word.replace(/s$/, '')));
}

/**
 * Those that `npm test` runs a third of, and those that open a browser: one of them would take minutes of a mutant's time.
 * @param root of the repository
 */
export function longTests(root: string): (file: string) => boolean {
  const long = new Set(ALTERNATING.flat());
  return (file) =>
    long.has(file) ||
    file.startsWith('console/') ||
    BROWSER.test(readFileSync(path.join(root, file), 'utf8'));
}
