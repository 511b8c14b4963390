import { silentLogger } from '@parley/shared/logging/logger';
import { systemClock } from '@parley/shared/time/clock';
import t from 'tap';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { SessionTreatment } from '../sessions/session-treatment.ts';
import { CallProgress } from './call-progress.ts';

const FORWARD: SessionTreatment = {
  ...{ reason: 'overflow', action: 'forward', message: '', language: 'en-US' },
  ...{ forward_to: '+14155550002', caller_id: '+14155550001', forward_result: null },
};

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
    const progress = new CallProgress({
      store: { change: (_id: string, set: Partial<SessionRecord>) => change(set) } as never,
      closer: {
        close: (_id: string, status: SessionRecord['status'], { set }: { set: Partial<SessionRecord> }) =>
          change({ ...set, status }),
      } as never,
      events: {} as never,
      consults: { rings: () => Promise.resolve(), legEnded: () => Promise.resolve() },
      gateways: {} as never,
      clock: systemClock,
      logger: silentLogger(),
    });
    const end = { type: 'ended', carrierCallId: 'v3:1', failure: null, cause: 'completed', cost: null };
    await progress.ended('tel_owner', end as Parameters<typeof progress.ended>[1], read);
    t.match(stored, { status: 'ended', ended_by: 'carrier', outcome }, `${meanwhile}`);
  }
});
