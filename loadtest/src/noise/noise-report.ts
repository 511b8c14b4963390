import { Distribution } from '../measure/distribution.ts';
import { table } from '../report/terminal.ts';
import type { RoomFigures } from './call-timeline.ts';
import type { RoomResult } from './run-room.ts';

/** What stands in the table for an end that never came. */
const NEVER = '∞';

const COLUMNS = [
  'system',
  'noise',
  'silent %',
  'answer × p50/p95',
  'false stops /min',
  'given up',
  'interrupted',
  'missed',
  'stop p50/p95 ms',
  'cut off',
  'turn end p50/p95 ms',
  'unanswered',
  'CPU-s /call-min',
  'late p99 ms',
] as const;

/** One row of the table. @param providersMs of the emulated providers, which is no part of a turn's end */
export function roomRow({ system, noise, figures, run }: RoomResult, providersMs: number): string[] {
  const stopped = figures.stops.filter(Number.isFinite);
  return [
    system,
    run.valid ? noise : `${noise} (late)`,
    figures.speakingMs === 0 ? '-' : ((100 * figures.silentMs) / figures.speakingMs).toFixed(1),
    `${quantile(figures.lengths, 0.5, 2)} / ${quantile(figures.lengths, 0.95, 2)}`,
    falseStopsAMinute(figures)?.toFixed(1) ?? '-',
    `${figures.givenUp}`,
    `${figures.stops.length}`,
    figures.stops.length === 0
      ? '-'
      : `${figures.stops.length - stopped.length} (${((100 * (figures.stops.length - stopped.length)) / figures.stops.length).toFixed(0)} %)`,
    `${quantile(stopped, 0.5)} / ${quantile(stopped, 0.95)}`,
    `${figures.cutOffs} of ${figures.questions}`,
    turnEnds(figures, providersMs),
    `${figures.unanswered}`,
    run.cpuSecondsPerCallMinute?.toFixed(3) ?? '-',
    run.latenessP99Ms.toFixed(1),
  ];
}

/** For the terminal. */
export function roomTable(results: readonly RoomResult[], providersMs: number): string {
  return table([COLUMNS, ...results.map((result) => roomRow(result, providersMs))]);
}

/** For a document. */
export function roomMarkdown(results: readonly RoomResult[], providersMs: number): string {
  const rows = [COLUMNS, COLUMNS.map(() => '---'), ...results.map((result) => roomRow(result, providersMs))];
  return rows.map((row) => `| ${row.join(' | ')} |`).join('\n');
}

/** Stops that nobody asked for, in a minute of the agent's voice. */
export function falseStopsAMinute({ falseStops, speakingMs, silentMs }: RoomFigures): number | undefined {
  const voiceMs = speakingMs - silentMs;
  return voiceMs <= 0 ? undefined : falseStops / (voiceMs / 60_000);
}

function turnEnds({ turnEnds: ends }: RoomFigures, providersMs: number): string {
  const own = ends.map((ms) => ms - providersMs);
  return `${quantile(own, 0.5)} / ${quantile(own, 0.95)}`;
}

function quantile(values: readonly number[], q: number, digits = 0): string {
  const all = new Distribution();
  for (const value of values) all.add(value);
  const found = all.quantile(q);
  return Number.isNaN(found) ? '-' : Number.isFinite(found) ? found.toFixed(digits) : NEVER;
}
