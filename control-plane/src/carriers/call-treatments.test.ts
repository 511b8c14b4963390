import t from 'tap';
import { silentLogger } from '@parley/shared/logging/logger';
import { systemClock } from '@parley/shared/time/clock';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { SessionTreatment } from '../sessions/session-treatment.ts';
import { CallTreatments } from './call-treatments.ts';
import type { Carrier, CarrierCallback } from './carrier.ts';
import type { TrustedCallback } from './trusted-callback.ts';

const FORWARD: SessionTreatment = {
  ...{ reason: 'outside_hours', action: 'forward', message: 'Not for others.', language: 'en-US' },
  ...{ forward_to: '+14155550002', caller_id: '+14155550001', forward_result: null },
};

interface Where {
  'treatment.forward_result'?: { $nin: readonly SessionTreatment['forward_result'][] };
}

/** One session of the account `tel_owner`, and all that is done about it. */
function treated({ mayCall = true, ...more }: Partial<SessionRecord> & { mayCall?: boolean } = {}) {
  let session = {
    ...{ _id: 's-1', telephony_account_id: 'tel_owner', carrier_call_id: 'v3:1', status: 'ringing' },
    ...{ treatment: FORWARD, erased_at: null, outcome: null },
    ...more,
  } as SessionRecord;
  const done: unknown[] = [];
  const note = (...what: unknown[]) => Promise.resolve(void done.push(what));
  const change = (set: Partial<SessionRecord>) => Promise.resolve((session = { ...session, ...set }));
  const carrier = {
    name: 'telnyx',
    answersByCommand: true,
    acknowledge: () => ({ contentType: '', body: '' }),
    hangup: () => note('hangup'),
    treat: (_id: string, steps: { forward: { to: string } }) => note('treat', steps.forward.to),
    refuse: (_id: string, reason: string) => note('refuse', reason),
    continueTreatment: (_id: string, { say }: { say: { text: string } }) => note('continue', say.text),
  } as unknown as Carrier;
  const treatments = new CallTreatments({
    creation: {} as never,
    store: {
      findCall: (account: string, call: string) =>
        Promise.resolve(account === 'tel_owner' && call === 'v3:1' ? session : null),
      change: (_id: string, set: Partial<SessionRecord>, where: Where = {}) => {
        const unless = where['treatment.forward_result']?.$nin ?? [];
        return unless.includes(session.treatment!.forward_result) ? Promise.resolve(null) : change(set);
      },
    } as never,
    closer: {
      close: (_id: string, status: SessionRecord['status'], { set }: { set: Partial<SessionRecord> }) =>
        change({ ...set, status }),
    } as never,
    events: { append: (_owner, { data }) => note('event', data['result'], data['cause']) },
    forwards: { mayCall: () => Promise.resolve(mayCall) },
    publicUrl: 'https://voice.example.com',
    clock: systemClock,
    logger: silentLogger(),
  });
  const trusted = (account: string) => ({ carrier, account: { _id: account } }) as TrustedCallback;
  return {
    done,
    session: () => session,
    treat: () => treatments.treat(trusted('tel_owner'), session),
    step: (
      step: Extract<CarrierCallback, { type: 'treated' }>['step'],
      { call = 'v3:1', account = 'tel_owner' } = {},
    ) =>
      treatments.continue(trusted(account), {
        ...{ type: 'treated', carrierCallId: call, step, cause: 'user_busy' },
      }),
  };
}

void t.test('a step goes on only with what is the own account’s, as long as the call lives', async (t) => {
  const own = treated();
  await own.step('answered');
  t.same(own.done, [['continue', 'Not for others.']]);
  for (const [what, call, where] of [
    ['another account', treated(), { account: 'tel_other' }],
    ['another call', treated(), { call: 'v3:2' }],
    ['a call that an agent takes', treated({ treatment: null }), {}],
    ['a call that is over', treated({ status: 'ended' }), {}],
  ] as const) {
    await call.step('answered', where);
    t.same(call.done.at(-1), ['hangup'], what);
    t.notOk(call.done.flat().includes('continue'), what);
    t.notOk(call.done.flat().includes('event'), `${what}: nothing is told of a forward`);
  }
});

void t.test('a call goes nowhere that the account may not call, at its beginning and later', async (t) => {
  const begun = treated();
  await begun.treat();
  t.same(begun.done, [
    ['event', 'begun', null],
    ['treat', '+14155550002'],
  ]);

  const refused = treated({ mayCall: false });
  await refused.treat();
  t.same(refused.done, [
    ['refuse', 'rejected'],
    ['event', 'refused', 'target_not_allowed'],
  ]);
  t.match(refused.session(), { status: 'failed', failure_reason: 'blocked', post_call_status: 'skipped' });

  const later = treated({ mayCall: false });
  await later.step('said');
  t.same(later.done, [['event', 'failed', 'target_not_allowed'], ['hangup']]);
});

void t.test(
  'how a forward went is told once; that somebody answered counts, whenever it is told',
  async (t) => {
    const busy = treated();
    await busy.step('forwarded');
    await busy.step('forwarded');
    t.same(
      busy.done.filter((what) => (what as unknown[])[0] === 'event'),
      [['event', 'failed', 'user_busy']],
    );
    const overtaken = treated({ status: 'ended', outcome: 'forward_failed' });
    await overtaken.step('forwarded');
    await overtaken.step('forward_answered');
    await overtaken.step('forwarded');
    t.match(overtaken.session(), { outcome: 'forwarded', treatment: { forward_result: 'answered' } });
    const both = treated();
    await Promise.all([both.step('forward_answered'), both.step('forwarded')]);
    t.match(both.session(), { treatment: { forward_result: 'answered' } }, 'two that are told at once');
    const erased = treated({ status: 'ended', erased_at: new Date() });
    await erased.step('forward_answered');
    t.equal(erased.session().outcome, null);
    t.notOk(erased.done.flat().includes('event'));
  },
);
