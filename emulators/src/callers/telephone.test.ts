import t from 'tap';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { DialledTelephone, telephoneByNumber, type Rung } from './telephone.ts';

void t.test('numbers say what their telephones do', async (t) => {
  const cases: [to: string, does: string, afterMs: number][] = [
    ['+14155550901', 'busy', 1000],
    ['+14155550902', 'ring', 0],
    ['+14155550903', 'refuse', 1000],
    ['+14155550904', 'answer', 1000],
    ['+14155550905', 'not_in_service', 0],
    ['+14155550906', 'invalid', 0],
    ['+14155550907', 'answer', 1000],
    ['+14155550908', 'stay_queued', 0],
    ['+14155550910', 'answer', 0],
    ['+14155550917', 'answer', 7000],
    ['+14155550920', 'answer', 1000],
    ['+14155550123', 'answer', 1000],
  ];
  for (const [to, does, afterMs] of cases) t.match(telephoneByNumber(to), { does, afterMs }, to);
  t.equal(telephoneByNumber('+14155550904').hangUpAfterMs, 0);
  t.equal(telephoneByNumber('+14155550907').requestUnanswered, true);
  t.equal(telephoneByNumber('+14155550940').machine?.verdict, 'machine');
});

void t.test('a telephone rings for as long as it may', async (t) => {
  const cases: [does: 'answer' | 'ring', afterMs: number, waitedMs: number, rung: Rung][] = [
    ['answer', 29_999, 29_999, 'answered'],
    ['answer', 30_000, 30_000, 'rung_out'],
    ['ring', 0, 30_000, 'rung_out'],
  ];
  for (const [does, afterMs, waitedMs, rung] of cases) {
    const clock = new ManualClock();
    const telephone = new DialledTelephone({
      ...{ telephone: { does, afterMs }, queuedMs: 0, ringTimeoutMs: 30_000 },
      clock,
    });
    t.equal(await telephone.dialled(), true);
    const ringing = telephone.rings();
    clock.advance(waitedMs);
    t.equal(await ringing, rung);
  }
});

void t.test('who answered hangs up, unless the call is over before', async (t) => {
  const clock = new ManualClock();
  const open = () =>
    new DialledTelephone({
      telephone: { does: 'answer', afterMs: 0, hangUpAfterMs: 1000 },
      ...{ queuedMs: 5000, ringTimeoutMs: 30_000, clock },
    });
  const told: string[] = [];
  const until = {
    hangUp: () => void told.push('hung up'),
    onLimit: () => void told.push('limit'),
    limitMs: 3000,
  };
  const first = open();
  first.answered(until);
  clock.advance(3000);
  t.same(told, ['hung up', 'limit']);
  const second = open();
  second.answered(until);
  const queued = second.dialled();
  second.cancel();
  t.equal(await queued, false, 'its turn never comes');
  t.equal(await second.rings(), 'cancelled');
  clock.advance(3000);
  t.equal(told.length, 2);
});
