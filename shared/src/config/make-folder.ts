import { accessSync, constants, mkdirSync } from 'node:fs';
import { ConfigError } from '../errors/config-error.ts';

/**
 * Makes a folder that a setting names, and those above it, and tries whether it can be written to.
 * @param variable the setting
 * @throws ConfigError that names the setting and what is wrong with the folder
 */
export function makeFolder(variable: string, folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error';
    const why =
      code === 'EEXIST' || code === 'ENOTDIR'
        ? 'it, or what it lies in, is a file'
        : `it cannot be written to`;
    throw new ConfigError([`${variable}: ${folder} cannot be used as a folder: ${why} (${code})`]);
  }
}
