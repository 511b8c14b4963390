import pino from 'pino';
import { keptLog } from './kept-logs.ts';

export type Logger = pino.Logger;

/** Lines that could not be written yet: beyond, new ones are dropped. */
const MAX_WAITING_BYTES = 1024 * 1024;

/**
 * JSON lines. Whatever a person said or is goes under the key `pii`, which is redacted; credentials are never
 * passed to a logger, and the common names of theirs are redacted all the same.
 */
export function createLogger(options: {
  name: string;
  level?: string;
  destination?: pino.DestinationStream;
}): Logger {
  const kept = keptLog();
  const level = options.level ?? 'info';
  const own = options.destination ?? standardError();
  if (!kept) return pino(toOptions(options.name, level), own);
  // The destination keeps its level; the copy has all.
  const streams: pino.StreamEntry[] = [{ stream: kept, level: 'trace' }];
  if (level !== 'silent') streams.push({ stream: own, level: level as pino.Level });
  return pino(toOptions(options.name, 'trace'), pino.multistream(streams));
}

/** The process's stderr, which may be a file on a full disk: what can't be written now is tried again with the next line. */
export function standardError(): pino.DestinationStream {
  const stream = pino.destination({ dest: 2, sync: true, maxLength: MAX_WAITING_BYTES });
  // Without a listener it would end the process.
  stream.on('error', () => {});
  return stream;
}

/** For tests and tools that want no output. */
export function silentLogger(): Logger {
  const kept = keptLog();
  return kept ? pino(toOptions('silent', 'trace'), kept) : pino({ level: 'silent' });
}

function toOptions(name: string, level: string): pino.LoggerOptions {
  return {
    name,
    level,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: {
      paths: [
        'pii',
        '*.pii',
        'token',
        '*.token',
        'ticket',
        '*.ticket',
        'ws_ticket',
        '*.ws_ticket',
        'authorization',
        '*.authorization',
      ],
      censor: '[redacted]',
    },
  };
}
