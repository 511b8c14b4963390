import { readBuiltFiles } from './built-files.ts';
import type { ConsoleFiles } from './console-files.ts';

export type { ConsoleFile, ConsoleFiles } from './console-files.ts';

/** The console's files: those of the image, or bundled from the sources when they are first asked for. */
export interface ConsoleSource {
  /** @throws when the sources cannot be bundled */
  files(): Promise<ConsoleFiles>;
}

export async function openConsole(): Promise<ConsoleSource> {
  const built = await readBuiltFiles();
  if (built) return { files: () => Promise.resolve(built) };
  const { openBundler } = await import('./bundle.ts');
  return openBundler();
}
