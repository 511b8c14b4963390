import { randomInt } from 'node:crypto';
import t from 'tap';
import { isTerminal } from '../src/sessions/session-states.ts';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { openDiallingWorld } from './fixtures/dialling-world.ts';
import { openMortalProcess } from './fixtures/mortal-process.ts';

// A dial is tried once for every step it has (`npm run test:long`) or for one step in so many, each time by a process of
// its own, which dies there.
t.setTimeout(600_000);
const STRIDE = LONG ? 1 : 24;
const FIRST_STEP = Number(process.env['DIALLING_FIRST_STEP'] ?? randomInt(STRIDE));
t.comment(`1 in ${STRIDE} steps is a process's last: DIALLING_FIRST_STEP=${FIRST_STEP}`);

const world = await openDiallingWorld(t);
const { carriers, clock, plane, passUntil, session } = world;
const { bus } = plane;
const line = await world.line();
const LEASE_MS = 5000;

/**
 * Calls a number by a process that dies after so many steps; this one takes over.
 * @param lost the carrier's callbacks of the call: only a look-up finds it
 */
async function callAndDie(steps: number, { lost }: { lost: boolean }) {
  const process = await openMortalProcess(plane);
  const { processName } = process.services;
  let placed = 0;
  carriers.plivo.setTelephones(() => {
    placed++;
    return { does: 'answer', afterMs: lost ? 100_000 : 20_000 };
  });
  carriers.plivo.setFaults(lost ? [{ kind: 'callback_lost' }] : []);
  // Nobody else dials meanwhile.
  await bus.leases.release('dispatcher', plane.app.services.processName);
  await bus.leases.acquire('dispatcher', processName, LEASE_MS);
  clock.advance(1100);
  await plane.atRest();
  await bus.leases.acquire('dispatcher', processName, LEASE_MS);
  const made = await world.order(line);
  const lived = await process.live(steps, async ({ dispatcher }) => {
    await dispatcher.work(AbortSignal.timeout(60_000));
    await dispatcher.release();
  });
  const dial = (await session(made._id)).dial!;
  await passUntil(
    'the end',
    async () => {
      const now = await session(made._id);
      return isTerminal(now.status) && now.dial!.state === 'gone';
    },
    1000,
  );
  await process[Symbol.asyncDispose]();
  return { lived, placed, state: dial.state, tries: (await session(made._id)).dial!.tries };
}

for (const lost of [false, true])
  void t.test(
    lost ? 'a call without callbacks is found, and never placed twice' : 'a call is placed exactly once',
    // One of the two at a time.
    { skip: !LONG && lost !== (FIRST_STEP % 2 === 1) && 'npm run test:long' },
    async (t) => {
      const states = new Set<string>();
      for (let steps = 1 + FIRST_STEP; ; steps += STRIDE) {
        const { lived, placed, state, tries } = await callAndDie(steps, { lost });
        states.add(state);
        t.equal(placed, 1, `${steps} steps: ${state}, taken up ${tries} times`);
        if (lived) break;
      }
      t.comment([...states].join(', '));
    },
  );
