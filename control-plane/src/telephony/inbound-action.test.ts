import t from 'tap';
import { ValidationError } from '@parley/shared/errors/app-error';
import { changedAction, REFUSE, type InboundActionPatch } from './inbound-action.ts';

const NUMBER = '+442071230000';
const AGENT = 'agt_01k5z8r5m2q7v3x9b4n6c8d0ef';

void t.test('an action has what its type needs, and nothing else', (t) => {
  for (const [patch, wrong] of [
    [{}, null],
    [{ type: 'message', message: 'We are closed.' }, null],
    [{ type: 'forward', forward_to: NUMBER }, null],
    [{ type: 'forward', forward_to: NUMBER, message: 'One moment.' }, null],
    [{ type: 'agent', agent_id: AGENT }, null],
    [{ type: 'hangup', message: 'We are closed.' }, 'message'],
    [{ type: 'message' }, 'message'],
    [{ type: 'message', message: 'We are closed.', forward_to: NUMBER }, 'forward_to'],
    [{ type: 'forward' }, 'forward_to'],
    [{ type: 'forward', forward_to: NUMBER, agent_id: AGENT }, 'agent_id'],
    [{ type: 'agent' }, 'agent_id'],
    [{ type: 'agent', agent_id: AGENT, message: 'One moment.' }, 'message'],
  ] as [InboundActionPatch, string | null][]) {
    const loc = ['body', 'outside_hours'];
    const name = JSON.stringify(patch);
    if (wrong === null) t.same(changedAction(REFUSE, patch, loc), { ...REFUSE, ...patch }, name);
    else
      t.throws(
        () => changedAction(REFUSE, patch, loc),
        { details: [{ loc: [...loc, wrong] }] } as unknown as ValidationError,
        name,
      );
  }
  t.end();
});

void t.test('a change keeps what the type still takes', (t) => {
  const forward = changedAction(REFUSE, { type: 'forward', forward_to: NUMBER, message: 'A moment.' }, []);
  t.same(changedAction(forward, { message: 'Wait.' }, []), { ...forward, message: 'Wait.' });
  t.same(changedAction(forward, { type: 'message' }, []), {
    ...REFUSE,
    type: 'message',
    message: 'A moment.',
  });
  t.same(changedAction(forward, { type: 'hangup' }, []), REFUSE);
  t.same(changedAction(forward, REFUSE, []), REFUSE, 'null in a patch is the default');
  t.end();
});
