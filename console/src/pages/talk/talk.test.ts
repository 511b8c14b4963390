import t from 'tap';
import { toToolMocks } from './mock-drafts.ts';
import type { ServerEvent } from './realtime-connection.ts';
import { TalkConversation } from './talk-conversation.ts';

function conversation(...events: [number, ServerEvent][]) {
  const talk = new TalkConversation();
  const effects = events.flatMap(([now, event]) => talk.onEvent(event, now));
  return { talk, effects };
}
const words = (item_id: string, delta: string): ServerEvent => ({
  type: 'response.output_audio_transcript.delta',
  item_id,
  delta,
});
const typed = (id: string, text: string): ServerEvent => ({
  type: 'conversation.item.added',
  item: { id, role: 'user', content: [{ type: 'input_text', text }] },
});

void t.test('both sides are written down as they speak', (t) => {
  const { talk, effects } = conversation(
    [0, { type: 'response.created' }],
    [10, words('a', 'Hel')],
    [12, { type: 'response.output_audio.delta', item_id: 'a', delta: 'AAAA' }],
    [20, words('a', 'lo <b>')],
    [30, { type: 'input_audio_buffer.speech_started', item_id: 'c' }],
    [40, { type: 'conversation.item.input_audio_transcription.delta', item_id: 'c', delta: 'A tab' }],
    [
      50,
      { type: 'conversation.item.input_audio_transcription.completed', item_id: 'c', transcript: 'A table.' },
    ],
    [60, { type: 'input_audio_buffer.speech_started', item_id: 'silent' }],
  );
  talk.dropSilent();
  t.match(talk.snapshot.turns, [
    { who: 'agent', text: 'Hello <b>', coming: true },
    { who: 'caller', text: 'A table.', coming: false },
  ]);
  t.same(effects, [
    { kind: 'play', item: 'a', audio: 'AAAA' },
    { kind: 'stop_agent' },
    { kind: 'stop_agent' },
  ]);
  t.end();
});

void t.test('a latency is what ears have it, and its parts add up', (t) => {
  const { talk } = conversation(
    [1000, typed('c', 'Hello')],
    [1300, { type: 'response.created' }],
    [1500, words('a', 'Hi')],
    [1600, { type: 'response.output_audio.delta', item_id: 'a', delta: '' }],
  );
  talk.heard('a', 1000, 1650);
  t.same(talk.snapshot.turns[1]?.latency, {
    total: 650,
    parts: [
      { part: 'turn_end', ms: 300 },
      { part: 'llm', ms: 200 },
      { part: 'voice', ms: 100 },
      { part: 'other', ms: 50 },
    ],
    saved: 0,
  });
  t.equal(talk.snapshot.floor, 'agent');
  const greeting = conversation([0, words('g', 'Hi')]).talk;
  greeting.heard('g', -Infinity, 5);
  t.equal(greeting.snapshot.turns[0]?.latency, null, 'nobody had asked');
  t.end();
});

void t.test('what was cut off ends where it was heard, or goes on below', (t) => {
  const { talk } = conversation([0, words('a', 'One two three')]);
  talk.stopped('a');
  t.same(talk.onEvent({ type: 'conversation.item.truncated', item_id: 'a' }, 1), [
    { kind: 'retrieve', item: 'a' },
  ]);
  const item = { id: 'a', role: 'assistant', content: [{ type: 'output_audio', transcript: 'One two' }] };
  talk.onEvent({ type: 'conversation.item.retrieved', item }, 2);
  t.match(talk.snapshot.turns[0], { text: 'One two', cut: 'interrupted', coming: false });
  talk.onEvent(words('b', 'three'), 3);
  t.equal(talk.snapshot.turns[0]?.cut, 'goes_on', 'only a sound had stopped it');
  t.end();
});

void t.test('keys in a row are one turn; failures are told, and only those that concern a person', (t) => {
  const key = (event: string): ServerEvent => ({
    type: 'input_audio_buffer.dtmf_event_received',
    event_id: `e${event}`,
    event,
  });
  const { talk } = conversation(
    [0, key('1')],
    [1, key('#')],
    [2, { type: 'response.created' }],
    [3, key('2')],
  );
  t.same(
    talk.snapshot.turns.map(({ text }) => text),
    ['Keys: 1#', 'Keys: 2'],
  );
  talk.onEvent(
    { type: 'error', error: { code: 'conversation_already_has_active_response', message: 'x' } },
    4,
  );
  t.equal(talk.snapshot.problem, '');
  talk.onEvent({ type: 'response.done', response: { status: 'failed' } }, 5);
  t.match(talk.snapshot.problem, /could not answer/);
  t.equal(talk.snapshot.floor, 'listening');
  let told = 0;
  const off = talk.subscribe(() => told++);
  talk.say('');
  off();
  talk.say('x');
  t.equal(told, 1);
  t.end();
});

void t.test('what is answered in place of tools is JSON, or text', (t) => {
  const mock = { function: null, match: {} };
  t.same(
    toToolMocks({
      tol_1: { fails: false, text: '{"free": 3}' },
      tol_2: { fails: false, text: 'Room 3 is free.' },
      tol_3: { fails: true, text: 'Closed.' },
      tol_4: { fails: true, text: ' ' },
    }),
    [
      { ...mock, tool_id: 'tol_1', result: { free: 3 }, error: null },
      { ...mock, tool_id: 'tol_2', result: 'Room 3 is free.', error: null },
      { ...mock, tool_id: 'tol_3', result: null, error: 'Closed.' },
      { ...mock, tool_id: 'tol_4', result: null, error: 'failed' },
    ],
  );
  t.end();
});
