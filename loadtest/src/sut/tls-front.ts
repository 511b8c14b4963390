import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeCertificate } from '@parley/emulators/server/make-certificate';
import { startProcess } from './start-process.ts';
import type { SystemUnderTest } from './system.ts';

/**
 * The same system behind TLS: a process on its core ends it with a certificate made for this run, which callers trust
 * and nothing else. Takes ownership of `sut`, also when it fails.
 * @throws when there is no `openssl` to make the certificate with
 */
export async function behindTls(
  sut: SystemUnderTest,
  options: { cpus: string | undefined; directory: string },
): Promise<SystemUnderTest> {
  const fronts = new Map<number, Promise<number>>();
  const waiting = new Map<number, (port: number) => void>();
  try {
    const { key, cert } = await makeCertificate(options.directory);
    const front = await startProcess<object>({
      script: fileURLToPath(new URL('tls-front-process.ts', import.meta.url)),
      args: [JSON.stringify({ key, cert })],
      nodeArgs: ['--disable-warning=ExperimentalWarning'],
      cpus: options.cpus,
      logFile: join(options.directory, 'tls-front.log'),
      onMessage: (message) => {
        const { target, port } = (message as { front: { target: number; port: number } }).front;
        waiting.get(target)?.(port);
      },
    });
    const frontOf = (target: number) => {
      const known = fronts.get(target) ?? new Promise<number>((resolve) => waiting.set(target, resolve));
      if (!fronts.has(target)) front.send({ target });
      fronts.set(target, known);
      return known;
    };
    return {
      ...sut,
      name: `${sut.name}, TLS`,
      pids: [...sut.pids, front.pid],
      async dial(call) {
        const destination = await sut.dial(call);
        const url = new URL(destination.url);
        const port = await frontOf(Number(url.port));
        return { ...destination, url: `wss://127.0.0.1:${port}${url.pathname}${url.search}`, ca: cert };
      },
      async [Symbol.asyncDispose]() {
        await front.stop();
        await sut[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await sut[Symbol.asyncDispose]();
    throw error;
  }
}
