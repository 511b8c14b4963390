import t from 'tap';
import {
  CALLED_CONTACTS,
  CAMPAIGN_EVENTS,
  CAMPAIGN_STATUSES,
  campaignAfter,
  campaignsBefore,
  CONTACT_EVENTS,
  CONTACT_STATUSES,
  contactAfter,
  contactsBefore,
  FINISHED_CAMPAIGNS,
  FINISHED_CONTACTS,
  isFinished,
  WAITING_CONTACTS,
} from './campaign-states.ts';

/** A table as a text: a column for each event, a row for each state, a dot where nothing may happen. */
function tableOf<S extends string, E extends string>(
  states: readonly S[],
  events: readonly E[],
  after: (from: S, event: E) => S | null,
): string[] {
  return states.map((from) => [from, ...events.map((event) => after(from, event) ?? '.')].join(' '));
}

void t.test('every event in every state of a campaign', (t) => {
  t.same(
    tableOf(CAMPAIGN_STATUSES, CAMPAIGN_EVENTS, campaignAfter),
    [
      //         schedule  start   pause  resume  complete  cancel    fail   redial
      'draft     scheduled running .      .       .         cancelled .      .',
      'scheduled .         running .      .       .         cancelled .      .',
      'running   .         .       paused .       completed cancelled failed running',
      'paused    .         .       .      running .         cancelled .      paused',
      'completed .         .       .      .       .         .         .      paused',
      'cancelled .         .       .      .       .         .         .      .',
      'failed    .         .       .      .       .         .         .      .',
    ].map((row) => row.replace(/ +/g, ' ')),
  );
  t.same(campaignsBefore('cancel'), ['draft', 'scheduled', 'running', 'paused']);
  t.same(CAMPAIGN_STATUSES.filter(isFinished), FINISHED_CAMPAIGNS);
  t.end();
});

void t.test('every event in every state of a contact', (t) => {
  t.same(
    tableOf(CONTACT_STATUSES, CONTACT_EVENTS, contactAfter),
    [
      //             claim  answer      complete  retry         fail   skip    cancel    release release_retry redial
      'pending       queued .           .         .             .      skipped cancelled .       .             .',
      'queued        .      in_progress completed waiting_retry failed skipped cancelled pending waiting_retry .',
      'in_progress   .      .           completed waiting_retry failed .       .         .       .             .',
      'waiting_retry queued .           .         .             .      skipped cancelled .       .             .',
      'completed     .      .           .         .             .      .       .         .       .             pending',
      'failed        .      .           .         .             .      .       .         .       .             pending',
      'skipped       .      .           .         .             .      .       .         .       .             pending',
      'cancelled     .      .           .         .             .      .       .         .       .             pending',
    ].map((row) => row.replace(/ +/g, ' ')),
  );
  t.same(contactsBefore('answer'), ['queued']);
  t.same(
    [...WAITING_CONTACTS, ...CALLED_CONTACTS, ...FINISHED_CONTACTS].sort(),
    [...CONTACT_STATUSES].sort(),
    'each waits, is called, or is done with',
  );
  t.end();
});
