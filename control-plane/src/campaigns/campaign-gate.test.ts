import t from 'tap';
import type { SessionRecord } from '../sessions/session-record.ts';
import { CampaignGate } from './campaign-gate.ts';
import type { CampaignRecord } from './campaign-model.ts';
import type { ContactRecord } from './contact-model.ts';

/** A Wednesday, noon in London. */
const NOON = Date.parse('2026-01-14T12:00:00Z');
const HOUR = 3_600_000;
const hours = (start: string, end: string, use_contact_timezone = false) => ({
  ...{ timezone: 'Europe/London', use_contact_timezone },
  windows: [{ days: ['wed' as const, 'thu' as const], start, end }],
});

const check = (campaign: Partial<CampaignRecord>, contactTimezone: string | null = null) => {
  const gate = new CampaignGate({
    campaigns: {
      find: () =>
        Promise.resolve({
          ...{ _id: 'cmp_1', kind: 'batch', status: 'running', end_at: null, calling_hours: null },
          ...{ max_concurrent: 5, calls_per_second: 1, ...campaign },
        } as CampaignRecord),
    },
    contacts: {
      read: () =>
        Promise.resolve({ status: 'queued', last_session_id: 'call-1', removed: false } as ContactRecord),
    },
  });
  const session = { _id: 'call-1', campaign_id: 'cmp_1', contact_id: 'cct_1' };
  return gate.check({ ...session, dial: { contact_timezone: contactTimezone } } as SessionRecord, NOON);
};

void t.test('a call that waits is held to the hours that its campaign has by now', async (t) => {
  t.match(await check({ calling_hours: hours('09:00', '18:00') }), { pass: true });
  t.same(await check({ calling_hours: hours('14:00', '18:00') }), { pass: false, until: NOON + 2 * HOUR });
  const over = await check({ calling_hours: hours('09:00', '12:00') });
  t.same(over, { pass: false, until: NOON + 21 * HOUR }, 'until tomorrow');
  const local = hours('14:00', '18:00', true);
  t.match(await check({ calling_hours: local }, 'Europe/Helsinki'), { pass: true }, 'where it is two');
  t.match(await check({ calling_hours: null }), { pass: true });
});
