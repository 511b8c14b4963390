import pino from 'pino';

export type Logger = pino.Logger;

/**
 * JSON lines. Whatever a person said or is goes under the key `pii`, which is redacted; credentials are never
 * passed to a logger, and the common names of theirs are redacted all the same.
 */
export function createLogger(options: {
  name: string;
  level?: string;
  destination?: pino.DestinationStream;
}): Logger {
  return pino(
    {
      name: options.name,
      level: options.level ?? 'info',
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
    },
    options.destination ?? pino.destination({ dest: 2, sync: true }),
  );
}

/** For tests and tools that want no output. */
export function silentLogger(): Logger {
  return pino({ level: 'silent' });
}
