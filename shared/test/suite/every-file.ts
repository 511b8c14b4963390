import { existsSync, globSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { isRun, SET_VARIABLE } from './alternating.ts';

// Every test file. What loads tap, a service and its libraries, and lets V8 learn them, costs more than most files' own
// tests: so several files of a folder share a process (several-files.ts). tap's own runner is not used (run.ts): it would
// have each process load hooks that watch which modules it loads, for coverage and mocks: half of its processor time.

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const WORKSPACES = '{shared,document-store,control-plane,media-gateway,emulators,loadtest,embedded,console}';
const CACHE = new URL('cached-modules.js', import.meta.url).href;
const SEVERAL = path.join(import.meta.dirname, 'several-files.ts');
/** Of a process; each file has 300 s of its own in it: with as much again on the machine, the longest take half of that. */
const TIMEOUT_MS = 1_200_000;
/** Where what they print on stderr goes: tap's reporters pass it over. */
const STDERR_VARIABLE = 'TEST_STDERR';
/** What run.ts asks for. */
const NODE_ARGS = process.execArgv;

/**
 * Kinds of files, the most of one kind that share a process, and the part of the run in which their processes are begun,
 * from its beginning unless given: the longest take a minute.
 */
const KINDS: readonly { files: RegExp; together: number; from?: number; begun: number }[] = [
  // A vendor's SDK, with Node's own fetch: where undici is imported, that one sends through it, and it refuses a header.
  { files: /^emulators\/src\/providers\/deepgram-emulator\.test/, together: 1, begun: 1 },
  // It waits longer than any other; when it begins, those that have the most to do are over.
  { files: /^embedded\/test\/whole-conversation\.test/, together: 1, from: 0.4, begun: 0.4 },
  // They mostly wait, for what is said in calls.
  { files: /^(embedded|loadtest|console)\/test\//, together: 5, begun: 0.5 },
  // They try every operation, in an installation with one of everything.
  {
    files: /^control-plane\/test\/(contract|contract-statuses|fuzz|tenancy|voices)\.test/,
    together: 9,
    begun: 0.5,
  },
  // They have the most to compute.
  { files: /^control-plane\/test\//, together: 15, begun: 0.7 },
  // They wait for processes.
  { files: /^media-gateway\/test\//, together: 20, begun: 0.6 },
  { files: /^(shared|document-store|control-plane|media-gateway)\/|^lint\//, together: 40, begun: 1 },
  { files: /^/, together: 40, begun: 1 },
];

/** Which of the sets of long files. */
const set = Number(process.env[SET_VARIABLE] ?? 0);

const files = [`${WORKSPACES}/src/**/*.test.ts`, `${WORKSPACES}/test/*.test.ts`, 'lint/*.test.ts']
  .flatMap((pattern) => globSync(pattern, { cwd: ROOT }))
  .filter((file) => isRun(file, set))
  .sort();
const kindOf = (file: string) => KINDS.findIndex((kind) => kind.files.test(file));
/** `media-gateway/src`: what lies in one folder imports the same. */
const folderOf = (file: string) => file.split('/').slice(0, 2).join('/');
const folders = Object.groupBy(
  files,
  (file) => `${kindOf(file)} ${file.startsWith('lint/') ? 'lint' : folderOf(file)}`,
);

interface Group {
  name: string;
  files: string[];
  kind: number;
}

/** As many processes as a folder needs, each with about as many files. */
function groupsOf([key, some = []]: [string, string[] | undefined]): Group[] {
  const [kind, folder] = key.split(' ') as [string, string];
  const count = Math.ceil(some.length / KINDS[Number(kind)]!.together);
  return Array.from({ length: count }, (_, index) => ({
    name: `${folder} ${index + 1} of ${count}`,
    files: some.slice((index * some.length) / count, ((index + 1) * some.length) / count),
    kind: Number(kind),
  }));
}

const kinds = Object.groupBy(Object.entries(folders).flatMap(groupsOf), ({ kind }) => kind);
/** Evenly mixed, so that the processors have something to do all the time. */
const groups = Object.values(kinds)
  .flatMap((some = []) =>
    some.map((group, index) => {
      const { from = 0, begun } = KINDS[group.kind]!;
      return { ...group, at: from + (index / some.length) * (begun - from) };
    }),
  )
  .sort((a, b) => a.at - b.at);

const stderr = process.env[STDERR_VARIABLE] ? openSync(process.env[STDERR_VARIABLE], 'a') : 2;

const folder = mkdtempSync(path.join(tmpdir(), 'parley-running-'));
t.teardown(() => rmSync(folder, { recursive: true }));
t.setTimeout(0);
// Calls take as long as they take to say: there is time for other files meanwhile.
t.jobs = availableParallelism() + 2;
for (const [index, { name, files }] of groups.entries()) {
  const running = path.join(folder, String(index));
  const command = [
    // For the files and whatever they start. Much of what a test makes is soon garbage: a larger part for what is young.
    `NODE_OPTIONS=--import=${CACHE} --max-semi-space-size=32`,
    `TEST_FILES=${JSON.stringify(files)}`,
    `TEST_RUNNING=${running}`,
    process.execPath,
    ...NODE_ARGS,
    SEVERAL,
  ];
  const stdio = ['ignore', 'pipe', stderr] as const;
  void t
    .spawn('env', command, { name, cwd: ROOT, stdio: [...stdio], timeout: TIMEOUT_MS, buffered: true })
    .then(() => {
      if (existsSync(running)) t.fail(`${readFileSync(running, 'utf8')}: its process has ended in it`);
    });
}
