import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { carrierSchema, type CarrierName } from '@parley/shared/contracts/session-values';
import { DELAYS } from './backend/backend.ts';
import { openBench, openSystem, QUIET_AGENT } from './bench.ts';
import { runCommand } from './command.ts';
import { hasOpenssl } from '@parley/emulators/server/make-certificate';
import { median } from './measure/median.ts';
import { FIGURES } from './report/figures.ts';
import { machine } from './report/html.ts';
import { endProgress, printProgress, table } from './report/terminal.ts';
import type { LoadResult } from './load-result.ts';
import { runLoad } from './run-load.ts';
import { parseMix } from './scenario/conversation.ts';

const USAGE = `Usage: npm run loadtest:check -- [options]

A short load of always the same shape, beside the figures that were kept on this machine before (loadtest/results).
Run it before a change with --save, and after it without.

  --save           keeps the figures, as what later runs are compared with
  --carrier LIST   carriers to measure, one after the other (plivo,twilio; none for none)
  --tls LIST       carriers to measure once more as production has it, with figures of their own (plivo; none for none):
                   providers over TLS that offer HTTP/2 and HTTP/1.1, a model that streams token by token, answers
                   thought out ahead, which makes overhead smaller, and recordings. Needs openssl
  --calls N        calls at a time (40)
  --seconds N      how long figures count (20)
  --rounds N       runs of each; the median counts, or the worst of them where it says so (3)
  --busy N         N more processes keep the gateway's core busy (0)

Ends with 1 when a gateway grew by more than 2 GB: that run is broken off and says so.
`;

/** By run: each was measured when it was. */
const keptSchema = z.record(
  z.string(),
  z.object({ at: z.string(), figures: z.record(z.string(), z.number().nullable()) }),
);
type Kept = z.infer<typeof keptSchema>;

interface Run {
  name: string;
  carrier: CarrierName;
  /** As production has it; see the usage. */
  tls: boolean;
}

/** Tokens a second of a model that streams. */
const TOKENS_PER_SECOND = 66;
const TURNS = 4;

