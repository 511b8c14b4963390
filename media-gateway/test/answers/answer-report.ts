import { ANSWER_CLASSES, type AnswerClass } from '@parley/shared/contracts/answer-detection';
import type { AnswererKind } from '@parley/emulators/answers/answer-script';
import type { AnswerResult } from './measure-answers.ts';

const KINDS: readonly AnswererKind[] = ['human', 'voicemail', 'screening', 'ivr', 'music', 'silence'];
const NONE = 'none';
/** What each kind may be taken for. Music and silence are nobody: the agent treats them as a person. */
const RIGHT: Readonly<Record<AnswererKind, readonly (AnswerClass | typeof NONE)[]>> = {
  human: ['human', 'unknown'],
  voicemail: ['voicemail'],
  screening: ['screening'],
  ivr: ['ivr'],
  music: ['unknown', 'ivr'],
  silence: ['unknown'],
};
const MACHINES: readonly string[] = ['voicemail', 'screening', 'ivr'];

export const isRight = (result: AnswerResult): boolean => RIGHT[result.kind].includes(result.class ?? NONE);

/** Whether a person was taken for a machine, at any time. */
export const isWronged = ({ kind, verdicts }: AnswerResult): boolean =>
  kind === 'human' && verdicts.some((verdict) => MACHINES.includes(verdict));

export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? NaN;
}

/** Tables in Markdown: what was taken for what, and how long it took. */
export function answerTables(results: readonly AnswerResult[]): string {
  const columns = [...ANSWER_CLASSES, NONE];
  const head = [['answered', 'calls', ...columns, 'right', 'verdict p50 / p95 ms', 'silence p50 / p95 ms']];
  head.push(head[0]!.map(() => '---'));
  const rows = KINDS.map((kind) => {
    const own = results.filter((result) => result.kind === kind);
    const counts = columns.map((name) => `${own.filter((result) => (result.class ?? NONE) === name).length}`);
    const times = own.flatMap(({ afterMs }) => (afterMs === undefined ? [] : [afterMs]));
    const silences = own.flatMap(({ silenceMs }) => (silenceMs === undefined ? [] : [silenceMs]));
    const both = (values: number[]) =>
      values.length === 0
        ? '-'
        : `${Math.round(quantile(values, 0.5))} / ${Math.round(quantile(values, 0.95))}`;
    return [
      kind,
      `${own.length}`,
      ...counts,
      `${own.filter(isRight).length}`,
      both(times),
      kind === 'human' ? both(silences) : '-',
    ];
  });
  return [...head, ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}
