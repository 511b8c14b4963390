import t from 'tap';
import {
  countOf,
  formatCount,
  formatDuration,
  formatLatency,
  formatMoney,
  formatTime,
  inWords,
} from './format.ts';

const AT = '2026-03-29T01:30:05.000Z';
const NOW = new Date('2026-11-01T00:00:00Z');

void t.test('a moment is told in the zone that is asked for', async (t) => {
  t.equal(formatTime(AT, 'Europe/Berlin', 'short', NOW), '29 Mar, 03:30');
  t.equal(formatTime(AT, 'Asia/Kolkata', 'time', NOW), '07:00:05');
  t.equal(formatTime(AT, 'America/New_York', 'date', NOW), '28 Mar 2026');
  t.match(formatTime(AT, 'Europe/Berlin', 'long', NOW), /^29 Mar 2026, 03:30:05 (CEST|GMT\+2)$/);
  t.equal(
    formatTime(AT, 'UTC', 'short', new Date('2027-01-01')),
    '29 Mar 2026, 01:30',
    'another year is told',
  );
  t.equal(formatTime(AT, 'Mars/Olympus', 'time', NOW), '01:30:05', 'an unknown zone counts as UTC');
  t.equal(formatTime('soon', 'UTC', 'short', NOW), 'soon');
});

void t.test('durations, latencies, counts and codes read as people say them', async (t) => {
  t.same([0, 7.4, 59.6, 750, 3723].map(formatDuration), ['0:00', '0:07', '1:00', '12:30', '1:02:03']);
  t.same([0.4, 820, 1449].map(formatLatency), ['0 ms', '820 ms', '1.4 s']);
  t.same(['no_answer', 'call.ended'].map(inWords), ['No answer', 'Call ended']);
  t.same(
    ['openai_compatible', 'openai', 'elevenlabs', 'deepgram', 'plivo', 'api_key.revoked', 'stt_error'].map(
      inWords,
    ),
    ['OpenAI-compatible', 'OpenAI', 'ElevenLabs', 'Deepgram', 'Plivo', 'API key revoked', 'STT error'],
    'names are written as their owners write them',
  );
  t.equal(formatCount(12345), '12,345');
  t.same(
    [0, 1, 12345].map((count) => countOf(count, 'contact is', 'contacts are')),
    ['0 contacts are', '1 contact is', '12,345 contacts are'],
  );
  t.same(
    ['12.5', '0.000125', 0].map((amount) => formatMoney(amount, 'USD')),
    ['$12.50', '$0.000125', '$0.00'],
  );
  t.equal(formatMoney('3', 'no currency'), '3.00 no currency');
});
