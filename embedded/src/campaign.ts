import path from 'node:path';
import { parseArgs } from 'node:util';
import type { DisposableList } from '@parley/shared/async/disposable-list';
import { passed, printTable, progressLine, runCampaign } from './demonstration/run-campaign.ts';
import { runCommand, UsageError } from './command.ts';
import { openDesk } from './demonstration/open-desk.ts';

const USAGE = `Runs a campaign of the demonstration agent, and prints how it goes. The far ends are emulators: telephones at
emulated carriers, with people, answering machines, call screening, voice menus, busy lines, and some that nobody
answers.

  npm run campaign -- [options]

Options:
  --contacts N      people to call: 1 to 5000 (default: 20)
  --concurrent N    calls at the same time: 1 to 50 (default: 5)
  --json            at the end one line of JSON: the campaign, and how many contacts of each kind came to what
  --help            this text

Uses the platform that is running (npm start). If none runs, starts one of its own with temporary data.
Exit code: 0 when every contact was done with, 1 when it failed or was stopped, 2 when the command line is wrong.
`;

/** Of a platform of our own; one that runs has its own limits. */
const PACE = { OUTBOUND_CALLS_PER_SECOND: '5', MAX_CONCURRENT_API_OUTBOUND_DIALS: '50' };

function parseCommandLine(argv: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        contacts: { type: 'string', default: '20' },
        concurrent: { type: 'string', default: '5' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    return {
      ...values,
      contacts: numberOf('contacts', values.contacts, 5000),
      concurrent: numberOf('concurrent', values.concurrent, 50),
    };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function numberOf(name: string, text: string, max: number): number {
  const number = Number(text);
  if (Number.isInteger(number) && number >= 1 && number <= max) return number;
  throw new UsageError(`--${name} ${text}: must be a whole number from 1 to ${max}`);
}

async function main(owned: DisposableList, signal: AbortSignal): Promise<number> {
  const wanted = parseCommandLine(process.argv.slice(2));
  if (wanted.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  const out = wanted.json ? process.stderr : process.stdout;
  const desk = await openDesk(owned, path.resolve(process.env['PARLEY_DATA_DIR'] ?? '.parley'), PACE);
  out.write(
    `Calling ${wanted.contacts} contacts, ${wanted.concurrent} at a time. Carriers and telephones are emulators: nobody is rung.\n\n`,
  );
  let last = '';
  const result = await runCampaign({
    ...desk,
    contacts: wanted.contacts,
    concurrent: wanted.concurrent,
    signal,
    onProgress(progress) {
      const line = progressLine(progress);
      const timed = `${passed(progress)} · ${line}`;
      if (out.isTTY) out.write(`\r\u001b[K${timed}`);
      else if (line !== last) out.write(`${timed}\n`);
      last = line;
    },
  });
  if (out.isTTY) out.write('\n');
  printTable(result, (line) => out.write(`${line}\n`));
  if (wanted.json) process.stdout.write(`${JSON.stringify(result)}\n`);
  return result.status === 'completed' ? 0 : 1;
}

process.exitCode = await runCommand({ usage: USAGE, stopped: 'Stopped: the campaign is cancelled.' }, main);
