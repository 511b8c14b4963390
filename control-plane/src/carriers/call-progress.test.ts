import { silentLogger } from '@parley/shared/logging/logger';
import { systemClock } from '@parley/shared/time/clock';
import t from 'tap';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { SessionTreatment } from '../sessions/session-treatment.ts';
import { CallProgress } from './call-progress.ts';
import type { CarrierDialling, SentDial } from './carrier-dialling.ts';
import { CarrierError } from './carrier.ts';
import type { TrustedCallback } from './trusted-callback.ts';

const FORWARD: SessionTreatment = {
  ...{ reason: 'overflow', action: 'forward', message: '', language: 'en-US' },
  ...{ forward_to: '+14155550002', caller_id: '+14155550001', forward_result: null },
};

const end = { type: 'ended', carrierCallId: 'v3:1', failure: null, cause: 'completed', cost: null } as const;

const trusted = (dialling: Pick<CarrierDialling, 'wasAnswered'>) =>
  ({ account: { _id: 'tel_owner' }, carrier: { dialling } }) as unknown as TrustedCallback;

const progressOver = (deps: Pick<ConstructorParameters<typeof CallProgress>[0], 'store' | 'closer'>) =>
  new CallProgress({
    ...deps,
    events: {} as never,
    consults: { rings: () => Promise.resolve(), legEnded: () => Promise.resolve() },
    gateways: {} as never,
    clock: systemClock,
    logger: silentLogger(),
  });

void t.test('an end that was read before its forward’s result keeps that result', async (t) => {
  for (const [meanwhile, erased, outcome] of [
    [null, null, null],
    ['answered', null, 'forwarded'],
    ['failed', null, 'forward_failed'],
    ['answered', new Date(), null],
  ] as const) {
    const read = {
      ...{ _id: 's-1', direction: 'inbound', status: 'ringing', treatment: FORWARD },
      ...{ erased_at: null, outcome: null, carrier_ended_at: null },
    } as SessionRecord;
    let stored: SessionRecord = {
      ...read,
      treatment: { ...FORWARD, forward_result: meanwhile },
      erased_at: erased,
    };
    const change = (set: Partial<SessionRecord>) => Promise.resolve((stored = { ...stored, ...set }));
    const progress = progressOver({
      store: { change: (_id: string, set: Partial<SessionRecord>) => change(set) } as never,
      closer: {
        close: (_id: string, status: SessionRecord['status'], { set }: { set: Partial<SessionRecord> }) =>
          change({ ...set, status }),
      } as never,
    });
    await progress.ended(trusted({}), end, read);
    t.match(stored, { status: 'ended', ended_by: 'carrier', outcome }, `${meanwhile}`);
  }
});

void t.test('whether somebody had answered is asked of a carrier whose end does not say so', async (t) => {
  const answers: (boolean | CarrierError)[] = [];
  const asked: string[] = [];
  const asks = {
    wasAnswered: ({ dialId }: SentDial) => {
      asked.push(dialId);
      const answer = answers.shift()!;
      return answer instanceof CarrierError ? Promise.reject(answer) : Promise.resolve(answer);
    },
  };
  const now = new Date();
  const dial = { id: 'dia_1', sent_at: now, answered_at: null };
  const rings = {
    ...{ _id: 's-1', direction: 'outbound', status: 'ringing', leg: -1, treatment: null, dial },
    ...{ from_number: '+14155550001', to_number: '+14155550002', carrier_ended_at: null },
  };
  for (const [name, session, dialling, answer, reason, requests] of [
    ['it was', rings, asks, true, 'media_timeout', 1],
    ['it was not', rings, asks, false, 'no_answer', 1],
    ['it does not say', rings, asks, new CarrierError('telnyx', 'unavailable'), 'no_answer', 1],
    ['it told of it', { ...rings, dial: { ...dial, answered_at: now } }, asks, false, 'media_timeout', 0],
    ['its end says so', rings, {}, false, 'media_timeout', 0],
    ['a gateway has it', { ...rings, leg: 0, status: 'in_progress' }, asks, false, 'media_timeout', 0],
  ] as const) {
    answers.splice(0, answers.length, answer);
    asked.splice(0);
    let set: Partial<SessionRecord> = {};
    const progress = progressOver({
      store: {} as never,
      closer: {
        close: (_id: string, _status: string, change: { set: Partial<SessionRecord> }) => {
          ({ set } = change);
          return Promise.resolve({ ...session, ...set });
        },
      } as never,
    });
    await progress.ended(trusted(dialling), end, session as unknown as SessionRecord);
    t.match(set, { failure_reason: reason, ended_by: 'carrier' }, name);
    t.equal(asked.length, requests, name);
  }
});