async function main(signal: AbortSignal): Promise<void> {
  const { values } = parseArgs({
    options: {
      save: { type: 'boolean', default: false },
      carrier: { type: 'string', default: 'plivo,twilio' },
      tls: { type: 'string', default: 'plivo' },
      calls: { type: 'string', default: '40' },
      seconds: { type: 'string', default: '20' },
      rounds: { type: 'string', default: '3' },
      busy: { type: 'string', default: '0' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return void process.stdout.write(USAGE);
  const shape = {
    calls: Number(values.calls),
    seconds: Number(values.seconds),
    rounds: Number(values.rounds),
    busy: Number(values.busy),
  };
  const { calls, seconds, busy } = shape;
  const directory = new URL('../results/', import.meta.url);
  const of = `${machine()} ${calls} ${seconds}${busy > 0 ? ` ${busy} busy` : ''}`;
  const key = createHash('sha256').update(of).digest('hex').slice(0, 12);
  const file = new URL(`baseline-${key}.json`, directory);
  const kept = (await readKept(file)) ?? {};

  for (const run of runsOf(values.carrier, values.tls)) {
    if (run.tls && !hasOpenssl) {
      process.stdout.write(`${run.name}: skipped, because openssl is not installed.\n\n`);
      continue;
    }
    const results = await measureRun(run, shape, signal);
    const counted = results.filter((result) => result.valid);
    const figures = figuresOf(results);
    const before = kept[run.name];
    process.stdout.write(
      `${run.name}, ${calls} calls, median of ${counted.length || results.length} runs${counted.length === 0 ? '; the simulator was late in all of them: do not use these figures' : ''}\n`,
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
    const blownUp = results.filter((result) => result.blownUp);
    for (const { notes } of blownUp) process.stdout.write(`${notes[0]}\n\n`);
    if (blownUp.length > 0) process.exitCode = 1;
    // Figures that do not count are no yardstick, unless somebody insists.
    if (values.save || (!before && counted.length > 0 && blownUp.length === 0)) {
      kept[run.name] = { at: new Date().toISOString(), figures };
      await mkdir(directory, { recursive: true });
      await writeFile(file, JSON.stringify(kept, undefined, 2));
      process.stdout.write(`Kept as what later runs of ${run.name} are compared with.\n\n`);
    }
  }
}

/** @throws ZodError for a carrier that there is not */
function runsOf(carriers: string, overTls: string): Run[] {
  const parse = (list: string) => (list === 'none' ? [] : z.array(carrierSchema).parse(list.split(',')));
  return [
    ...parse(carriers).map((carrier) => ({ name: carrier, carrier, tls: false })),
    ...parse(overTls).map((carrier) => ({ name: `${carrier} over TLS`, carrier, tls: true })),
  ];
}

/** Starts a gateway of its own, and loads it `rounds` times, or until it blows up. */
async function measureRun(
  { name, carrier, tls }: Run,
  { calls, seconds, rounds, busy }: { calls: number; seconds: number; rounds: number; busy: number },
  signal: AbortSignal,
): Promise<LoadResult[]> {
  const results: LoadResult[] = [];
  const bench = await openBench({
    turns: TURNS,
    pin: true,
    backendProcess: true,
    redis: true,
    busyProcesses: busy,
    ...(tls && {
      providerTls: true,
      delays: { ...DELAYS, tokenMs: 1000 / TOKENS_PER_SECOND },
      record: true,
      agentConfig: QUIET_AGENT,
    }),
  });
  try {
    const sut = await openSystem(bench, {
      system: 'parley',
      gateways: 1,
      maxCalls: 10_000,
      turns: TURNS,
      profile: false,
    });
    try {
      process.stderr.write(`${sut.name} is ready: ${name}, ${calls} calls\n`);
      const run = (count: number, steadySeconds: number, label: string) =>
        runLoad(sut, bench.backend, {
          carrier,
          calls: count,
          turns: TURNS,
          rampPerSecond: 20,
          steadySeconds,
          mix: parseMix(tls ? 'talk:3,barge_in:2,pause_700:1' : 'talk:3,barge_in:2'),
          listeners: 20,
          delays: bench.delays,
          speech: bench.speech,
          helperPids: bench.helperPids,
          signal,
          onProgress: (progress) => printProgress(progress, label),
        }).finally(endProgress);
      await run(1, 0, 'warm-up');
      for (let round = 1; round <= rounds && !results.at(-1)?.blownUp; round++) {
        signal.throwIfAborted();
        results.push(await run(calls, seconds, `${name}, round ${round}`));
      }
      signal.throwIfAborted();
    } finally {
      await sut[Symbol.asyncDispose]();
    }
  } finally {
    await bench[Symbol.asyncDispose]();
  }
  return results;
}

/** One value for each figure: of the runs that count where there are any, but of all where the worst is asked for. */
function figuresOf(results: readonly LoadResult[]): Record<string, number | null> {
  const counted = results.filter((result) => result.valid);
  const steady = counted.length > 0 ? counted : results;
  return Object.fromEntries(
    FIGURES.map(({ name, read, worst }) => [
      name,
      worst ? most(results.map(read)) : median(steady.map(read)),
    ]),
  );
}

async function readKept(file: URL): Promise<Kept | undefined> {
  try {
    return keptSchema.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch {
    // None yet, or of an older form: the next one replaces it.
    return undefined;
  }
}

function most(values: readonly (number | null | undefined)[]): number | null {
  const known = values.filter((value) => typeof value === 'number');
  return known.length === 0 ? null : Math.max(...known);
}

const show = (value: number | null) => (value === null ? '-' : String(Math.round(value * 1000) / 1000));

function ratio(before: number | null, now: number | null): string {
  return before === null || now === null || before <= 0 ? '-' : (now / before).toFixed(2);
}

await runCommand(main);
