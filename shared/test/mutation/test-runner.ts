import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { ACTIVE_MUTANT } from './mutants.ts';

const SUITE = new URL('../suite/', import.meta.url);
const CACHED_MODULES = new URL('cached-modules.js', SUITE).href;
const WITHOUT_DOMAINS = new URL('without-domains.ts', SUITE).href;
const NOTE_COVERAGE = new URL('note-coverage.ts', import.meta.url).href;
const MAX_OUTPUT = 4000;

export interface Run {
  result: 'passed' | 'failed' | 'timeout';
  ms: number;
  /** The end of what it wrote. */
  output: string;
}

/** Runs test files in a copy of the repository, each in a process of its own. */
export class TestRunner {
  readonly #copy: string;
  readonly #folder: string;
  readonly #signal: AbortSignal;

  /**
   * @param dirs.copy of the repository
   * @param dirs.folder for what Node and tests keep, which is there already
   * @param signal ends the test that runs, and `run` throws
   */
  constructor({ copy, folder }: { copy: string; folder: string }, signal: AbortSignal) {
    this.#copy = copy;
    this.#folder = folder;
    this.#signal = signal;
    mkdirSync(this.#dir('modules'));
  }

  /** Runs a file with a mutant. @throws the signal's reason */
  runWith(mutant: string, file: string, limitMs: number): Promise<Run> {
    return this.#run(file, limitMs, { [ACTIVE_MUTANT]: mutant, TAP_BAIL: '1' }, []);
  }

  /** Runs a file of the product as it is. @throws the signal's reason */
  async runAsIs(file: string, limitMs: number): Promise<Run & { reached: Set<string> }> {
    const noted = this.#dir('reached');
    rmSync(noted, { force: true });
    const run = await this.#run(file, limitMs, { MUTANT_COVERAGE: noted }, [NOTE_COVERAGE]);
    const text = existsSync(noted) ? readFileSync(noted, 'utf8') : '';
    return { ...run, reached: new Set(text.split('\n').filter((id) => id !== '')) };
  }

  async #run(
    file: string,
    limitMs: number,
    env: Record<string, string>,
    imports: readonly string[],
  ): Promise<Run> {
    this.#signal.throwIfAborted();
    const temporary = this.#dir('t');
    rmSync(temporary, { recursive: true, force: true });
    mkdirSync(temporary);
    const began = performance.now();
    // A group of its own, with which all that a broken product leaves behind is ended.
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', file], {
      cwd: this.#copy,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        ...env,
        TMPDIR: temporary,
        TAP_TIMEOUT: String(Math.ceil(limitMs / 1000)),
        TEST_MODULE_CACHE: this.#dir('modules'),
        NODE_COMPILE_CACHE: this.#dir('compiled'),
        NODE_OPTIONS: [CACHED_MODULES, WITHOUT_DOMAINS, ...imports].map((url) => `--import=${url}`).join(' '),
      },
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output = `${output}${chunk.toString()}`.slice(-MAX_OUTPUT)));
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      endGroup(child.pid);
    }, limitMs);
    const abort = () => endGroup(child.pid);
    this.#signal.addEventListener('abort', abort);
    try {
      const [code] = (await once(child, 'exit')) as [number | null];
      this.#signal.throwIfAborted();
      const result = late ? 'timeout' : code === 0 ? 'passed' : 'failed';
      return { result, ms: performance.now() - began, output };
    } finally {
      clearTimeout(timer);
      this.#signal.removeEventListener('abort', abort);
      endGroup(child.pid);
      child.stdout.destroy();
      child.stderr.destroy();
    }
  }

  #dir(name: string): string {
    return path.join(this.#folder, name);
  }
}

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // None of it is left.
  }
}
