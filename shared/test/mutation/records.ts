import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Verdict } from './judge.ts';
import type { Mutant } from './mutants.ts';

/** What was drawn, and from what: the first line. */
export interface Draw {
  kind: 'draw';
  seed: number;
  /** How many mutants there are. */
  population: number;
  /** How many there are besides, of texts that only people read. */
  readByPeople: number;
  under: readonly string[];
  /** Of the sources of the sample: with others, it is another sample. */
  sources: string;
  mutants: readonly Mutant[];
}

/** A test file with the product as it is. */
export interface TestRecord {
  kind: 'test';
  file: string;
  /** Of the file: with another text, it is run again. */
  text: string;
  /** Left out where it fails, or takes too long. */
  ms?: number;
  reached: readonly string[];
  /** Why it can't be used. */
  why?: string;
}

/** @param index of the mutant in the draw; the last record of one holds */
export type VerdictRecord = { kind: 'verdict'; index: number } & Verdict;

/** The file of a run, in JSON lines: each is written at once, so that a run that was stopped can go on. */
export class Records {
  readonly tests = new Map<string, TestRecord>();
  readonly verdicts = new Map<number, VerdictRecord>();
  #draw: Draw | undefined;
  readonly #file: string;

  /** @param file is made with the first record; a line that was cut off is passed over */
  constructor(file: string) {
    this.#file = file;
    mkdirSync(path.dirname(file), { recursive: true });
    if (!existsSync(file)) return;
    for (const line of readFileSync(file, 'utf8').split('\n')) {
      const record = parsed(line);
      if (record) this.#take(record);
    }
    // What is added next begins a line of its own.
    appendFileSync(file, '\n');
  }

  get draw(): Draw | undefined {
    return this.#draw;
  }

  add(record: Draw | TestRecord | VerdictRecord): void {
    appendFileSync(this.#file, `${JSON.stringify(record)}\n`);
    this.#take(record);
  }

  #take(record: Draw | TestRecord | VerdictRecord): void {
    if (record.kind === 'draw') this.#draw = record;
    else if (record.kind === 'test') this.tests.set(record.file, record);
    else this.verdicts.set(record.index, record);
  }
}

function parsed(line: string): Draw | TestRecord | VerdictRecord | undefined {
  try {
    return JSON.parse(line) as Draw | TestRecord | VerdictRecord;
  } catch {
    return undefined;
  }
}
