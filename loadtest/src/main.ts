import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { openBench, openSystem } from './bench.ts';
import { findCapacity } from './capacity.ts';
import { runCommand } from './command.ts';
import { parseOptions, OptionsError, USAGE, type Options } from './options.ts';
import { spreadTable } from './report/figures.ts';
import { htmlReport, machine } from './report/html.ts';
import { profileTables } from './report/cpu-profile.ts';
import { endProgress, printProgress, resultTable } from './report/terminal.ts';
import type { LoadResult } from './load-result.ts';
import { runLoad } from './run-load.ts';
import { judgeSoak, type SoakSample, type SoakVerdict } from './soak.ts';
import { openWholeSystem } from './sut/whole.ts';

/** Callers whose audio is kept and compared with the transcript. */
const LISTENERS = 60;
const MAX_CALLS = 10_000;
/** Of the call that warms up. */
const WARM_UP_STEPS = 4;

async function main(options: Options, signal: AbortSignal): Promise<void> {
  if (options.keep !== undefined) await mkdir(options.keep, { recursive: true });
  const bench = await openBench({
    turns: options.turns,
    delays: {
      sttStartMs: options['stt-start-ms'],
      sttMs: options['stt-ms'],
      llmMs: options['llm-ms'],
      tokenMs: options.tokens === undefined ? 0 : 1000 / options.tokens,
      ttsMs: options['tts-ms'],
    },
    voice: options.voice,
    ...(options.config === undefined ? {} : { agentConfig: options.config }),
    record: options.record,
    providerTls: options['provider-tls'],
    busyProcesses: options.busy,
    pin: !options.unpinned,
    backendProcess: true,
    redis: true,
    controlPlane: options.whole,
    ...(options.keep === undefined ? {} : { directory: resolve(options.keep) }),
  });
  try {
    const system = await (options.whole
      ? openWholeSystem(bench, {
          maxCalls: MAX_CALLS,
          profile: options.profile,
          tls: options.tls,
          nodeArgs: options['node-args'],
        })
      : openSystem(bench, {
          system:
            options.url === undefined
              ? options.system
              : { url: options.url, ca: await certificates(options.ca) },
          gateways: options.gateways,
          maxCalls: MAX_CALLS,
          turns: options.turns,
          profile: options.profile,
          nodeArgs: [...options['node-args'], ...(options.soak === undefined ? [] : ['--expose-gc'])],
          tls: options.tls,
        }));
    try {
      const run = (calls: number, seconds: number, label: string, maxSteps?: number) =>
        runLoad(system, bench.backend, {
          carrier: options.carrier,
          calls,
          turns: options.turns,
          ...(maxSteps === undefined ? {} : { maxSteps }),
          rampPerSecond: options.ramp,
          steadySeconds: seconds,
          mix: options.mix,
          listeners: LISTENERS,
          delays: bench.delays,
          speech: bench.speech,
          helperPids: bench.helperPids,
          signal,
          onProgress: (progress) => printProgress(progress, label),
        }).finally(endProgress);

      // One call to warm up, which counts for nothing: but a system that can't serve it can serve none.
      const warmUp = await run(1, 0, 'warm-up', WARM_UP_STEPS);
      signal.throwIfAborted();
      if (warmUp.counts.answered === 0)
        throw new Error(`No call was answered: ${Object.keys(warmUp.failures).join(', ')}.`);
      // All of a provider at once: they replace those before.
      for (const [provider, faults] of Map.groupBy(options.fault ?? [], (fault) => fault.provider))
        await bench.backend.setFaults({
          provider,
          faults: faults.map(({ kind, probability }) => ({ kind, probability })),
        });

      let results: LoadResult[] = [];
      let soak: { samples: SoakSample[]; verdict: SoakVerdict } | undefined;
      if (options.soak !== undefined) {
        const samples: SoakSample[] = [];
        for (let cycle = 1; cycle <= options.soak; cycle++) {
          const result = await run(options.calls, options.seconds, `cycle ${cycle} of ${options.soak}`);
          signal.throwIfAborted();
          results = [result];
          const sample = {
            calls: (samples.at(-1)?.calls ?? 0) + result.counts.answered,
            memoryBytes: (await system.heapBytes?.()) ?? (result.memory?.afterMb ?? 0) * 2 ** 20,
            handles: result.handles?.after ?? 0,
          };
          samples.push(sample);
          process.stdout.write(
            `${sample.calls} calls: ${(sample.memoryBytes / 2 ** 20).toFixed(1)} MB in use, ${sample.handles} handles, ${result.counts.missingReplies} replies missing, ${result.counts.lost} calls lost\n`,
          );
        }
        const verdict = judgeSoak(samples);
        soak = { samples, verdict };
        process.stdout.write(
          `${verdict.leaks.length === 0 ? 'No leak' : `LEAK of ${verdict.leaks.join(' and ')}`}: ${Math.round(verdict.bytesPerCall)} bytes and ${verdict.handlesPerCall.toFixed(4)} handles a call over the last ${verdict.counted} cycles. Below, the last one.\n\n`,
        );
        if (verdict.leaks.length > 0) process.exitCode = 1;
      } else if (options.capacity) {
        const capacity = await findCapacity((calls) => run(calls, options.seconds, `${calls} calls`), {
          from: options.from,
          step: options.step,
          resolution: options.resolution,
          max: MAX_CALLS,
          onRun: (result) =>
            process.stderr.write(
              `${result.calls} calls: overhead p95 ${result.overheadLater.p95 ?? '-'} ms, pacing p99 ${result.pacing.p99 ?? '-'} ms, simulator late p99 ${result.lateness.p99} ms\n`,
            ),
        });
        results = capacity.runs.toSorted((a, b) => a.calls - b.calls);
        process.stdout.write(
          `Capacity: ${capacity.calls} calls${capacity.because.length > 0 ? `; more failed: ${capacity.because.join(', ')}` : ''}${capacity.limitedByInstrument ? ' (the instrument, not the system)' : ''}\n\n`,
        );
      } else {
        for (let round = 1; round <= options.rounds && !signal.aborted && !results.at(-1)?.blownUp; round++)
          results.push(
            await run(options.calls, options.seconds, options.rounds > 1 ? `round ${round}` : system.name),
          );
      }
      if (results.some((result) => result.blownUp)) process.exitCode = 1;
      process.stdout.write(`${machine()}\n\n${resultTable(results)}\n`);
      if (!options.capacity && results.length > 1) process.stdout.write(`\n${spreadTable(results)}\n`);
      const coldStart = { readyMs: system.startMs, firstGreetingMs: warmUp.greeting.p50 };
      if (coldStart.readyMs !== undefined)
        process.stdout.write(
          `\nCold start: ready ${Math.round(coldStart.readyMs)} ms after the process began; its first call heard the greeting ${Math.round(coldStart.firstGreetingMs ?? Number.NaN)} ms after connecting, less the voice.\n`,
        );
      for (const result of results) {
        for (const note of result.notes) process.stdout.write(`\n${note}\n`);
        const failures = Object.entries(result.failures);
        if (failures.length > 0)
          process.stdout.write(
            `\n${result.calls} calls: ${failures.map(([why, times]) => `${times} x ${why}`).join('; ')}\n`,
          );
        for (const example of result.truth.examples) process.stdout.write(`\n${example}\n`);
      }
      if (options.html !== undefined) {
        await writeFile(options.html, htmlReport(results, `Load test of ${system.name}`));
        process.stdout.write(`\nPlots: ${options.html}\n`);
      }
      if (options.json)
        process.stdout.write(`${JSON.stringify({ machine: machine(), coldStart, soak, results })}\n`);
    } finally {
      await system[Symbol.asyncDispose]();
    }
    if (options.profile) process.stdout.write(`\n${await profileTables(bench.directory)}\n`);
  } finally {
    await bench[Symbol.asyncDispose]();
  }
}

async function certificates(file: string | undefined): Promise<string | undefined> {
  return file === undefined ? undefined : readFile(file, 'utf8');
}

await runCommand(async (signal) => {
  try {
    const options = parseOptions(process.argv.slice(2));
    if (options.help) process.stdout.write(USAGE);
    else await main(options, signal);
  } catch (error) {
    if (!(error instanceof OptionsError)) throw error;
    process.stderr.write(`${error.message}\n\n${USAGE}`);
    process.exit(1);
  }
});
