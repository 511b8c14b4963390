/**
 * Files with one long scenario each, which mostly start processes or hold calls in real time. `npm test` runs every second
 * of them, beginning with another one each time; `npm run test:long` runs all.
 */
export const ALTERNATING: readonly string[] = [
  ...[
    'agent-tests',
    'audio-formats',
    'browser-page',
    'browser-talk',
    'call-tools',
    'carrier-calls',
    'command-line',
    'dev',
    'documented-commands',
    'full-disk',
    'plain-client',
    'realtime-widget',
    'system-bad-input',
    'system-crash',
    'system-providers',
    'system-redis',
    'system-shutdown',
  ].map((name) => `embedded/test/${name}.test.ts`),
  ...['command-line', 'contract-statuses', 'invoices', 'session-close'].map(
    (name) => `control-plane/test/${name}.test.ts`,
  ),
  'document-store/src/query/planner.test.ts',
  'emulators/src/providers/deepgram-emulator.recognise.test.ts',
];

/** Says which of them a run begins with, 0 or 1. */
export const FIRST_VARIABLE = 'FILES_FIRST';

/** @param first 0 or 1 @returns whether `npm test` runs it */
export function isRun(file: string, first: number): boolean {
  const at = ALTERNATING.indexOf(file);
  return at === -1 || at % 2 === first % 2;
}
