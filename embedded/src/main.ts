import { renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { parseArgs, styleText } from 'node:util';
import { multistream, type Level } from 'pino';
import { z } from 'zod';
import { CONTROL_PLANE_VARIABLES } from '@parley/control-plane/config';
import { GATEWAY_VARIABLES } from '@parley/media-gateway/config';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { shutdownSignal } from '@parley/shared/async/shutdown-signal';
import { makeFolder } from '@parley/shared/config/make-folder';
import { findMistyped } from '@parley/shared/config/mistyped';
import { envInteger, readEnv } from '@parley/shared/config/read-env';
import { ConfigError } from '@parley/shared/errors/config-error';
import { LogFile } from '@parley/shared/logging/log-file';
import { createLogger, standardError, type Logger } from '@parley/shared/logging/logger';
import { lowerV8Threads } from '@parley/shared/process/lower-v8-threads';
import { DataFolderInUseError } from './data-folder.ts';
import { openDemonstrationPlatform } from './demonstration/demonstration-platform.ts';
import { runDemonstration } from './demonstration/run-demonstration.ts';
import { printFirstScreen } from './first-screen.ts';

const USAGE = `Parley, the whole platform in one process.

  npm start -- [options]

  --no-demo     don't place the demonstration call
  --help        this text

Environment: PARLEY_DATA_DIR (./.parley), PORT (8080), HOST (127.0.0.1), DEEPGRAM_API_KEY, OPENAI_API_KEY,
ELEVENLABS_API_KEY, MONGODB_URI, REDIS_URL, LOG_LEVEL. The README has the whole table.
`;

const LOG_FILE = 'parley.log';

/** Running calls have this long to finish after the first Ctrl-C, unless the environment says otherwise; a second one ends at once. */
const DRAIN_TIMEOUT_MS = 20_000;
const environment = z.object({
  PARLEY_DATA_DIR: z.string().default('.parley'),
  DRAIN_TIMEOUT_MS: envInteger(0, 86_400_000).default(DRAIN_TIMEOUT_MS),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).optional(),
});

const VARIABLES = [...Object.keys(environment.shape), ...CONTROL_PLANE_VARIABLES, ...GATEWAY_VARIABLES];

/** The log goes to a file of this run, so that the conversation stays readable; errors, or all of a level asked for, to the terminal too. */
function openLog(file: string, level: Level | 'silent' | undefined, owned: DisposableList): Logger {
  // The first to write into the folder makes it; nobody else may look into it.
  makeFolder('PARLEY_DATA_DIR', path.dirname(file));
  const logFile = owned.add(
    new LogFile({
      path: file,
      onFailure: (error) =>
        logger.error({ err: error }, 'the log file cannot be written: its lines wait until it can'),
      onRecovery: (dropped) => logger.warn({ dropped }, 'the log file can be written again'),
    }),
  );
  const streams = multistream([
    { level: 'info', stream: logFile },
    { level: level === undefined || level === 'silent' ? 'error' : level, stream: standardError() },
  ]);
  const logger = createLogger({ name: 'parley', level: level ?? 'info', destination: streams });
  return logger;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { 'no-demo': { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  lowerV8Threads();
  const write = (line: string) => void process.stdout.write(`${line}\n`);
  const owned = new DisposableList();
  const stopping = new AbortController();
  const stopped = shutdownSignal().then((signal) => {
    write(styleText('gray', `\n${signal}: finishing calls and closing; once more to stop at once`));
    stopping.abort(new Error('Parley is stopping.'));
  });
  try {
    for (const { name, meant } of findMistyped(process.env, VARIABLES))
      process.stderr.write(
        `${name} is not a setting of Parley and changes nothing. Did you mean ${meant}?\n`,
      );
    const config = readEnv(environment, process.env);
    const dataDir = path.resolve(config.PARLEY_DATA_DIR);
    const log = path.join(dataDir, LOG_FILE);
    // Until the folder is known to be this process's own, it may hold the log of another.
    const draft = `${log}.${process.pid}`;
    const logger = openLog(draft, config.LOG_LEVEL, owned);
    const running = owned.add(
      await openDemonstrationPlatform({ env: process.env, dataDir, logger }).catch((error: unknown) => {
        if (error instanceof DataFolderInUseError) rmSync(draft);
        else renameSync(draft, log);
        throw error;
      }),
    );
    renameSync(draft, log);
    const { userAccounts } = running.platform.controlPlane.services;
    printFirstScreen(running, (await userAccounts.hasUsers()) ? undefined : userAccounts.setupCode(), write);
    void running.platform.controlPlane.prepareConsole(stopping.signal);
    if (!values['no-demo']) {
      await runDemonstration(running, write, stopping.signal).catch((error: unknown) => {
        if (!stopping.signal.aborted)
          write(
            styleText(
              'red',
              `The demonstration call failed: ${error instanceof Error ? error.message : String(error)}`,
            ),
          );
      });
    }
    if (!stopping.signal.aborted)
      write(`\nParley is running at ${running.platform.localUrl}. ${styleText('bold', 'Ctrl-C')} stops it.`);
    await stopped;
    await running.desk.hangUp();
    await running.platform.drain(config.DRAIN_TIMEOUT_MS);
    return 0;
  } catch (error) {
    if (!(error instanceof ConfigError) && !(error instanceof DataFolderInUseError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 1;
  } finally {
    await owned.dispose();
  }
}

// A reader that has gone away (`npm start | head`) is no reason to end calls.
process.stdout.on('error', () => {});
process.exitCode = await main();
