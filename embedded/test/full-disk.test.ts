import { readFileSync } from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { openFlite } from '@parley/shared/speech/flite';
import { request } from 'undici';
import { CALLER_LINES } from '../src/demonstration/script.ts';
import { RestError } from '../src/demonstration/rest-client.ts';
import { eventually } from './fixtures/system/eventually.ts';
import { startMain, whenUp } from './fixtures/system/parley-process.ts';
import { limitedDisk, mountedDisk } from '../../shared/test/fixtures/small-disk.ts';
import { temporaryFolder } from './fixtures/system/test-platform.ts';

const owned = new DisposableList();
t.teardown(() => owned.dispose());
const folder = temporaryFolder(owned);
const dataDir = path.join(folder, 'data');
const disk = mountedDisk(folder) ?? limitedDisk();
const skip = disk
  ? false
  : 'neither a file system can be mounted here nor does prlimit (util-linux) limit file sizes';

const FULL = 'the disk is full: nothing can be stored until space is freed';
const FREE = 'the disk has space again';
const ONE_SAYS_FULL = [{ name: 'database', ok: false, detail: /disk is full/ }];
/** What was under way when the disk was filled may free some of it: a compaction, a recording that is over. */
const MAX_FILLS = 50;

interface Readiness {
  status: string;
  checks: { name: string; ok: boolean; detail?: string }[];
}

void t.test(
  `${disk?.what ?? 'a full disk'}: it is said, calls go on, and all recovers`,
  { skip },
  async (t) => {
    const { command, reach, fill, free } = disk!;
    const speech = owned.add(await openFlite());
    const main = owned.add(startMain(dataDir, {}, ['--no-demo'], command));
    const pid = main.child.pid!;
    const installation = await whenUp(main, () => reach(pid, dataDir), speech);
    const { rest } = installation;
    // However long it takes: the caller says nothing meanwhile.
    const patient = { silence: { max_reminders: 0, end_call_after_seconds: 600 } };
    const agentId = await installation.agent({ config: patient });
    const { session, line } = await installation.call(agentId);
    const readiness = async () => {
      const { statusCode, body } = await request(`${rest.baseUrl}/health/ready`);
      return { status: statusCode, body: (await body.json()) as Readiness };
    };
    t.match(await readiness(), { status: 200 });
    /** Fills the disk until a session is refused. */
    const refused = async (): Promise<unknown> => {
      for (let fills = 0; fills < MAX_FILLS; fills++) {
        fill(pid);
        const refusal = await installation.newSession(agentId).then(
          () => undefined,
          (error: unknown) => error,
        );
        if (refusal !== undefined) return refusal;
      }
      throw new Error(`Sessions were created although the disk was filled ${MAX_FILLS} times.`);
    };

    t.match(await refused(), {
      status: 503,
      message: /"The disk of this installation is full.*insufficient_storage/,
    });
    t.match(
      await eventually('unreadiness', async () => {
        fill(pid);
        const answer = await readiness();
        return answer.body.checks.some(({ name, ok }) => name === 'database' && !ok) && answer;
      }),
      { status: 503, body: { status: 'unavailable', checks: ONE_SAYS_FULL } },
    );
    t.equal((await request(`${rest.baseUrl}/health/live`)).statusCode, 200);
    await main.prints(FULL);
    // Reads are served, though writes beside them fail.
    await Promise.all([
      rest.get(`/v1/agents/${agentId}`),
      refused(),
      rest.get(`/v1/sessions/${session.session_id}`),
      refused(),
      rest.get('/v1/me'),
    ]);

    // The call goes on, and even ends, while nothing of it can be stored.
    await installation.converse(line, CALLER_LINES.hours);
    t.ok(line.isOpen);
    line.hangUp();
    await line.closed;
    await eventually('a log file that cannot be written', async () => {
      await refused();
      return main.output.includes('the log file cannot be written');
    });

    free(pid);
    await eventually('readiness', async () => (await readiness()).status === 200);
    t.match(await installation.ended(session.session_id), {
      status: 'ended',
      hangup_reason: 'caller_hangup',
      failure_reason: null,
    });
    t.match(await installation.transcript(session.session_id), [
      { role: 'agent', text: 'Hello.' },
      { role: 'caller', text: /when do you close/i },
      { role: 'agent', text: /until eleven/ },
    ]);
    (await installation.call(agentId)).line.hangUp();
    const log = readFileSync(path.join(reach(pid, dataDir), 'parley.log'), 'utf8');
    const said = (text: string) => log.split(`"${text}"`).length - 1;
    t.ok(said(FULL) > 0);
    t.equal(said(FREE), said(FULL), 'each once, not with every write');
    t.match(log, /"dropped":\d+,"msg":"the log file can be written again"/);

    // Nor does a full disk keep it from ending.
    t.type(await refused(), RestError);
    main.child.kill('SIGTERM');
    t.match(await main.exited, { code: 0, signal: null });
  },
);
