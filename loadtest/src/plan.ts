import { parseArgs } from 'node:util';
import { planFleet } from './queueing/plan-fleet.ts';
import { waitsLonger } from './queueing/erlang.ts';
import { table } from './report/terminal.ts';

const USAGE = `Usage: npm run loadtest:plan -- [--calls-per-core 150] [--cores 8] [--call-seconds 180] [--loss 0.001] [--spare 1]

Processes and machines for 100, 10,000 and 1,000,000 calls at a time, from what one core serves (npm run loadtest --
--capacity) and the queueing model in src/queueing.
`;

const { values } = parseArgs({
  options: {
    'calls-per-core': { type: 'string', default: '150' },
    cores: { type: 'string', default: '8' },
    'call-seconds': { type: 'string', default: '180' },
    loss: { type: 'string', default: '0.001' },
    spare: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) process.stdout.write(USAGE);
else {
  const callSeconds = Number(values['call-seconds']);
  const rows = [100, 1000, 10_000, 100_000, 1_000_000].map((calls) => {
    const fleet = planFleet(calls, {
      callsPerCore: Number(values['calls-per-core']),
      coresPerMachine: Number(values.cores),
      callSeconds,
      lossShare: Number(values.loss),
      spareMachines: Number(values.spare),
    });
    return [
      calls.toLocaleString('en'),
      fleet.slots.toLocaleString('en'),
      `${((100 * (fleet.slots - calls)) / calls).toFixed(1)} %`,
      String(fleet.processes),
      String(fleet.machines),
      fleet.startsPerSecond.toFixed(1),
      // Where callers may wait instead: nearly nobody does for long.
      `${(100 * waitsLonger(calls, fleet.slots, callSeconds, 1)).toFixed(2)} %`,
    ];
  });
  process.stdout.write(
    `${table([['calls', 'slots', 'reserve', 'processes', 'machines', 'starts/s', 'wait > 1 s'], ...rows])}\n`,
  );
}
