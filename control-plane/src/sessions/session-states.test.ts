import t from 'tap';
import { SESSION_STATUSES, TERMINAL_STATUSES } from '@parley/shared/contracts/session-values';
import { mayMove, statesBefore } from './session-states.ts';

void t.test('nothing leaves a terminal state', (t) => {
  for (const from of TERMINAL_STATUSES) {
    for (const to of SESSION_STATUSES) t.notOk(mayMove(from, to), `${from} -> ${to}`);
  }
  t.end();
});

void t.test('a queued call reaches media only through dialling', (t) => {
  t.notOk(mayMove('queued', 'in_progress'));
  t.ok(mayMove('queued', 'dialing'));
  t.ok(mayMove('dialing', 'in_progress'));
  t.end();
});

void t.test('media can only begin before or between, never after the end', (t) => {
  t.same(statesBefore('in_progress').sort(), ['created', 'dialing', 'ringing', 'transferring']);
  t.end();
});

void t.test('a call that reached media ends, and does not fail, expire or get cancelled', (t) => {
  for (const from of ['in_progress', 'transferring', 'transferred'] as const) {
    t.ok(mayMove(from, 'ended'));
    for (const to of ['failed', 'expired', 'cancelled'] as const)
      t.notOk(mayMove(from, to), `${from} -> ${to}`);
  }
  t.end();
});
