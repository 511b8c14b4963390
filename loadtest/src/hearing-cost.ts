import { readdirSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { CallerHearing } from '@parley/media-gateway/hearing/caller-hearing';
import { openVoiceModel } from '@parley/media-gateway/hearing/voice-model/threaded-voice-model';
import { sleep } from '@parley/shared/async/timeout';
import { silentLogger } from '@parley/shared/logging/logger';
import { systemClock } from '@parley/shared/time/clock';
import { FRAME_MS, frameClock } from '@parley/emulators/callers/frame-clock';
import { openLineNoise } from '@parley/emulators/noise/line-noise';
import { parseNoise } from '@parley/emulators/noise/noise-setting';
import { Surroundings } from '@parley/emulators/noise/surroundings';
import { makeCallerSpeech } from '@parley/emulators/speech/caller-speech';
import { runCommand } from './command.ts';
import { preferSelf } from './prefer-self.ts';
import { machine } from './report/html.ts';
import { table } from './report/terminal.ts';
import { canPin, pinSelf } from './sut/start-process.ts';

const USAGE = `Usage: npm run loadtest:hearing -- [--calls 25] [--seconds 20] [--noise babble:-10] [--rounds 3]

What hearing costs in processor time, in seconds for a minute of a call: callers who ask for a third of the time are heard
in real time in this process, on one core, in quiet and in noise, with the voice model and without. The difference is the
model's, on the loop that the audio goes through and on threads of its own. Medians of the rounds. Linux only.
`;

const CALLER_DB = -20;
const LINE = 'Please tell me about the opening hours, and whether there is a table for four people tonight.';
const ROUND_OF_TALK_MS = 12_000;
const WARM_UP_MS = 3000;
/** Of the kernel's clock as /proc shows it (USER_HZ). */
const TICKS_PER_SECOND = 100;

async function main(signal: AbortSignal): Promise<void> {
  const { values } = parseArgs({
    options: {
      calls: { type: 'string', default: '25' },
      seconds: { type: 'string', default: '20' },
      noise: { type: 'string', default: 'babble:-10' },
      rounds: { type: 'string', default: '3' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return void process.stdout.write(USAGE);
  const calls = Number(values.calls);
  const setting = parseNoise(values.noise);
  if (canPin) pinSelf('0');
  const speech = await makeCallerSpeech([LINE], 'flite', CALLER_DB);
  const noise = await openLineNoise(setting, 'development', CALLER_DB);
  preferSelf();
  const model = await openVoiceModel({ maxStreams: calls, clock: systemClock, logger: silentLogger() });
  try {
    /** What comes over a call's line until it begins again; no two callers speak in step. */
    const lineOf = (call: number, noisy: boolean) => {
      const said = speech(LINE);
      const frames = ROUND_OF_TALK_MS / FRAME_MS;
      const from = Math.floor((call * frames) / calls);
      const around = new Surroundings(noisy ? noise : undefined, call * 77);
      return Array.from({ length: frames }, (_, frame) =>
        Buffer.from(around.mix(frame, said[(frame + from) % frames]), 'base64'),
      );
    };
    const measure = (where: 'quiet' | 'noise', judged: boolean) =>
      hear({
        lines: Array.from({ length: calls }, (_, call) => lineOf(call, where === 'noise')),
        model: judged ? model : undefined,
        ms: Number(values.seconds) * 1000,
        signal,
      });
    const rows: string[][] = [];
    for (const where of ['quiet', 'noise'] as const) {
      const found: Cost[][] = [[], []];
      for (let round = 0; round < Number(values.rounds); round++)
        for (const [index, judged] of [false, true].entries()) {
          found[index]!.push(await measure(where, judged));
          signal.throwIfAborted();
        }
      const [without, judged] = found.map((costs) => ({
        loop: median(costs.map(({ loop }) => loop)),
        others: median(costs.map(({ others }) => others)),
      })) as [Cost, Cost];
      const parts = [judged.loop - without.loop, judged.others - without.others];
      const figures = [without.loop, ...parts, parts[0]! + parts[1]!];
      rows.push([where === 'noise' ? values.noise : where, ...figures.map((figure) => figure.toFixed(4))]);
    }
    process.stdout.write(
      `${machine()}\n${calls} calls, ${values.rounds} times ${values.seconds} s each; CPU-seconds a call-minute\n\n${table(
        [
          ['', 'hearing without the model', "the model's part of the loop", 'its threads', 'the model'],
          ...rows,
        ],
      )}\n`,
    );
  } finally {
    await model[Symbol.asyncDispose]();
  }
}

/** CPU-seconds a call-minute. */
interface Cost {
  /** Of the thread that hears. */
  loop: number;
  others: number;
}

/** Hears lines over and over, in real time. */
async function hear(options: {
  lines: readonly (readonly Uint8Array[])[];
  model: Awaited<ReturnType<typeof openVoiceModel>> | undefined;
  ms: number;
  signal: AbortSignal;
}): Promise<Cost> {
  const stops = options.lines.map((line) => {
    const hearing = new CallerHearing({
      format: { encoding: 'pcmu', sampleRate: 8000 },
      threshold: 0.5,
      model: options.model,
    });
    let next = 0;
    const stop = frameClock.add(() => {
      hearing.push(line[next++ % line.length]!, FRAME_MS, performance.now());
      hearing.tick();
    });
    return () => {
      stop();
      hearing[Symbol.dispose]();
    };
  });
  try {
    await sleep(WARM_UP_MS, options.signal);
    const from = threadSeconds();
    await sleep(options.ms, options.signal);
    const to = threadSeconds();
    const minutes = (options.lines.length * options.ms) / 60_000;
    return { loop: (to.loop - from.loop) / minutes, others: (to.others - from.others) / minutes };
  } finally {
    for (const stop of stops) stop();
  }
}

/** Of this process so far: the thread of the loop, and all others that live. */
function threadSeconds(): Cost {
  const seconds = { loop: 0, others: 0 };
  for (const task of readdirSync('/proc/self/task')) {
    const stat = readFileSync(`/proc/self/task/${task}/stat`, 'latin1');
    // The name, in parentheses, may hold anything: count from its end.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = Number(fields[11]) + Number(fields[12]);
    seconds[Number(task) === process.pid ? 'loop' : 'others'] += ticks / TICKS_PER_SECOND;
  }
  return seconds;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)]!;
}

await runCommand(main);
