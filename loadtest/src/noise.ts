import { writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { carrierSchema } from '@parley/shared/contracts/session-values';
import { openLineNoise, type LineNoise } from '@parley/emulators/noise/line-noise';
import {
  formatNoise,
  NOISE_HALVES,
  NOISE_KINDS,
  parseNoise,
  type NoiseHalf,
} from '@parley/emulators/noise/noise-setting';
import { makeCallerSpeech } from '@parley/emulators/speech/caller-speech';
import { DELAYS } from './backend/backend.ts';
import { openBench, openSystem, STEADY_AGENT } from './bench.ts';
import { runCommand } from './command.ts';
import { idleCores } from './measure/system-usage.ts';
import { roomMarkdown, roomTable } from './noise/noise-report.ts';
import { allLines, INTERRUPTIONS_A_CALL, ROOM_TAG, taughtLines } from './noise/room-talk.ts';
import { runRoom, type RoomResult } from './noise/run-room.ts';
import { preferSelf } from './prefer-self.ts';
import { machine } from './report/html.ts';

/** Active level of the callers, dB to a full-scale square wave. */
const CALLER_DB = -20;
const IDLE_SAMPLE_MS = 3000;
const QUIET = 'quiet';
const PROVIDERS_MS = DELAYS.sttMs + DELAYS.llmMs + DELAYS.ttsMs;

const USAGE = `Usage: npm run loadtest:noise -- [options]

Whole calls from noisy rooms, in real time and some at once, through one gateway: whether the agent goes on when nobody
interrupts it, stops when somebody does, and answers when the caller is done. A table by kind and level of noise, with
quiet first.

  --kinds LIST     ${NOISE_KINDS.join(',')} (all of them)
  --levels LIST    active level of the noise in dB to the caller's (-30,-20,-15,-10,-5)
  --half HALF      of the corpus: development, on which parameters may be tuned, or held-out (development)
  --calls N        calls for each kind and level, with ${INTERRUPTIONS_A_CALL} interruptions in each (25)
  --at-once N      calls at a time (13)
  --carrier NAME   plivo, twilio or telnyx (twilio)
  --quick          tv and babble 20 dB below the caller, 4 calls each
  --markdown FILE  writes the table there, too
  --json           one line of JSON at the end, with every value
  --help           this text

Ends with 1 when the callers were late in some run: those figures do not count. Bad figures alone end with 0.
`;

/** What the figures are worth: printed with them. */
function assumptions(half: NoiseHalf): string {
  return [
    `Emulated: the callers (a voice of flite at ${CALLER_DB} dBFS, 8 kHz mu-law), what is heard around them (${half} half of the corpus),`,
    `the recogniser (the end of a turn ${DELAYS.sttMs} ms after the last voice), the model (first token ${DELAYS.llmMs} ms), the voice (first audio`,
    `${DELAYS.ttsMs} ms). The recogniser is told by marks in the audio which frames hold the questions of the caller: it hears those words`,
    'and their end in any noise, transcribes nobody else, and knows no word of the interruptions. So what stops the agent, or holds',
    'a turn open, is what the gateway hears itself. A real recogniser errs in loud noise, and may write down what a television says.',
    '',
    'silent: share of the time between the first and the last sound of an answer in which it paused. answer: its length, in times of',
    'that in quiet. false stops: clears that nobody asked for, in a minute of agent speech. given up: answers whose rest did not',
    'come within 8 s. missed: interruptions without a clear until 0.3 s after their end. stop: first sample of the interruption to the',
    'clear on the wire, of those not missed. cut off: questions over which agent audio came. turn end: last sample of a question to the',
    `first agent audio, less the ${PROVIDERS_MS} ms of the providers; ∞ where none came within 15 s (unanswered).`,
  ].join('\n');
}

function parseCommandLine() {
  const { values } = parseArgs({
    options: {
      kinds: { type: 'string' },
      levels: { type: 'string' },
      half: { type: 'string', default: 'development' },
      calls: { type: 'string' },
      'at-once': { type: 'string', default: '13' },
      carrier: { type: 'string', default: 'twilio' },
      quick: { type: 'boolean', default: false },
      markdown: { type: 'string' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const { quick } = values;
  const kinds = (values.kinds ?? (quick ? 'tv,babble' : NOISE_KINDS.join(','))).split(',');
  const levels = (values.levels ?? (quick ? '-20' : '-30,-20,-15,-10,-5')).split(',');
  const count = z.coerce.number().int().min(1).max(1000);
  return {
    settings: kinds.flatMap((kind) => levels.map((level) => parseNoise(`${kind.trim()}:${level.trim()}`))),
    half: z.enum(NOISE_HALVES).parse(values.half),
    calls: count.parse(values.calls ?? (quick ? 4 : 25)),
    atOnce: count.parse(values['at-once']),
    carrier: carrierSchema.parse(values.carrier),
    markdown: values.markdown,
    json: values.json,
    help: values.help,
  };
}

async function main(signal: AbortSignal): Promise<void> {
  const options = parseCommandLine();
  if (options.help) return void process.stdout.write(USAGE);
  const { half, settings } = options;
  const results: RoomResult[] = [];
  const bench = await openBench({
    voice: 'flite',
    turns: 1,
    pin: true,
    backendProcess: true,
    redis: true,
    agentConfig: STEADY_AGENT,
    taught: { [ROOM_TAG]: taughtLines() },
    markedEars: true,
  });
  try {
    const speech = await makeCallerSpeech(allLines(), 'flite', CALLER_DB);
    const sut = await openSystem(bench, {
      system: 'parley',
      gateways: 1,
      maxCalls: 1000,
      turns: 1,
      profile: false,
    });
    try {
      preferSelf();
      const idle = await idleCores(sut, IDLE_SAMPLE_MS);
      const run = (name: string, noise: LineNoise | undefined, calls: number) =>
        runRoom({
          sut,
          name,
          noise,
          speech,
          carrier: options.carrier,
          calls,
          atOnce: options.atOnce,
          idleCores: idle,
          helperPids: bench.helperPids,
          signal,
          onCall: (done) => progress(`${name}: ${done} of ${calls} calls`),
        });
      await run('warm-up', undefined, 1);
      for (const setting of [undefined, ...settings]) {
        signal.throwIfAborted();
        const name = setting ? formatNoise(setting) : QUIET;
        const noise = setting && (await openLineNoise(setting, half, CALLER_DB));
        const result = await run(name, noise, options.calls);
        signal.throwIfAborted();
        results.push(result);
        // What takes an hour can be followed.
        progress(`${roomTable([result], PROVIDERS_MS)}\n`);
      }
    } finally {
      await sut[Symbol.asyncDispose]();
    }
  } finally {
    await bench[Symbol.asyncDispose]();
    if (results.length > 0) await report(results, options);
  }
}

async function report(
  results: readonly RoomResult[],
  options: ReturnType<typeof parseCommandLine>,
): Promise<void> {
  const { half, calls, atOnce, carrier, markdown } = options;
  const late = results.filter((result) => !result.valid);
  const others = Math.max(...results.map(({ foreignCores }) => foreignCores ?? 0));
  const head = `${machine()}\n${calls} calls for each row, ${atOnce} at once, ${carrier}, ${half} half; others on the machine used up to ${others} cores, load ${loadavg()[0]!.toFixed(1)}; callers late p99 at most ${Math.max(...results.map((result) => result.latenessP99Ms))} ms`;
  const after = [
    assumptions(half),
    ...(late.length === 0
      ? []
      : [
          `The callers were late in ${late.map((result) => result.noise).join(', ')}: do not use those figures.`,
        ]),
    ...results
      .filter((result) => result.refused > 0)
      .map((result) => `${result.noise}: ${result.refused} calls were refused.`),
  ].join('\n\n');
  process.stdout.write(`\n${head}\n\n${roomTable(results, PROVIDERS_MS)}\n\n${after}\n`);
  if (markdown !== undefined)
    await writeFile(markdown, `${head}\n\n${roomMarkdown(results, PROVIDERS_MS)}\n\n${after}\n`);
  if (options.json) process.stdout.write(`${JSON.stringify({ machine: machine(), half, results })}\n`);
  if (late.length > 0) process.exitCode = 1;
}

function progress(text: string): void {
  process.stderr.write(process.stderr.isTTY ? `\r\u001b[2K${text}` : `${text}\n`);
}

await runCommand(main);
