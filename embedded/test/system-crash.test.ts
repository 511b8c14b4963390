import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import t from 'tap';
import { parseWav } from '@parley/shared/audio/wav';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { openFlite } from '@parley/shared/speech/flite';
import { CALLER_LINES } from '../src/demonstration/script.ts';
import { eventually } from './fixtures/system/eventually.ts';
import { startMain, whenUp } from './fixtures/system/parley-process.ts';
import { Receiver } from './fixtures/system/receiver.ts';
import { spooled } from './fixtures/system/spooled.ts';
import { temporaryFolder } from './fixtures/system/test-platform.ts';

const owned = new DisposableList();
t.teardown(() => owned.dispose());
const dataDir = temporaryFolder(owned);
const speech = owned.add(await openFlite());
const receiver = owned.add(await Receiver.open());
const env = { OUTBOUND_ALLOW: receiver.origin };

void t.test('a process that is killed loses no call that was spoken and no call that was over', async (t) => {
  const first = owned.add(startMain(dataDir, env));
  const before = await whenUp(first, dataDir, speech);
  const agentId = await before.agent({ config: { recording: { enabled: true } } });
  await before.webhook(agentId, `${receiver.origin}/ended`);

  const [running, over] = await Promise.all([before.call(agentId), before.call(agentId)]);
  await before.converse(running.line, CALLER_LINES.booking);
  const spoken = await eventually('what was spoken', async () => {
    const turns = await before.transcript(running.session.session_id);
    return turns.length >= 3 && turns;
  });
  // One call in the middle of its life, and one at the very end of it.
  over.line.hangUp();
  await over.line.closed;
  first.child.kill('SIGKILL');
  t.match(await first.exited, { signal: 'SIGKILL' });
  t.match(await running.line.closed, { code: 1006 });

  const second = owned.add(startMain(dataDir, env));
  const after = await whenUp(second, dataDir, speech);
  t.equal(after.apiKey, before.apiKey);
  t.match(await after.rest.get('/v1/me'), { org_id: before.orgId }, 'the key still opens');

  const cut = await after.ended(running.session.session_id);
  t.match(cut, { status: 'ended', ended_by: 'system', hangup_reason: null, failure_reason: 'internal' });
  t.strictSame(await after.transcript(running.session.session_id), spoken, 'nothing that was said is lost');
  t.match(await after.ended(over.session.session_id), { status: 'ended' });

  for (const { session } of [running, over]) {
    await receiver.one('/ended', session.session_id);
    await eventually('everything after the call', async () => {
      const { detail } = await after.session(session.session_id);
      return detail.post_call?.status === 'done';
    });
    const ends = (await after.events(session.session_id)).filter(({ type }) => type === 'call_ended');
    t.equal(ends.length, 1, 'closed once');
    await eventually('the recording', async () => {
      const { status } = await after.recording(session.session_id);
      return status === 'ready';
    });
  }

  const folder = path.join(dataDir, 'recordings');
  const files = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.wav'));
  t.equal(files.length, 2);
  const name = files.find((file) => file.includes(running.session.session_id))!;
  const bytes = await readFile(path.join(folder, name));
  const { samples, channels, sampleRate } = parseWav(bytes);
  t.equal(channels, 2);
  t.ok(samples.length / channels / sampleRate > 3, 'as long as was spoken');
  t.equal(samples.length * 2, bytes.length - 44, 'the header tells the length of the file');
  t.equal((await stat(path.join(folder, name))).mode & 0o077, 0, 'for nobody else to read');

  // Once more in good order: nothing is left to be done, and nothing is done twice.
  second.child.kill('SIGTERM');
  t.match(await second.exited, { code: 0 });
  for (const { session } of [running, over]) {
    t.equal(receiver.of('/ended', session.session_id).length, 1, 'one webhook');
  }
  t.strictSame(await spooled(dataDir), []);
});
