import { cpus, release, totalmem } from 'node:os';
import type { LoadResult } from '../load-result.ts';
import { chart, escape } from './charts.ts';
import { resultTable } from './terminal.ts';

/** The machine, in a line. */
export function machine(): string {
  const all = cpus();
  return `${all.length} x ${all[0]?.model.trim() ?? 'unknown processor'}, ${Math.round(totalmem() / 2 ** 30)} GB, Linux ${release()}, Node ${process.versions.node}`;
}

/** One page with everything in it: opens from disk, without a network. */
export function htmlReport(results: readonly LoadResult[], title: string, at = new Date()): string {
  const charts = [overheadByLoad(results), cpuByLoad(results), ...results.flatMap(chartsOf)].filter(Boolean);
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escape(title)}</title>
<style>
  body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 84rem; padding: 0 1rem; color: #1f2328 }
  pre { overflow-x: auto; background: #f6f8fa; padding: 1rem; border-radius: 6px; font-size: 13px }
  main { display: flex; flex-wrap: wrap; gap: 1rem }
  svg { border: 1px solid #d0d7de; border-radius: 6px; max-width: 100%; height: auto }
  .bad { color: #cf222e }
</style>
<h1>${escape(title)}</h1>
<p>${escape(at.toISOString())} - ${escape(machine())}</p>
${results.flatMap((result) => result.notes.map((note) => `<p class="bad">${escape(`${result.system}, ${result.calls} calls: ${note}`)}</p>`)).join('\n')}
<pre>${escape(resultTable(results))}</pre>
<main>
${charts.join('\n')}
</main>
</html>
`;
}

/** Overhead against the number of calls, where there are runs of several sizes. */
export function overheadByLoad(results: readonly LoadResult[]): string {
  const bySystem = groups(results, (result) => result.overheadLater.count > 0);
  if (bySystem.size === 0) return '';
  return chart({
    title: 'Gateway overhead of later turns',
    x: 'concurrent calls',
    y: 'ms',
    limits: [{ name: 'limit of capacity, p95', y: 50 }],
    series: [...bySystem].flatMap(([name, runs]) => [
      { name: `${name} p50`, points: runs.map((run) => [run.calls, run.overheadLater.p50!] as const) },
      { name: `${name} p95`, points: runs.map((run) => [run.calls, run.overheadLater.p95!] as const) },
    ]),
  });
}

export function cpuByLoad(results: readonly LoadResult[]): string {
  const bySystem = groups(results, (result) => result.cpuSecondsPerCallMinute !== null);
  if (bySystem.size === 0) return '';
  return chart({
    title: 'CPU time of one minute of a call',
    x: 'concurrent calls',
    y: 'CPU-seconds',
    series: [...bySystem].map(([name, runs]) => ({
      name,
      points: runs.map((run) => [run.calls, run.cpuSecondsPerCallMinute!] as const),
    })),
  });
}

function groups(
  results: readonly LoadResult[],
  accepts: (result: LoadResult) => boolean,
): Map<string, LoadResult[]> {
  const counted = results.filter(accepts).toSorted((a, b) => a.calls - b.calls);
  const map = Map.groupBy(counted, (result) => result.system);
  for (const [name, runs] of map) if (new Set(runs.map((run) => run.calls)).size < 2) map.delete(name);
  return map;
}

export function chartsOf(result: LoadResult): string[] {
  const name = `${result.system}, ${result.calls} calls`;
  const charts: string[] = [];
  if (result.overheadCurve.length > 1) {
    const last = result.overheadCurve.length - 1;
    charts.push(
      chart({
        title: `${name}: overhead of later turns`,
        x: 'part of all turns, %',
        y: 'ms',
        series: [
          {
            name: 'no more than',
            points: result.overheadCurve.map((ms, index) => [(index / last) * 100, ms] as const),
          },
        ],
      }),
      chart({
        title: `${name}: every turn`,
        x: 'seconds since the start',
        y: 'overhead, ms',
        series: [
          {
            name: 'turn',
            dots: true,
            points: result.turnsOverTime.map((turn) => [turn.atSeconds, turn.overheadMs] as const),
          },
        ],
      }),
    );
  }
  const sampled = (pick: (sample: LoadResult['samples'][number]) => number | null) =>
    result.samples.flatMap((sample) => {
      const value = pick(sample);
      return value === null ? [] : [[sample.atSeconds, value] as const];
    });
  const cpu = sampled((sample) => sample.cpu);
  if (cpu.length > 1)
    charts.push(
      chart({
        title: `${name}: processor`,
        x: 'seconds since the start',
        y: 'cores in use',
        series: [{ name: 'system under test', points: cpu }],
      }),
    );
  const memory = sampled((sample) => sample.pssMb);
  if (memory.length > 1)
    charts.push(
      chart({
        title: `${name}: memory`,
        x: 'seconds since the start',
        y: 'MB (PSS)',
        series: [
          { name: 'memory', points: memory },
          { name: 'calls', points: sampled((sample) => sample.calls) },
        ],
      }),
    );
  return charts;
}
