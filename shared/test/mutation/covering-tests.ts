import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ALTERNATING } from '../suite/alternating.ts';
import { importersOf, type Importers } from '../suite/tests-of.ts';

/** Beside the source; there is no greater one within a package. */
const SAME_FOLDER = -1000;
const OTHER_PACKAGE = 100;
/** A file's name says more of it than a word in its text. */
const NAME_COUNTS = 3;
const SPECIFIER = /(?:from|import)\s*\(?\s*'[^']+'/g;
const BROWSER = /\bchromium\b/i;

/** The test files that reach a source by imports of more than types, the nearest first. */
export class CoveringTests {
  readonly #importers: Importers;
  /** How often each word stands in a test. */
  readonly #tests: ReadonlyMap<string, ReadonlyMap<string, number>>;

  /**
   * @param root of the repository
   * @param leftOut test files that are not run
   */
  constructor(root: string, leftOut: (file: string) => boolean) {
    this.#importers = importersOf(root, { types: false });
    this.#tests = new Map(
      [...this.#importers.keys()]
        .filter((file) => file.endsWith('.test.ts') && !leftOut(file))
        .map((file) => [file, wordsIn(file, readFileSync(path.join(root, file), 'utf8'))]),
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
      .map(([file, count]) => ({
        file,
        count,
        distance: distanceOf(source, file) - this.#mentions(source, file),
      }))
      .sort((a, b) => a.distance - b.distance || a.count - b.count || (a.file < b.file ? -1 : 1))
      .map(({ file }) => file);
  }

  /** How much a test speaks of what a source is named for; a word that few tests have counts for more. */
  #mentions(source: string, test: string): number {
    const tests = [...this.#tests.values()];
    return [...new Set(wordsOf(nameOf(source)))].reduce((sum, word) => {
      const count = this.#tests.get(test)!.get(word) ?? 0;
      const having = tests.filter((words) => words.has(word)).length;
      return count === 0 ? sum : sum + (1 + Math.log(count)) * Math.log(tests.length / having);
    }, 0);
  }
}

/** Folders between the two. */
function distanceOf(source: string, test: string): number {
  const [from, to] = [path.posix.dirname(source), path.posix.dirname(test)];
  if (test.startsWith(`${source.slice(0, -'.ts'.length)}.`)) return 2 * SAME_FOLDER;
  if (from === to) return SAME_FOLDER;
  const folders = path.posix.relative(from, to).split('/').length;
  return source.split('/', 1)[0] === test.split('/', 1)[0] ? folders : OTHER_PACKAGE + folders;
}

function wordsIn(file: string, text: string): Map<string, number> {
  const counts = new Map<string, number>();
  const all = [...wordsOf(text.replaceAll(SPECIFIER, '')), ...wordsOf(nameOf(file).repeat(NAME_COUNTS))];
  for (const word of all) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

/** `src/invoices/invoice-service.ts`: invoices, invoice, service, each in the singular. */
function wordsOf(text: string): string[] {
  return (text.match(/[A-Z]?[a-z]+/g) ?? []).map((word) => word.toLowerCase().replace(/s$/, ''));
}

/** `/invoices/invoice-service` */
function nameOf(file: string): string {
  const [, , ...names] = file.replace(/(\.[a-z-]+)?\.ts$/, '').split('/');
  return `/${names.join('/')}`;
}

/**
 * Those that `npm test` runs a third of, and those that open a browser: one of them would take minutes of a mutant's time.
 * @param root of the repository
 */
export function longTests(root: string): (file: string) => boolean {
  const long = new Set(ALTERNATING.flat());
  const browser = opensBrowser(root);
  return (file) => long.has(file) || browser(file);
}

/** @param root of the repository */
export function opensBrowser(root: string): (file: string) => boolean {
  return (file) => file.startsWith('console/') || BROWSER.test(readFileSync(path.join(root, file), 'utf8'));
}
