import t from 'tap';
import { DIAL_STATES } from '../sessions/session-record.ts';
import { stateAfterEnd } from '../sessions/session-states.ts';
import { dialStatesBefore } from './dial-states.ts';

void t.test('every move of a dial, and no other', (t) => {
  const before = Object.fromEntries(DIAL_STATES.map((state) => [state, dialStatesBefore(state)]));
  t.same(before, {
    waiting: ['claimed', 'sent', 'uncertain'],
    claimed: ['waiting'],
    sent: ['claimed'],
    known: ['sent', 'uncertain'],
    uncertain: ['sent'],
    gone: ['waiting', 'claimed', 'sent', 'known', 'uncertain'],
  });
  t.end();
});

void t.test('a call that was cancelled on its way is looked for', (t) => {
  t.same(DIAL_STATES.map(stateAfterEnd), ['gone', 'gone', 'sent', 'gone', 'uncertain', 'gone']);
  t.end();
});
