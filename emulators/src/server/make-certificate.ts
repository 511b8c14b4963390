import { execFile, spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Whether `makeCertificate` works here. */
export const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

/** A certificate that nobody trusts who is not told to, and the file it lies in. */
export interface TestCertificate {
  /** PEM. */
  key: string;
  /** PEM. */
  cert: string;
  certFile: string;
}

/**
 * Makes a certificate for a run of two days at most, in `directory`.
 * @param host whom it is of, as OpenSSL writes it: `IP:…` or `DNS:…`
 * @throws when there is no `openssl` to make it with
 */
export async function makeCertificate(directory: string, host = 'IP:127.0.0.1'): Promise<TestCertificate> {
  const keyFile = join(directory, 'tls.key');
  const certFile = join(directory, 'tls.crt');
  await run('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
    ...['-subj', '/CN=parley-loadtest', '-addext', `subjectAltName=${host}`],
    ...['-keyout', keyFile, '-out', certFile],
  ]);
  return { key: await readFile(keyFile, 'utf8'), cert: await readFile(certFile, 'utf8'), certFile };
}
