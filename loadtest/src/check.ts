import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { openBench, openSystem } from './bench.ts';
import { runCommand } from './command.ts';
import { machine } from './report/html.ts';
import { endProgress, printProgress, table } from './report/terminal.ts';
import type { LoadResult } from './load-result.ts';
import { runLoad } from './run-load.ts';
import { parseMix } from './scenario/conversation.ts';

const USAGE = `Usage: npm run loadtest:check -- [--save] [--carrier plivo,twilio] [--calls 40] [--seconds 20] [--rounds 3]

A short load of always the same shape, beside the figures that were kept on this machine before (loadtest/results).
Run it before a change with --save, and after it without.
`;

const carrierSchema = z.enum(['plivo', 'twilio', 'telnyx']);

/** The figures that are compared, each with what it is. */
const FIGURES: Record<string, (result: LoadResult) => number | null | undefined> = {
  'overhead, later turns, p50 ms': (result) => result.overheadLater.p50,
  'overhead, later turns, p95 ms': (result) => result.overheadLater.p95,
  'overhead, first turn, p50 ms': (result) => result.overheadFirst.p50,
  'connect to greeting p50 ms': (result) => result.greeting.p50,
  'barge-in to clear p50 ms': (result) => result.bargeInWire.p50,
  'barge-in to clear p95 ms': (result) => result.bargeInWire.p95,
  '|gap - chunk| p99 ms': (result) => result.pacing.p99,
  'underruns ms per call-minute': (result) => result.underrunMsPerCallMinute,
  'CPU-seconds per call-minute': (result) => result.cpuSecondsPerCallMinute,
  'memory per call MB': (result) => result.memory?.perCallMb,
  'missing replies': (result) => result.counts.missingReplies,
  'transcript errors': (result) => result.truth.invented + result.truth.forgotten,
  'simulator late p99 ms': (result) => result.lateness.p99,
};

/** By carrier: each was measured when it was. */
const keptSchema = z.partialRecord(
  carrierSchema,
  z.object({ at: z.string(), figures: z.record(z.string(), z.number().nullable()) }),
);
type Kept = z.infer<typeof keptSchema>;

const TURNS = 4;

async function main(signal: AbortSignal): Promise<void> {
  const { values } = parseArgs({
    options: {
      save: { type: 'boolean', default: false },
      carrier: { type: 'string', default: 'plivo,twilio' },
      calls: { type: 'string', default: '40' },
      seconds: { type: 'string', default: '20' },
      rounds: { type: 'string', default: '3' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return void process.stdout.write(USAGE);
  const calls = Number(values.calls);
  const seconds = Number(values.seconds);
  const rounds = Number(values.rounds);
  const directory = new URL('../results/', import.meta.url);
  const key = createHash('sha256').update(`${machine()} ${calls} ${seconds}`).digest('hex').slice(0, 12);
  const file = new URL(`baseline-${key}.json`, directory);
  const kept = (await readKept(file)) ?? {};

  for (const carrier of z.array(carrierSchema).parse(values.carrier.split(','))) {
    const results: LoadResult[] = [];
    const bench = await openBench({ turns: TURNS, pin: true, backendProcess: true, redis: true });
    try {
      const sut = await openSystem(bench, {
        system: 'parley',
        gateways: 1,
        maxCalls: 10_000,
        turns: TURNS,
        profile: false,
      });
      try {
        process.stderr.write(`${sut.name} is ready: ${carrier}, ${calls} calls\n`);
        const run = (count: number, steadySeconds: number, label: string) =>
          runLoad(sut, bench.backend, {
            carrier,
            calls: count,
            turns: TURNS,
            rampPerSecond: 20,
            steadySeconds,
            mix: parseMix('talk:3,barge_in:2'),
            listeners: 20,
            delays: bench.delays,
            speech: bench.speech,
            helperPids: bench.helperPids,
            signal,
            onProgress: (progress) => printProgress(progress, label),
          }).finally(endProgress);
        await run(1, 0, 'warm-up');
        for (let round = 1; round <= rounds; round++) {
          signal.throwIfAborted();
          results.push(await run(calls, seconds, `${carrier}, round ${round}`));
        }
        signal.throwIfAborted();
      } finally {
        await sut[Symbol.asyncDispose]();
      }
    } finally {
      await bench[Symbol.asyncDispose]();
    }
    const counted = results.filter((result) => result.valid);
    const figures = Object.fromEntries(
      Object.entries(FIGURES).map(([name, read]) => [
        name,
        median((counted.length > 0 ? counted : results).map(read)),
      ]),
    );
    const before = kept[carrier];
    process.stdout.write(
      `${carrier}, ${calls} calls, median of ${counted.length || results.length} runs${counted.length === 0 ? '; the simulator was late in all of them: do not count these' : ''}\n`,
    );
    process.stdout.write(
      `${table([
        ['', before ? `before (${before.at.slice(0, 16)})` : 'before', 'now', 'ratio'],
        ...Object.entries(figures).map(([name, value]) => {
          const old = before?.figures[name] ?? null;
          return [name, show(old), show(value), ratio(old, value)];
        }),
      ])}\n\n`,
    );
    // Figures that do not count are no yardstick, unless somebody insists.
    if (values.save || (!before && counted.length > 0)) {
      kept[carrier] = { at: new Date().toISOString(), figures };
      await mkdir(directory, { recursive: true });
      await writeFile(file, JSON.stringify(kept, undefined, 2));
      process.stdout.write(`Kept as what later runs over ${carrier} are compared with.\n\n`);
    }
  }
}

async function readKept(file: URL): Promise<Kept | undefined> {
  try {
    return keptSchema.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch {
    // None yet, or of an older form: the next one replaces it.
    return undefined;
  }
}

function median(values: readonly (number | null | undefined)[]): number | null {
  const known = values.filter((value) => typeof value === 'number').toSorted((a, b) => a - b);
  if (known.length === 0) return null;
  const middle = Math.floor(known.length / 2);
  return known.length % 2 === 1 ? known[middle]! : (known[middle - 1]! + known[middle]!) / 2;
}

const show = (value: number | null) => (value === null ? '-' : String(Math.round(value * 1000) / 1000));

function ratio(before: number | null, now: number | null): string {
  return before === null || now === null || before <= 0 ? '-' : (now / before).toFixed(2);
}

await runCommand(main);
