import t from 'tap';
import { leadFromTranscript } from './lead-from-transcript.ts';

void t.test('what the caller said of themselves is found, and the agent is not taken for them', async (t) => {
  const lead = leadFromTranscript(
    [
      'Analyse this call.',
      'Agent: Hello, my name is Robo, mail us at desk@example.com.',
      "Caller: Hi, this is Ada Lovelace, I'm calling from Engine Works.",
      'Caller: How much is it? My number is +49 711 123 4567, or write to ada@example.org. Send me an email please.',
    ].join('\n'),
  );
  t.match(lead, {
    customer_name: 'Ada Lovelace',
    company_name: 'Engine Works',
    mobile_number: '+497111234567',
    email: 'ada@example.org',
    lead_status: 'interested',
    lead_temperature: 'warm',
    send_email: true,
    send_whatsapp: false,
    reminder_to_sales_team: true,
  });
  t.match(lead.ai_summary, /^Emulated analysis\./);
});

void t.test('a name in lower case is taken after the words that announce one only', async (t) => {
  t.equal(leadFromTranscript('user: my name is ada').name, 'Ada');
  t.equal(leadFromTranscript('user: i am looking for a room').name, null);
});

void t.test('the outcome follows the strongest words', async (t) => {
  for (const [said, status] of [
    ['please do not call me again', 'do_not_call'],
    ['no thanks, not interested', 'not_interested'],
    ["I'd like to book the room", 'converted'],
    ['call me back tomorrow', 'follow_up'],
    ['tell me more', 'interested'],
    ['hm', 'unknown'],
  ] as const) {
    t.equal(leadFromTranscript(`Caller: ${said}`).lead_status, status, said);
  }
});
