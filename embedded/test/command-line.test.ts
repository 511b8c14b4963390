import { readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import t, { type Test } from 'tap';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { parseWav } from '@parley/shared/audio/wav';
import type { CallResult } from '../src/demonstration/follow-call.ts';
import { CommandProcess, ROOT } from './fixtures/system/parley-process.ts';
import { temporaryFolder } from './fixtures/system/test-platform.ts';

// `npm run call`, as it is typed: with the emulators' real delays. `npm start` is in console/test/newcomer.test.ts.

t.setTimeout(240_000);

const owned = new DisposableList();
t.teardown(() => owned.dispose());
const QUESTION = 'When do you close?';
/** What `npm run call` runs. */
const CALL = path.join(ROOT, 'embedded/src/call.ts');

type Result = Omit<CallResult, 'recording_path'> & { recording_path: string };

function startCall(dataDir: string, ...more: string[]): CommandProcess {
  const args = ['run', '--silent', 'call', '--', '--text', QUESTION, ...more, '--json'];
  return owned.add(new CommandProcess('npm', args, { PARLEY_DATA_DIR: dataDir }));
}

/** The one line of JSON on stdout. */
async function resultOf(t: Test, call: CommandProcess): Promise<Result> {
  const { code } = await call.exited;
  t.equal(code, 0, call.output);
  const lines = call.stdout.trim().split('\n');
  t.equal(lines.length, 1, 'one line for programs, all else on stderr');
  const result = JSON.parse(lines[0]!) as Result;
  t.match(result, {
    session_id: /^[0-9a-f-]{36}$/,
    status: 'ended',
    ended_by: 'caller',
    hangup_reason: 'caller_hangup',
    failure_reason: null,
    recording_id: /^rec_/,
  });
  t.match(
    result.turns.map(({ role, text }) => ({ role, text })),
    [
      { role: 'agent', text: /^Lakeside Bistro/ },
      { role: 'caller', text: /when do you close/i },
      { role: 'agent', text: /until eleven/ },
    ],
  );
  t.ok(result.turns[2]!.latency_ms! > 0, 'the answer has a latency');
  return result;
}

/** Mean amplitude of one channel between two times of the recording. */
function loudness(wav: ReturnType<typeof parseWav>, channel: number, fromMs: number, toMs: number): number {
  const { samples, channels, sampleRate } = wav;
  let sum = 0;
  let count = 0;
  const end = Math.min(Math.floor((toMs * sampleRate) / 1000), samples.length / channels);
  for (let i = Math.floor((fromMs * sampleRate) / 1000); i < end; i++, count++)
    sum += Math.abs(samples[i * channels + channel]!);
  return count === 0 ? 0 : sum / count;
}

/** Each side is heard on its own channel, when the transcript says that it spoke. */
async function checkRecording(t: Test, file: string, turns: Result['turns']): Promise<void> {
  const wav = parseWav(await readFile(file));
  t.equal(wav.channels, 2);
  for (const [index, turn] of turns.entries()) {
    const own = turn.role === 'caller' ? 0 : 1;
    const middle = [turn.start_ms + 200, turn.end_ms - 200] as const;
    const speaks = loudness(wav, own, ...middle);
    const listens = loudness(wav, 1 - own, ...middle);
    t.ok(speaks > 300, `${turn.role} is heard in turn ${index}: ${speaks}`);
    t.ok(listens < speaks / 4, `and the other is not: ${listens}`);
  }
}

void t.test(
  'npm run call needs no running platform, and says what is wrong with its words',
  { buffered: true },
  async (t) => {
    const dataDir = temporaryFolder(owned);
    await rm(dataDir, { recursive: true });
    const result = await resultOf(t, startCall(dataDir, '--noise', 'car:-50dBFS'));
    t.teardown(() => rm(result.recording_path, { force: true }));
    await checkRecording(t, result.recording_path, result.turns);
    const wav = parseWav(await readFile(result.recording_path));
    const [greeting] = result.turns;
    const around = loudness(wav, 0, greeting!.start_ms + 200, greeting!.end_ms - 200);
    t.ok(around > 50 && around < 150, `the car is heard while the caller listens: ${around}`);

    const mistakes: [string[], RegExp][] = [
      [['--carrier', 'pigeon', '--text', 'Hi'], /--carrier pigeon: must be one of/],
      [['--wav', 'nowhere.wav'], /FILE=TEXT/],
      [['--wav', '/nowhere.wav=Hello'], /--wav \/nowhere.wav: ENOENT/],
      [['--shout', 'Hi'], /shout/],
      [['--press', 'xyz'], /--press xyz: must be 1 to 32 of the keys/],
      [['--noise', 'radio:-20'], /--noise radio:-20: must be KIND:LEVEL .* Kinds: tv, babble, talker/],
    ];
    await Promise.all(
      mistakes.map(async ([args, complaint]) => {
        const call = owned.add(
          new CommandProcess(process.execPath, ['--disable-warning=ExperimentalWarning', CALL, ...args], {}),
        );
        t.match(await call.exited, { code: 2 });
        t.match(call.output, complaint);
      }),
    );
  },
);
