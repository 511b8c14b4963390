import t from 'tap';
import { instantIn, localIn } from './zone-time.ts';

void t.test('local times are moments, also beside a change of the clocks', async (t) => {
  t.equal(instantIn('2026-03-29T03:30', 'Europe/Berlin'), '2026-03-29T01:30:00.000Z');
  t.equal(instantIn('2026-03-28T23:30', 'America/New_York'), '2026-03-29T03:30:00.000Z');
  t.equal(instantIn('2026-01-01T05:30', 'Asia/Kolkata'), '2026-01-01T00:00:00.000Z');
  t.equal(instantIn('2026-01-01T05:30', 'Mars/Olympus'), '2026-01-01T05:30:00.000Z');
});

void t.test('moments are what the clocks of a zone show', async (t) => {
  t.equal(localIn('2026-03-29T01:30:00.000Z', 'Europe/Berlin'), '2026-03-29T03:30');
  t.equal(localIn('2026-03-29T00:30:00.000Z', 'Europe/Berlin'), '2026-03-29T01:30');
  t.equal(localIn('2025-12-31T18:45:59.999Z', 'Asia/Kolkata'), '2026-01-01T00:15');
  t.equal(localIn('2026-01-01T05:30:00.000Z', 'Mars/Olympus'), '2026-01-01T05:30');
});
