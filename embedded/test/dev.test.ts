import { utimes } from 'node:fs/promises';
import path from 'node:path';
import t from 'tap';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { eventually } from './fixtures/system/eventually.ts';
import { CommandProcess, ROOT } from './fixtures/system/parley-process.ts';
import { temporaryFolder } from './fixtures/system/test-platform.ts';

t.setTimeout(120_000);
const owned = new DisposableList();
t.teardown(() => owned.dispose());

void t.test('npm run dev starts the platform, and starts it again when a source changes', async (t) => {
  const dataDir = temporaryFolder(owned);
  const dev = owned.add(new CommandProcess('npm', ['run', 'dev'], { PARLEY_DATA_DIR: dataDir, PORT: '0' }));
  await dev.prints('Parley is running at');
  const starts = () => dev.output.split('Parley is running at').length - 1;
  t.equal(starts(), 1);
  const now = new Date();
  // Of the control plane, which the platform imports.
  await utimes(path.join(ROOT, 'control-plane/src/app.ts'), now, now);
  await eventually('another start', () => starts() === 2);
  t.match(dev.output, /SIGTERM: finishing calls and closing/, 'the one before has closed in good order');
  t.notMatch(dev.output, /Another Parley/);
  dev.interrupt();
  await dev.exited;
});
