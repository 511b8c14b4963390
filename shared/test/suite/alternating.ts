const embedded = (...names: string[]) => names.map((name) => `embedded/test/${name}.test.ts`);
const controlPlane = (...names: string[]) => names.map((name) => `control-plane/test/${name}.test.ts`);

/**
 * Files of one long scenario each, which mostly start processes or hold calls in real time: in sets that take about as long
 * as each other. `npm test` runs one set, another one each time; `npm run test:long` runs all.
 */
export const ALTERNATING: readonly (readonly string[])[] = [
  [
    ...embedded('agent-tests', 'audio-formats', 'browser-page', 'call-tools', 'command-line', 'system-crash'),
    ...controlPlane('command-line'),
  ],
  [
    ...embedded('browser-talk', 'dev', 'documented-commands', 'full-disk', 'system-bad-input'),
    ...embedded('system-shutdown'),
    ...controlPlane('contract-statuses'),
  ],
  [
    ...embedded('carrier-calls', 'plain-client', 'realtime-widget', 'system-providers', 'system-redis'),
    ...controlPlane('campaign-crashes', 'invoices'),
    'document-store/src/query/planner.test.ts',
    'emulators/src/providers/deepgram-emulator.recognise.test.ts',
  ],
];

/** Says which set a run has, from 0 on. */
export const SET_VARIABLE = 'FILES_SET';

/** @returns whether `npm test` runs a file with this set */
export function isRun(file: string, set: number): boolean {
  const of = ALTERNATING.findIndex((files) => files.includes(file));
  return of === -1 || of === set;
}
