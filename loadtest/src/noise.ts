import { writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { openLineNoise } from '@parley/emulators/noise/line-noise';
import { formatNoise, type NoiseHalf } from '@parley/emulators/noise/noise-setting';
import { makeCallerSpeech } from '@parley/emulators/speech/caller-speech';
import { DELAYS } from './backend/backend.ts';
import { openBench, openSystem, STEADY_AGENT } from './bench.ts';
import { runCommand } from './command.ts';
import { idleCores } from './measure/system-usage.ts';
import { parseNoiseOptions, USAGE, type NoiseOptions } from './noise/noise-options.ts';
import { roomMarkdown, roomTable } from './noise/noise-report.ts';
import { allLines, ROOM_TAG, taughtLines } from './noise/room-talk.ts';
import { runRooms, type Room, type RoomResult } from './noise/run-room.ts';
import { preferSelf } from './prefer-self.ts';
import { machine } from './report/html.ts';
import { hasLivekitAgents } from './sut/livekit-agents.ts';
import type { SystemUnderTest } from './sut/system.ts';

/** Active level of the callers, dB to a full-scale square wave. */
const CALLER_DB = -20;
const IDLE_SAMPLE_MS = 3000;
const PROVIDERS_MS = DELAYS.sttMs + DELAYS.llmMs + DELAYS.ttsMs;
const QUIET: Room = { noise: 'quiet', line: undefined };

/** What the figures are worth: printed with them. */
function assumptions(half: NoiseHalf): string {
  return [
    `Emulated: the callers (a voice of flite at ${CALLER_DB} dBFS, 8 kHz mu-law), what is heard around them (${half} half of the corpus),`,
    `the recogniser (the end of a turn ${DELAYS.sttMs} ms after the last voice), the model (first token ${DELAYS.llmMs} ms), the voice (first audio`,
    `${DELAYS.ttsMs} ms). The recogniser is told by marks in the audio which frames hold the questions of the caller: it hears those words`,
    'and their end in any noise, transcribes nobody else, and knows no word of the interruptions. So what stops the agent, or holds',
    'a turn open, is what the system hears itself. A real recogniser errs in loud noise, and may write down what a television says.',
    '',
    'silent: share of the time between the first and the last sound of an answer in which it paused. answer: its length, in times of',
    'that in quiet. false stops: clears that nobody asked for, in a minute of agent speech. given up: answers whose rest did not',
    'come within 8 s. missed: interruptions without a clear until 0.3 s after their end. stop: first sample of the interruption to the',
    'clear on the wire, of those not missed. cut off: questions over which agent audio came. turn end: last sample of a question to the',
    `first agent audio, less the ${PROVIDERS_MS} ms of the providers; ∞ where none came within 15 s (unanswered). CPU and late: of`,
    'the run, in which the calls of all levels of a kind were held side by side.',
  ].join('\n');
}

async function main(signal: AbortSignal): Promise<void> {
  const options = parseNoiseOptions(process.argv.slice(2));
  if (options.help) return void process.stdout.write(USAGE);
  if (options.systems.includes('livekit') && !(await hasLivekitAgents()))
    throw new Error('LiveKit agents-js is not installed. Run npm run loadtest:peers.');
  const results: RoomResult[] = [];
  const owned = new DisposableList();
  try {
    const bench = owned.add(
      await openBench({
        voice: 'flite',
        turns: 1,
        pin: true,
        backendProcess: true,
        redis: true,
        agentConfig: STEADY_AGENT,
        taught: { [ROOM_TAG]: taughtLines() },
        markedEars: true,
      }),
    );
    const speech = await makeCallerSpeech(allLines(), 'flite', CALLER_DB);
    const systems: SystemUnderTest[] = [];
    for (const system of options.systems)
      systems.push(
        owned.add(await openSystem(bench, { system, gateways: 1, maxCalls: 1000, turns: 1, profile: false })),
      );
    preferSelf();
    const idle = new Map<SystemUnderTest, number>();
    for (const sut of systems) idle.set(sut, await idleCores(sut, IDLE_SAMPLE_MS));

    /** The same calls to each system, one after the other. */
    const call = async (rooms: readonly Room[], calls: number) => {
      const rows: RoomResult[] = [];
      for (const sut of systems) {
        const name = `${sut.name}, ${rooms.map((room) => room.noise).join(' ')}`;
        rows.push(
          ...(await runRooms({
            sut,
            rooms,
            speech,
            carrier: options.carrier,
            calls,
            atOnce: options.atOnce,
            idleCores: idle.get(sut)!,
            helperPids: bench.helperPids,
            signal,
            onCall: (done) => progress(`${name}: ${done} of ${calls * rooms.length} calls`),
          })),
        );
        signal.throwIfAborted();
      }
      return rows;
    };

    await call([QUIET], 1);
    for (const levels of [undefined, ...options.kinds]) {
      const rooms = levels ? await roomsOf(levels, options.half) : [QUIET];
      // As many calls in quiet as from all levels of a kind.
      const calls = levels ? options.calls : options.calls * options.kinds[0]!.length;
      const rows = await call(rooms, calls);
      results.push(...rows);
      // What takes a while can be followed, and what is broken off is not lost.
      progress(`${roomTable(rows, PROVIDERS_MS)}\n`);
      if (options.markdown !== undefined) await writeMarkdown(options.markdown, results, options);
    }
  } finally {
    await owned.dispose();
    if (results.length > 0) report(results, options);
  }
}

async function roomsOf(levels: NoiseOptions['kinds'][number], half: NoiseHalf): Promise<Room[]> {
  return Promise.all(
    levels.map(async (setting) => ({
      noise: formatNoise(setting),
      line: await openLineNoise(setting, half, CALLER_DB),
    })),
  );
}

/** What is printed before and after the table. */
function frame(results: readonly RoomResult[], { half, calls, atOnce, carrier }: NoiseOptions) {
  const most = (values: readonly number[]) => Math.max(...values);
  const others = most(results.map(({ run }) => run.foreignCores ?? 0));
  const late = results.filter(({ run }) => !run.valid);
  return {
    head:
      `${machine()}\n${calls} calls for each kind and level, ${atOnce} at once, ${carrier}, ${half} half; others on the ` +
      `machine used up to ${others} cores, load ${loadavg()[0]!.toFixed(1)}; callers late p99 at most ` +
      `${most(results.map(({ run }) => run.latenessP99Ms))} ms`,
    after: [
      assumptions(half),
      ...(late.length === 0
        ? []
        : [
            `The callers were late in ${late.map(({ noise, system }) => `${noise} (${system})`).join(', ')}: do not use those figures.`,
          ]),
      ...results
        .filter(({ refused }) => refused > 0)
        .map(({ noise, system, refused }) => `${noise}: ${refused} calls were refused by ${system}.`),
    ].join('\n\n'),
  };
}

async function writeMarkdown(
  file: string,
  results: readonly RoomResult[],
  options: NoiseOptions,
): Promise<void> {
  const { head, after } = frame(results, options);
  await writeFile(file, `${head}\n\n${roomMarkdown(results, PROVIDERS_MS)}\n\n${after}\n`);
}

function report(results: readonly RoomResult[], options: NoiseOptions): void {
  const { head, after } = frame(results, options);
  process.stdout.write(`\n${head}\n\n${roomTable(results, PROVIDERS_MS)}\n\n${after}\n`);
  if (options.json)
    process.stdout.write(`${JSON.stringify({ machine: machine(), half: options.half, results })}\n`);
  if (results.some(({ run }) => !run.valid)) process.exitCode = 1;
}

function progress(text: string): void {
  process.stderr.write(process.stderr.isTTY ? `\r\u001b[2K${text}` : `${text}\n`);
}

await runCommand(main);
