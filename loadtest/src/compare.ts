import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { DELAYS } from './backend/backend.ts';
import { openBench, openSystem, type SystemOptions } from './bench.ts';
import { runCommand } from './command.ts';
import { median } from './measure/median.ts';
import { htmlReport, machine } from './report/html.ts';
import { endProgress, printProgress, table } from './report/terminal.ts';
import type { LoadResult } from './load-result.ts';
import { runLoad } from './run-load.ts';
import { parseMix } from './scenario/conversation.ts';
import { hasLivekitAgents } from './sut/livekit-agents.ts';

const USAGE = `Usage: npm run loadtest:compare -- [--calls 8] [--seconds 20] [--rounds 3] [--carrier twilio] [--mix talk:3,barge_in:1] [--tokens N] [--html FILE] [--json]

Parley, LiveKit agents-js (where npm run loadtest:peers has installed it) and a bare uWebSockets server in turn, round by
round, each alone on one core with the same callers and the same emulated providers. Medians, and ratios to Parley.
`;

const TURNS = 4;

const FIGURES: [name: string, read: (result: LoadResult) => number | null | undefined][] = [
  ['overhead, later turns, p50 ms', (result) => result.overheadLater.p50],
  ['overhead, later turns, p95 ms', (result) => result.overheadLater.p95],
  ['overhead, first turn, p50 ms', (result) => result.overheadFirst.p50],
  ['overhead, first turn, p95 ms', (result) => result.overheadFirst.p95],
  ['connect to greeting, p50 ms', (result) => result.greeting.p50],
  ['barge-in to clear on the wire, p50 ms', (result) => result.bargeInWire.p50],
  ['barge-in to clear on the wire, p95 ms', (result) => result.bargeInWire.p95],
  ['agent audio left at clear, p50 ms', (result) => result.leadAtClear.p50],
  ['underruns, ms per call-minute', (result) => result.underrunMsPerCallMinute],
  ['CPU-seconds per call-minute', (result) => result.cpuSecondsPerCallMinute],
  ['memory per call, MB', (result) => result.memory?.perCallMb],
  ['memory of the idle process, MB', (result) => result.memory?.beforeMb],
  ['missing replies', (result) => result.counts.missingReplies],
];

async function main(signal: AbortSignal): Promise<void> {
  const { values } = parseArgs({
    options: {
      calls: { type: 'string', default: '8' },
      seconds: { type: 'string', default: '20' },
      rounds: { type: 'string', default: '3' },
      carrier: { type: 'string', default: 'twilio' },
      mix: { type: 'string', default: 'talk:3,barge_in:1' },
      tokens: { type: 'string' },
      html: { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return void process.stdout.write(USAGE);
  const carrier = values.carrier === 'plivo' ? 'plivo' : 'twilio';
  const systems: SystemOptions['system'][] = ['parley', 'ceiling'];
  if (await hasLivekitAgents()) systems.splice(1, 0, 'livekit');
  else process.stderr.write('LiveKit agents-js is not installed. Run npm run loadtest:peers.\n');

  const results: LoadResult[] = [];
  const bench = await openBench({
    turns: TURNS,
    pin: true,
    backendProcess: true,
    redis: true,
    ...(values.tokens === undefined ? {} : { delays: { ...DELAYS, tokenMs: 1000 / Number(values.tokens) } }),
  });
  try {
    for (let round = 1; round <= Number(values.rounds); round++) {
      for (const system of systems) {
        signal.throwIfAborted();
        const sut = await openSystem(bench, {
          system,
          gateways: 1,
          maxCalls: 10_000,
          turns: TURNS,
          profile: false,
        });
        try {
          const run = (calls: number, steadySeconds: number) =>
            runLoad(sut, bench.backend, {
              carrier,
              calls,
              turns: TURNS,
              rampPerSecond: 10,
              steadySeconds,
              mix: parseMix(values.mix),
              listeners: 20,
              delays: bench.delays,
              speech: bench.speech,
              helperPids: bench.helperPids,
              signal,
              onProgress: (progress) => printProgress(progress, `round ${round}, ${sut.name}`),
            }).finally(endProgress);
          await run(1, 0);
          signal.throwIfAborted();
          results.push(await run(Number(values.calls), Number(values.seconds)));
        } finally {
          await sut[Symbol.asyncDispose]();
        }
      }
    }
  } finally {
    await bench[Symbol.asyncDispose]();
  }

  const bySystem = Map.groupBy(results, (result) => result.system);
  const names = [...bySystem.keys()];
  const columns = names.map((name) => {
    const runs = bySystem.get(name)!;
    const counted = runs.filter((result) => result.valid);
    return (counted.length > 0 ? counted : runs).map((result) => FIGURES.map(([, read]) => read(result)));
  });
  const rows = FIGURES.map(([name], row) => {
    const medians = columns.map((runs) => median(runs.map((figures) => figures[row])));
    return [
      name,
      ...medians.flatMap((value, column) => [
        value === null ? '-' : String(Math.round(value * 100) / 100),
        ...(column === 0 ? [] : [ratio(medians[0]!, value)]),
      ]),
    ];
  });
  process.stdout.write(
    `${machine()}\n${values.calls} calls, ${carrier}, ${values.rounds} rounds of ${values.seconds} s; the model answers ${values.tokens === undefined ? 'in one chunk' : `${values.tokens} tokens a second`}; x = times Parley's\n\n`,
  );
  process.stdout.write(
    `${table([['', ...names.flatMap((name, column) => (column === 0 ? [name] : [name, 'x']))], ...rows])}\n`,
  );
  const late = results.filter((result) => !result.valid).length;
  if (late > 0)
    process.stdout.write(
      `\nThe simulator was late in ${late} of ${results.length} runs; those are not counted.\n`,
    );
  if (values.html !== undefined) await writeFile(values.html, htmlReport(results, 'Voice gateways compared'));
  if (values.json) process.stdout.write(`${JSON.stringify({ machine: machine(), results })}\n`);
}

function ratio(ours: number | null, theirs: number | null): string {
  return ours === null || theirs === null || ours <= 0 ? '-' : (theirs / ours).toFixed(1);
}

await runCommand(main);
