import t from 'tap';
import type { DialState, SessionRecord } from '../sessions/session-record.ts';
import { DialCallbacks } from './dial-callbacks.ts';

type Deps = ConstructorParameters<typeof DialCallbacks>[0];

/** One dial, of the account `tel_own`; what is told of it. */
function open(session: Partial<Omit<SessionRecord, 'dial'>> & { dial?: { state: DialState } }) {
  const record = {
    ...{ _id: 'session', telephony_account_id: 'tel_own', status: 'dialing', carrier_call_id: null },
    ...session,
  } as SessionRecord;
  const told: string[] = [];
  const callbacks = new DialCallbacks({
    dials: {
      byDial: (id: string) => Promise.resolve(id === 'dia_known' ? record : null),
    } as unknown as Deps['dials'],
    moves: {
      known: (of: SessionRecord, call: string) => {
        told.push(`known ${call}`);
        return Promise.resolve({ ...of, carrier_call_id: call });
      },
      bind: (of: SessionRecord, call: string) => {
        told.push(`bind ${call}`);
        return Promise.resolve(of.carrier_call_id === null || of.carrier_call_id === call);
      },
    } as unknown as Deps['moves'],
    accounts: {} as Deps['accounts'],
    followers: [],
  });
  return { callbacks, told };
}

void t.test('a dial is bound by callbacks of its own account alone', async (t) => {
  const { callbacks, told } = open({ dial: { state: 'sent' } });
  t.equal(await callbacks.bind('tel_other', 'dia_known', 'call'), null);
  t.equal(await callbacks.bind('tel_own', 'dia_unknown', 'call'), null);
  t.same(told, []);
  t.match(await callbacks.bind('tel_own', 'dia_known', 'call'), { carrier_call_id: 'call' });
  t.same(told, ['known call']);
});

void t.test('a dial that is known has one call, and none once its session is over', async (t) => {
  const bound = open({ dial: { state: 'known' }, carrier_call_id: 'call' });
  t.match(await bound.callbacks.bind('tel_own', 'dia_known', 'call'), { carrier_call_id: 'call' });
  t.equal(await bound.callbacks.bind('tel_own', 'dia_known', 'another'), null);
  t.same(bound.told, ['bind call', 'bind another']);

  const over = open({ dial: { state: 'known' }, status: 'cancelled' });
  t.equal(await over.callbacks.bind('tel_own', 'dia_known', 'call'), null);
});
