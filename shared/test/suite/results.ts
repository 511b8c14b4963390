import { Parser, type Result } from 'tap-parser';

/** An assertion that did not hold, or a test that ended otherwise than it should. */
export interface Failure {
  /** The group of files, the file, the tests within it, the assertion. */
  path: readonly string[];
  /** What tap tells of it: where it stands, what was found and what was wanted. */
  diagnostics: Readonly<Record<string, unknown>> | undefined;
}

export interface Counts {
  total: number;
  pass: number;
  fail: number;
  skip: number;
}

/** What tells the reader of a failure: its stack repeats where it stands. */
const LEFT_OUT = ['stack', 'source'];
const MAX_DIAGNOSTICS = 1500;

/**
 * Counts what the Test Anything Protocol (version 14) tells of tests within tests. Only assertions count, and tests that
 * failed or were skipped without one: a test whose assertion failed is no second failure.
 */
export class Results {
  readonly counts: Counts = { total: 0, pass: 0, fail: 0, skip: 0 };
  /** Why how many were skipped. */
  readonly skipped = new Map<string, number>();
  readonly #parser = new Parser();
  readonly #onFailure: (failure: Failure) => void;
  readonly #onGroup: (name: string) => void;

  /**
   * @param told.onFailure as soon as one is known
   * @param told.onGroup when an outermost test is over
   */
  constructor(told: { onFailure: (failure: Failure) => void; onGroup?: (name: string) => void }) {
    this.#onFailure = told.onFailure;
    this.#onGroup = told.onGroup ?? (() => undefined);
    this.#follow(this.#parser, []);
  }

  write(chunk: Buffer): void {
    this.#parser.write(chunk);
  }

  /** @returns whether the protocol was kept to its end, and nothing failed */
  end(): boolean {
    let ok = false;
    this.#parser.on('complete', (results: { ok: boolean }) => (ok = results.ok));
    this.#parser.end();
    return ok && this.counts.fail === 0 && this.counts.total > 0;
  }

  #follow(parser: Parser, path: readonly string[]): void {
    /** The counts before the last test within this one, whose result comes next. */
    let before: Counts | undefined;
    parser.on('child', (child: Parser) => {
      before = { ...this.counts };
      this.#follow(child, [...path, child.name]);
    });
    parser.on('assert', (result: Result) => {
      const counted =
        before !== undefined &&
        (result.ok ? this.counts.total > before.total : this.counts.fail > before.fail);
      before = undefined;
      if (!counted) this.#count(result, [...path, result.name]);
      if (path.length === 0) this.#onGroup(result.name);
    });
  }

  #count(result: Result, path: readonly string[]): void {
    this.counts.total += 1;
    if (result.skip !== false) {
      const reason = result.skip === true ? 'no reason given' : result.skip;
      this.counts.skip += 1;
      this.skipped.set(reason, (this.skipped.get(reason) ?? 0) + 1);
    } else if (result.ok || result.todo !== false) this.counts.pass += 1;
    else {
      this.counts.fail += 1;
      this.#onFailure({ path, diagnostics: (result.diag ?? undefined) as Failure['diagnostics'] });
    }
  }
}

/** For people, and for whoever keeps only the end of a log. */
export function failureText({ path, diagnostics = {} }: Failure): string {
  const told = Object.entries(diagnostics)
    .filter(([name]) => !LEFT_OUT.includes(name))
    .map(([name, value]) => `  ${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return [`FAILED ${path.join(' > ')}`, ...told].join('\n').slice(0, MAX_DIAGNOSTICS);
}
