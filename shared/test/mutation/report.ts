import { wilsonInterval } from './draw.ts';
import type { Status, Verdict } from './judge.ts';
import type { Mutant } from './mutants.ts';

export interface Judged {
  mutant: Mutant;
  verdict: Verdict;
}

const COLUMNS: readonly { title: string; status: Status }[] = [
  { title: 'killed', status: 'killed' },
  { title: 'timed out', status: 'timeout' },
  { title: 'survived', status: 'survived' },
  { title: 'not covered', status: 'uncovered' },
  { title: 'errors', status: 'error' },
];
const MAX_TEXT = 70;

/** `shared/src/a.ts:12 EqualityOperator: a < b -> a <= b` */
export function mutantText({ file, start, mutator, original, replacement }: Mutant): string {
  return `${file}:${start.line + 1} ${mutator}: ${oneLine(original)} -> ${oneLine(replacement)}`;
}

/** The score of all, tables by package and by kind of change, and what was not noticed. */
export function reportText(judged: readonly Judged[]): string {
  const unnoticed = judged.filter(
    ({ verdict: { status } }) => status === 'survived' || status === 'uncovered',
  );
  const errors = judged.filter(({ verdict: { status } }) => status === 'error');
  return [
    ...unnoticed.map(({ mutant, verdict }) => `${verdict.status.padEnd(9)} ${mutantText(mutant)}`),
    ...errors.map(({ mutant, verdict }) => `error     ${mutantText(mutant)} (${verdict.by})`),
    '',
    ...table('package', judged, ({ file }) => file.split('/', 1)[0]!),
    '',
    ...table('change', judged, ({ mutator }) => mutator),
    '',
    scoreText(judged),
  ].join('\n');
}

/** `score 72.5 % (148 of 204), 95 % interval 66.0 % to 78.2 %` */
export function scoreText(judged: readonly Judged[]): string {
  const { noticed, counted } = counts(judged);
  const { low, high } = wilsonInterval(noticed, counted);
  return `score ${share(noticed, counted)} (${noticed} of ${counted}), 95 % interval ${percent(low)} to ${percent(high)}`;
}

function counts(judged: readonly Judged[]): { noticed: number; counted: number } {
  const of = (...some: Status[]) => judged.filter(({ verdict }) => some.includes(verdict.status)).length;
  return { noticed: of('killed', 'timeout'), counted: judged.length - of('error') };
}

function table(title: string, judged: readonly Judged[], keyOf: (mutant: Mutant) => string): string[] {
  const groups = Object.entries(Object.groupBy(judged, ({ mutant }) => keyOf(mutant))).sort();
  const row = (name: string, some: readonly Judged[]) => {
    const { noticed, counted } = counts(some);
    const cells = COLUMNS.map(({ status }) => some.filter(({ verdict }) => verdict.status === status).length);
    return [name, some.length, ...cells, share(noticed, counted)].map(String);
  };
  const rows = [
    [title, 'mutants', ...COLUMNS.map((column) => column.title), 'score'],
    ...groups.map(([name, some = []]) => row(name, some)),
    row('all', judged),
  ];
  const widths = rows[0]!.map((_, at) => Math.max(...rows.map((cells) => cells[at]!.length)));
  return rows.map((cells) =>
    cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!))).join('  '),
  );
}

function share(part: number, of: number): string {
  return of === 0 ? '-' : percent(part / of);
}

function percent(value: number): string {
  return `${(100 * value).toFixed(1)} %`;
}

function oneLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > MAX_TEXT ? `${line.slice(0, MAX_TEXT)}…` : line;
}
