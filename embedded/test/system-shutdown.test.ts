import { readdir, readFile, stat } from 'node:fs/promises';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { ConfigError } from '@parley/shared/errors/config-error';
import { silentLogger } from '@parley/shared/logging/logger';
import { openFlite } from '@parley/shared/speech/flite';
import { DataFolder } from '../src/data-folder.ts';
import { openPlatform } from '../src/platform.ts';
import { eventually } from './fixtures/system/eventually.ts';
import { startMain, whenUp } from './fixtures/system/parley-process.ts';
import { StreamSocket } from './fixtures/system/stream-socket.ts';
import { temporaryFolder } from './fixtures/system/test-platform.ts';

const STOPPING = 'finishing calls and closing';
const owned = new DisposableList();
t.teardown(() => owned.dispose());
// Made by the first start.
const dataDir = path.join(temporaryFolder(owned), 'data');
const speech = owned.add(await openFlite());

void t.test(
  'SIGTERM: nothing new, running calls finish, those that do not are cut and reported',
  async (t) => {
    const main = owned.add(startMain(dataDir, { DRAIN_TIMEOUT_MS: '3000' }));
    const before = await whenUp(main, dataDir, speech);
    t.equal((await stat(dataDir)).mode & 0o077, 0, 'nobody else may look into the folder');
    const logFile = path.join(dataDir, 'parley.log');
    const logged = await readFile(logFile, 'utf8');
    t.match(main.output, before.apiKey, 'the key is printed');

    // A second start on the same folder says who is in the way, and leaves all as it is.
    const rival = owned.add(startMain(dataDir));
    t.match(await rival.exited, { code: 1 });
    t.match(rival.output, new RegExp(`process ${main.child.pid}\\b`));
    t.match(rival.output, dataDir);
    t.ok((await readFile(logFile, 'utf8')).startsWith(logged));
    t.notOk((await readdir(dataDir)).some((name) => name.startsWith('parley.log.')));

    const agentId = await before.agent();
    const [finishing, lasting] = await Promise.all([before.call(agentId), before.call(agentId)]);
    const waiting = await before.newSession(agentId);
    main.child.kill('SIGTERM');
    await main.prints(STOPPING);
    const url = `${waiting.media_ws_url}/${waiting.ws_ticket}`;
    t.equal(
      await eventually('a refusal', async () => {
        const answer = await StreamSocket.open(url);
        if (typeof answer === 'number') return answer;
        answer.end();
        return false;
      }),
      503,
    );
    finishing.line.hangUp();
    t.match(await lasting.line.closed, { code: 1001 });
    t.match(await main.exited, { code: 0, signal: null });
    const log = await readFile(logFile, 'utf8');
    t.match(log, /"call ended"/);
    t.notMatch(log, /"level":"(error|fatal)"/, 'nobody is alarmed');

    const again = owned.add(startMain(dataDir));
    const after = await whenUp(again, dataDir, speech);
    t.equal(after.apiKey, before.apiKey);
    t.notMatch(again.output, after.apiKey, 'once');
    t.match(await after.session(finishing.session.session_id), {
      status: 'ended',
      ended_by: 'caller',
      hangup_reason: 'caller_hangup',
    });
    t.match(await after.ended(lasting.session.session_id), {
      status: 'ended',
      ended_by: 'system',
      hangup_reason: 'shutdown',
      failure_reason: null,
    });
    t.match(await after.transcript(lasting.session.session_id), [{ role: 'agent', text: /^Hello/ }]);

    // A second signal does not wait for anybody.
    const { line } = await after.call(agentId);
    again.child.kill('SIGTERM');
    await again.prints(STOPPING);
    // One that comes at once is the same one, forwarded; so they are sent until it has had enough.
    await eventually('its end', () => {
      again.child.kill('SIGTERM');
      return again.child.exitCode !== null;
    });
    t.match(await again.exited, { code: 130 }, again.output);
    await line.closed;
  },
);

void t.test('a start that can not be says why, in a line for each mistake', async (t) => {
  const folder = path.join(temporaryFolder(owned), 'data');
  const main = owned.add(
    startMain(folder, { LOG_LEVEL: 'loud', DRAIN_TIMEOUT_MS: 'abc', OPENAI_APIKEY: 'k' }),
  );
  const mistakes: [NodeJS.ProcessEnv, RegExp][] = [
    [{ PORT: 'eighty' }, /PORT: must be a whole number from 0 to 65535/],
    [{ HOST: '192.0.2.1' }, /HOST: cannot listen on 192\.0\.2\.1 \(EADDRNOTAVAIL\)/],
    [{ OPENAI_BASE_URL: 'nowhere' }, /OPENAI_BASE_URL: /],
    [{ MONGODB_URI: 'postgres://127.0.0.1' }, /MONGODB_URI: must be a MongoDB connection string/],
    [
      { MONGODB_URI: 'mongodb://me:secret@127.0.0.1:1/p?serverSelectionTimeoutMS=200' },
      /MONGODB_URI: MongoDB cannot be used: .*ECONNREFUSED/,
    ],
    [{ OUTBOUND_ALLOW: 'nowhere' }, /OUTBOUND_ALLOW: must be an origin such as/],
  ];
  for (const [index, [env, complaint]] of mistakes.entries()) {
    const refusal = await openPlatform({
      env: { PORT: '0', ...env },
      dataDir: `${folder}-${index}`,
      logger: silentLogger(),
    }).then(
      () => t.fail(`started with ${Object.keys(env).join()}`),
      (error: unknown) => error,
    );
    t.type(refusal, ConfigError);
    const { message } = refusal as ConfigError;
    t.match(message, complaint);
    t.notMatch(message, /eighty|nowhere|postgres|secret/, 'no value');
    // What it had opened until then has let go of the folder.
    await DataFolder.open(`${folder}-${index}`)[Symbol.asyncDispose]();
  }
  t.match(await main.exited, { code: 1 });
  t.match(main.output, /DRAIN_TIMEOUT_MS: must be a whole number from 0 to \d+\n.*LOG_LEVEL: /);
  t.match(main.output, /OPENAI_APIKEY is not a setting .* Did you mean OPENAI_API_KEY\?\n/);
  t.notMatch(main.output, /\n +at |loud|abc/, 'no stack, no value');

  const file = `${folder}-file`;
  writeFileSync(file, '');
  t.throws(() => DataFolder.open(file), /PARLEY_DATA_DIR: .* it, or what it lies in, is a file/);
});
