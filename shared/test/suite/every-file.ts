import { globSync, openSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';

// Every test file, each as a process of its own, as `node file` runs it. tap's own runner would have each load hooks
// that watch which modules it loads, for coverage and mocks that are not used here: half of its processor time.

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const WORKSPACES = '{shared,document-store,control-plane,media-gateway,emulators,loadtest,embedded}';
const CACHE = new URL('cached-modules.js', import.meta.url).href;
const FILE_TIMEOUT_MS = 150_000;
/** Where what they print on stderr goes: tap's reporters pass it over. */
const STDERR_VARIABLE = 'TEST_STDERR';
/** What .taprc asks for. */
const NODE_ARGS = process.execArgv.filter((arg) => !arg.includes('@tapjs') && arg !== '--enable-source-maps');

/** Kinds of files, and the part of the run in which those of a kind are begun: the longest take a minute. */
const KINDS: readonly [RegExp, number][] = [
  // They mostly wait, for what is said in calls.
  [/^(embedded|loadtest)\//, 0.7],
  // They have the most to compute.
  [/^control-plane\/test\//, 0.85],
  [/^/, 1],
];

const kinds = Object.groupBy(
  [`${WORKSPACES}/src/**/*.test.ts`, `${WORKSPACES}/test/*.test.ts`, 'lint/*.test.ts']
    .flatMap((pattern) => globSync(pattern, { cwd: ROOT }))
    .sort(),
  (file) => KINDS.findIndex(([kind]) => kind.test(file)),
);
/** Evenly mixed, so that the processors have something to do all the time. */
const files = Object.entries(kinds)
  .flatMap(([kind, some = []]) =>
    some.map((file, index) => ({ file, at: (index / some.length) * KINDS[Number(kind)]![1] })),
  )
  .sort((a, b) => a.at - b.at)
  .map(({ file }) => file);

const stderr = process.env[STDERR_VARIABLE] ? openSync(process.env[STDERR_VARIABLE], 'a') : 2;

t.setTimeout(0);
// Calls take as long as they take to say: there is time for other files meanwhile.
t.jobs = availableParallelism() + 2;
t.plan(files.length);
for (const file of files) {
  // In place of those hooks, for the file and whatever it starts.
  const command = [`NODE_OPTIONS=--import=${CACHE}`, process.execPath, ...NODE_ARGS, path.join(ROOT, file)];
  void t.spawn('env', command, {
    name: file,
    cwd: ROOT,
    stdio: ['ignore', 'pipe', stderr],
    timeout: FILE_TIMEOUT_MS,
    buffered: true,
  });
}
