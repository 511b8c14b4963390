import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DisposableList } from '@parley/shared/async/disposable-list';
import { atExit } from './command.ts';

/** A folder that goes with `owned`, or with this process. */
export async function makeTemporary(owned: DisposableList, prefix: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), prefix));
  const noNeed = atExit(() => rmSync(directory, { recursive: true, force: true }));
  owned.defer(async () => {
    await rm(directory, { recursive: true, force: true, maxRetries: 3 });
    noNeed();
  });
  return directory;
}
