import { mkdirSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import pino from 'pino';

/**
 * Where the test suite keeps everything that is logged, at every level, by every process of the run: `npm test` sets
 * it, and searches the folder at the end for what must not be there.
 */
export const KEPT_LOGS_VARIABLE = 'PARLEY_TEST_LOGS';

const LOG_SUFFIX = '.log';
const SECRETS_SUFFIX = '.secrets';

let kept: { dir: string; stream: pino.DestinationStream } | undefined;

/** This process's file in the folder of the run; undefined when nothing is kept. */
export function keptLog(): pino.DestinationStream | undefined {
  const dir = process.env[KEPT_LOGS_VARIABLE];
  if (dir === undefined || dir === '') return undefined;
  if (kept?.dir !== dir) {
    mkdirSync(dir, { recursive: true });
    const stream = pino.destination({ dest: path.join(dir, `${process.pid}${LOG_SUFFIX}`), sync: true });
    kept = { dir, stream };
  }
  return kept.stream;
}

/** Where a process of the run notes secrets that have no shape of their own, as JSON strings, one in a line. */
export function keptSecretsFile(dir: string): string {
  return path.join(dir, `${process.pid}${SECRETS_SUFFIX}`);
}

/** Shapes of everything that opens a door, wherever it comes from. */
const SHAPES: readonly [string, RegExp][] = [
  ['a token of /v1/realtime', /ek_[\w-]{43}/g],
  ['an API key', /sk-svc-[\w-]{16,}/g],
  ['a secret of webhooks', /whsec_[\w-]{43}/g],
  ['a JWT', /eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{16,}/g],
  ['a bearer credential', /\bBearer [\w.~+/-]{8,}/g],
  // Tickets, refresh tokens, tokens of mails: 32 random bytes. Hardly ever without a capital and a digit.
  ['32 bytes as base64url', /(?<![\w+-])(?=[\w-]*[A-Z])(?=[\w-]*[0-9])[\w-]{43}(?![\w/+=-])/g],
];
/** Shorter ones would be found in anything. */
const MIN_SECRET_CHARACTERS = 12;

export interface Leak {
  file: string;
  line: number;
  what: string;
  /** The line with what was found taken out. */
  text: string;
}

/** Searches everything that was kept of a run. @returns what was found, and how much was searched */
export function searchKeptLogs(dir: string): { leaks: Leak[]; lines: number; secrets: number } {
  const names = readdirSync(dir);
  const read = (suffix: string) =>
    names
      .filter((name) => name.endsWith(suffix))
      .map((name) => ({
        name,
        lines: readFileSync(path.join(dir, name), 'utf8').split('\n').filter(Boolean),
      }));
  const secrets = new Set(
    read(SECRETS_SUFFIX)
      .flatMap(({ lines }) => lines.map((line) => JSON.parse(line) as string))
      .filter((secret) => secret.length >= MIN_SECRET_CHARACTERS)
      // As it stands in a line of JSON.
      .map((secret) => JSON.stringify(secret).slice(1, -1)),
  );
  const leaks: Leak[] = [];
  let count = 0;
  for (const { name, lines } of read(LOG_SUFFIX)) {
    for (const [index, text] of lines.entries()) {
      count++;
      const found = (what: string, secret: string) =>
        leaks.push({ file: name, line: index + 1, what, text: text.replaceAll(secret, '[FOUND]') });
      for (const [what, shape] of SHAPES) for (const [match] of text.matchAll(shape)) found(what, match);
      for (const secret of secrets) if (text.includes(secret)) found('a secret of the run', secret);
    }
  }
  return { leaks, lines: count, secrets: secrets.size };
}
