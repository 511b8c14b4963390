import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import path from 'node:path';
import { Instrumenter } from '@stryker-mutator/instrumenter';
import { readByPeople } from './read-by-people.ts';

interface Position {
  /** From 0 on. */
  line: number;
  column: number;
}

/** One small change of the product. */
export interface Mutant {
  /** Relative to the root. */
  file: string;
  start: Position;
  end: Position;
  /** Stryker's name of the kind of change. */
  mutator: string;
  original: string;
  replacement: string;
}

/** Sources that hold mutants, one of which is active in a process: the one that ACTIVE_MUTANT names. */
export interface Switched {
  /** By file. */
  texts: ReadonlyMap<string, string>;
  /** What ACTIVE_MUTANT is for each mutant asked for, in that order; undefined where the text could not be made. */
  ids: readonly (string | undefined)[];
}

/** Names the active mutant; none is without it. */
export const ACTIVE_MUTANT = '__STRYKER_ACTIVE_MUTANT__';

const SILENT = {
  isTraceEnabled: () => false,
  isDebugEnabled: () => false,
  isInfoEnabled: () => false,
  isWarnEnabled: () => false,
  isErrorEnabled: () => false,
  isFatalEnabled: () => false,
  trace: () => undefined,
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  fatal: () => undefined,
};
const OPTIONS = { plugins: null, ignorers: [], excludedMutations: [] };

/**
 * All mutants of a source that tests are to notice, always in the same order.
 * @param root of the repository
 * @returns with how many there are besides, of texts that only people read
 */
export async function mutantsOf(
  root: string,
  file: string,
): Promise<{ mutants: Mutant[]; readByPeople: number }> {
  const content = readFileSync(path.join(root, file), 'utf8');
  const { mutants } = await new Instrumenter(SILENT).instrument([{ name: file, content, mutate: true }], {
    ...OPTIONS,
    ignorers: [readByPeople],
  });
  // A condition within such a text is none.
  const judged = mutants.filter(
    ({ status, mutatorName }) => status !== 'Ignored' || mutatorName !== 'StringLiteral',
  );
  return {
    readByPeople: mutants.length - judged.length,
    mutants: judged.map(({ location: { start, end }, mutatorName, replacement }) => ({
      file,
      start,
      end,
      mutator: mutatorName,
      original: textBetween(content, start, end),
      replacement,
    })),
  };
}

/** Puts mutants into their sources, each switched off. @param root of the repository */
export async function switchMutants(root: string, mutants: readonly Mutant[]): Promise<Switched> {
  const files = Object.entries(Object.groupBy(mutants, ({ file }) => file)).map(([name, some = []]) => ({
    name,
    content: readFileSync(path.join(root, name), 'utf8'),
    mutate: some.map(({ start, end }) => ({ start, end })),
  }));
  const made = await new Instrumenter(SILENT).instrument(files, OPTIONS);
  const texts = new Map(
    made.files.filter(({ content }) => runs(content)).map(({ name, content }) => [name, content]),
  );
  const ids = new Map(
    made.mutants.map(({ id, fileName, location: { start, end }, mutatorName, replacement }) => [
      keyOf({ file: fileName, start, end, mutator: mutatorName, replacement }),
      id,
    ]),
  );
  return {
    texts,
    ids: mutants.map((mutant) => (texts.has(mutant.file) ? ids.get(keyOf(mutant)) : undefined)),
  };
}

/** Whether Node takes the types out of it: nothing is compiled here. */
function runs(text: string): boolean {
  try {
    stripTypeScriptTypes(text);
    return true;
  } catch {
    return false;
  }
}

function keyOf({ file, start, end, mutator, replacement }: Omit<Mutant, 'original'>): string {
  return JSON.stringify([file, start.line, start.column, end.line, end.column, mutator, replacement]);
}

function textBetween(content: string, start: Position, end: Position): string {
  const lines = content.split('\n').slice(start.line, end.line + 1);
  lines[lines.length - 1] = lines.at(-1)!.slice(0, end.column);
  lines[0] = lines[0]!.slice(start.column);
  return lines.join('\n');
}
