import { createRequire } from 'node:module';

/** uWebSockets.js, whichever of its binaries loads here. */
export type Uws = typeof import('uWebSockets.js');

/**
 * Newest first: the first needs glibc 2.38 (Debian 13, Ubuntu 24.04) and Node 22, 24 or 26, the second glibc 2.27
 * and Node 18, 20, 22 or 23.
 */
const PACKAGES = ['uWebSockets.js', 'uwebsockets-compat'] as const;

/**
 * Loads the native server.
 * @param maxHeaderBytes of one HTTP request; counts for the whole process and only the first time
 * @throws Error that names the platform and says what to use instead
 */
export function loadUws(
  maxHeaderBytes: number,
  load: (name: string) => unknown = createRequire(import.meta.url),
): Uws {
  // The native code reads its limit from here, once.
  process.env['UWS_HTTP_MAX_HEADERS_SIZE'] ??= String(maxHeaderBytes);
  const failures: string[] = [];
  for (const name of PACKAGES) {
    try {
      return load(name) as Uws;
    } catch (error) {
      const lines = String(error instanceof Error ? error.message : error).split('\n');
      failures.push(`${name}: ${lines.findLast((line) => line.trim() !== '') ?? 'unknown'}`);
    }
  }
  throw new Error(
    `The media server has no binary for ${process.platform}-${process.arch} with Node ${process.versions.node}. ` +
      'Use Node 22 on Linux with glibc 2.27 or later (Debian 12, Ubuntu 20.04), Node 24 with glibc 2.38 or later ' +
      `(Debian 13, Ubuntu 24.04), macOS or Windows; musl (Alpine) does not work.\n  ${failures.join('\n  ')}`,
  );
}
