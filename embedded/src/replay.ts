import path from 'node:path';
import { parseArgs, styleText } from 'node:util';
import { sleep } from '@parley/shared/async/timeout';
import type { DisposableList } from '@parley/shared/async/disposable-list';
import { runCommand, UsageError } from './command.ts';
import { readRuntime } from './data-folder.ts';
import { RestClient } from './demonstration/rest-client.ts';
import { printReplay, type Replay } from './print-replay.ts';
import { loadSecrets } from './secrets.ts';

const USAGE = `Holds a conversation that took place again, in writing, with a version of its agent, and prints what has changed.

  npm run replay -- <session id> [options]

Options:
  --version N       version of the agent that answers (default: the newest)
  --all             prints all turns, not only those that have changed
  --json            one line of JSON: the replay as GET /v1/replays/{replay_id} answers it
  --help            this text

Uses the platform that is running here (npm start), or the one at PARLEY_URL with the API key in PARLEY_API_KEY.
Exit code: 0 when nothing has changed, 1 when something has or the replay failed, 2 when the command line is wrong.
`;

const POLL_MS = 500;

function parseCommandLine(argv: readonly string[]) {
  let parsed;
  try {
    parsed = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        version: { type: 'string' },
        all: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
  const { values, positionals } = parsed;
  const { version } = values;
  if (version !== undefined && !/^[1-9]\d{0,8}$/.test(version))
    throw new UsageError(`--version ${version}: must be the number of a version`);
  if (!values.help && positionals.length !== 1) throw new UsageError('Name one session by its id.');
  return {
    ...values,
    version: version === undefined ? null : Number(version),
    sessionId: positionals[0] ?? '',
  };
}

/** The installation that is named, or the one that runs here. */
function openRest(): RestClient {
  const { PARLEY_URL: url, PARLEY_API_KEY: key, PARLEY_DATA_DIR: folder } = process.env;
  if (url !== undefined && key !== undefined) return new RestClient(url.replace(/\/+$/, ''), key);
  const dataDir = path.resolve(folder ?? '.parley');
  const runtime = readRuntime(dataDir);
  if (!runtime)
    throw new Error(
      'No platform is running here. Start it with npm start, or set PARLEY_URL and PARLEY_API_KEY.',
    );
  return new RestClient(
    runtime.local_url,
    loadSecrets(path.join(dataDir, 'secrets.json')).demonstration_key ?? '',
  );
}

async function main(_owned: DisposableList, signal: AbortSignal): Promise<number> {
  const wanted = parseCommandLine(process.argv.slice(2));
  if (wanted.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const rest = openRest();
  let replay = await rest.post<Replay>(`/v1/sessions/${encodeURIComponent(wanted.sessionId)}/replays`, {
    version: wanted.version,
  });
  while (replay.status === 'queued' || replay.status === 'running') {
    await sleep(POLL_MS, signal);
    replay = await rest.get<Replay>(`/v1/replays/${replay.id}`);
  }
  const text = wanted.json ? `${JSON.stringify(replay)}\n` : printReplay(replay, wanted.all, styleText);
  process.stdout.write(text);
  return replay.status === 'completed' && !replay.replies_changed && !replay.tools_changed ? 0 : 1;
}

process.exitCode = await runCommand({ usage: USAGE, stopped: 'Stopped.' }, main);
