import t from 'tap';
import { checkFact, type Evidence } from './conversation-facts.ts';
import { parseConversation, type Fact } from './conversation-file.ts';

const evidence: Evidence = {
  turns: [
    { role: 'agent', text: 'Hello.', interrupted: false },
    { role: 'caller', text: 'When do you close?', interrupted: false, start_ms: 100, end_ms: 200 },
    { role: 'caller', text: '[card_number]', interrupted: false, start_ms: 0, end_ms: 90 },
    { role: 'agent', text: 'We close', interrupted: true },
  ],
  events: [
    { type: 'dtmf', data: { direction: 'entry', digits: '42' } },
    { type: 'recording', data: { status: 'stored' } },
  ],
  session: { status: 'ended', detail: { agents: [{ agent_id: 'agt_1', from_index: 0 }] } },
  llm: ['system: You are the desk.', 'user: When do you close?'],
  tools: [{ name: 'look_up', arguments: { id: 'A1', more: true } }],
  audio: {
    sampleRate: 1000,
    channels: 2,
    samples: Int16Array.from({ length: 400 }, (_, at) => (at >= 200 && at % 2 === 0 ? 4000 : 0)),
  },
  fetched: { '/v1/me': { items: [{ name: 'a' }, { name: 'b' }] } },
};

const HOLD: Fact[] = [
  { said: 'hello' },
  { said: '/^we\\b/' },
  { not_said: 'goodbye' },
  { heard: 'close' },
  { not_heard: 'hello' },
  { interrupted: 'we close' },
  { transcript: ['agent: hello', 'caller: when', '/agent: we/'] },
  { event: 'dtmf' },
  { event: 'dtmf', data: { digits: '42' }, times: 1 },
  { no_event: 'dtmf', data: { digits: '43' } },
  { no_event: 'transfer' },
  { tool: 'look_up', arguments: { id: 'A1' }, times: 1 },
  { tool: 'order', times: 0 },
  { end: { status: 'ended' } },
  { session: { detail: { agents: [{ from_index: 0 }] } } },
  { llm_got: 'user: when' },
  { llm_not_got: 'goodbye' },
  { recording: 'stored' },
  { recording_silent: '[card_number]' },
  { recording_audible: 'When do you close' },
  { get: '/v1/me', has: { items: [{ name: 'b' }] } },
];
const FAIL: Fact[] = [
  { said: 'when do you' },
  { not_said: 'hello' },
  { heard: 'hello' },
  { not_heard: 'close' },
  { interrupted: 'hello' },
  { transcript: ['caller: when', 'agent: hello'] },
  { event: 'transfer' },
  { event: 'dtmf', data: { digits: '43' } },
  { event: 'dtmf', times: 2 },
  { no_event: 'dtmf' },
  { tool: 'look_up', arguments: { id: 'A2' } },
  { tool: 'look_up', times: 0 },
  { tool: 'order' },
  { end: { status: 'failed' } },
  { session: { detail: { agents: [{ from_index: 1 }] } } },
  { llm_got: 'goodbye' },
  { llm_not_got: 'desk' },
  { recording: 'none' },
  { recording_silent: 'When do you close' },
  { recording_audible: '[card_number]' },
  { recording_silent: 'nobody said this' },
  { get: '/v1/me', has: { items: [{ name: 'c' }] } },
];

void t.test('facts that hold, and facts that do not', async (t) => {
  for (const fact of HOLD) t.match(checkFact(fact, evidence), { ok: true, found: '' }, JSON.stringify(fact));
  for (const fact of FAIL) {
    const checked = checkFact(fact, evidence);
    t.equal(checked.ok, false, JSON.stringify(fact));
    t.not(checked.found, '', 'it says what was there instead');
  }
});

void t.test('a file that says something unknown, or nothing to expect, is refused by its name', async (t) => {
  const good = { title: 'A', agent: {}, caller: [{ say: 'Hi.' }], expect: [{ said: 'Hello' }] };
  t.match(parseConversation(good, 'a.yaml'), { carrier: 'plivo', agent: { greeting: '' } });
  for (const bad of [
    { ...good, expect: [] },
    { ...good, expect: [{ sayd: 'Hello' }] },
    { ...good, expect: [{ said: '/(/' }] },
    { ...good, caller: [{ shout: 'Hi.' }] },
    { ...good, calling: true },
    { ...good, carrier: 'browser' },
  ])
    t.throws(() => parseConversation(bad, 'a.yaml'), /a\.yaml is no conversation/);
});
