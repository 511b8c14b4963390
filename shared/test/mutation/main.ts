import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { drawMutants, judgedOf, measure } from './measure.ts';
import { Records } from './records.ts';
import { mutantText, reportText, scoreText } from './report.ts';

// `npm run mutants`: which part of a sample of small changes of the product the tests notice.

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const USAGE = `Usage: npm run mutants -- [--seed N] [--count 500] [--under PATH …] [--processes 1] [--tests 6]
                                [--resume FILE [--again]]

Changes the product in a sample of places, one at a time, in a copy of the repository, and runs the tests that reach the
change, the nearest first, until one fails.

  --seed       of the sample; it is printed
  --count      of changes
  --under      a file or folder that the sample is drawn from; several are given one after the other
  --processes  how many tests run at once, each in a copy of its own
  --tests      how many are run with one change at most; without, six, or all with --again
  --resume     goes on with the sample of this file, or begins it; without, .tap/mutants-SEED.jsonl is begun
  --again      tries again what nothing noticed, with every test that reaches it; tests may have been added since
`;

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    count: { type: 'string' },
    under: { type: 'string', multiple: true },
    processes: { type: 'string', default: '1' },
    tests: { type: 'string' },
    resume: { type: 'string' },
    again: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const seed = Number(values.seed ?? randomInt(2 ** 31));
const count = Number(values.count ?? 500);
const processes = Number(values.processes);
const tests = values.tests === undefined ? undefined : Number(values.tests);
const file = values.resume ?? path.join(ROOT, `.tap/mutants-${seed}.jsonl`);
if (values.help) process.stdout.write(USAGE);
else if (!Number.isInteger(seed) || !isCount(count) || !isCount(processes) || !isCount(tests ?? 1))
  refuse(USAGE);
else if (values.again && values.resume === undefined) refuse('--again goes with --resume.\n');
else if (values.resume === undefined && existsSync(file))
  refuse(`There is ${file} already: --resume ${file} goes on with it.\n`);
else await run();

async function run(): Promise<void> {
  const stopping = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stopping.abort());
  const records = new Records(file);
  if (records.draw !== undefined && (values.seed ?? values.count ?? values.under) !== undefined)
    return refuse(`${file} has its sample already: it is resumed without --seed, --count and --under.\n`);
  if (records.draw === undefined)
    records.add(
      await drawMutants(ROOT, { seed, count, under: values.under ?? [] }, (done, of) => {
        if (done % 100 === 0 || done === of) process.stdout.write(`${done} of ${of} sources read\n`);
      }),
    );
  const { mutants, population, readByPeople, ...draw } = records.draw!;
  process.stdout.write(
    `--seed ${draw.seed}: ${mutants.length} of ${population} mutants; results in ${file}\n` +
      `texts that only people read, not judged: ${readByPeople}\n`,
  );
  await measure(ROOT, records, {
    processes,
    tests,
    again: values.again,
    signal: stopping.signal,
    onVerdict(index, mutant, { status, ms, by = '' }) {
      const judged = judgedOf(records);
      const at = `${judged.length} of ${mutants.length}`;
      process.stdout.write(
        `${at}  #${index} ${status}  ${mutantText(mutant)}  (${(ms / 1000).toFixed(1)} s ${by})\n`,
      );
      if (judged.length % 25 === 0) process.stdout.write(`${scoreText(judged)}\n`);
    },
  });
  process.stdout.write(`\n${reportText(judgedOf(records))}\n`);
  process.stdout.write(
    `texts that only people read, not judged: ${readByPeople} besides the ${population}\n`,
  );
  for (const { file: test, why = '' } of records.tests.values())
    if (why !== '') process.stdout.write(`not used, since it does not pass as it is: ${test}\n`);
  if (!stopping.signal.aborted) return;
  process.stdout.write(`stopped: --resume ${file} goes on\n`);
  process.exitCode = 1;
}

function isCount(value: number): boolean {
  return Number.isInteger(value) && value > 0;
}

function refuse(text: string): void {
  process.stderr.write(text);
  process.exitCode = 2;
}
