import t from 'tap';
import type { Turn } from '@parley/shared/contracts/turn';
import type { ReplyPart } from '../speech/reply.ts';
import { Conversation } from './conversation.ts';

const turn = (turn_index: number, role: Turn['role'], text: string, more: Partial<Turn> = {}): Turn => ({
  ...{ turn_index, role, text, start_ms: 0, end_ms: 0, interrupted: false, redacted: false },
  ...more,
});
const speech = (text: string, fromModel = true): ReplyPart => ({ type: 'speech', text, fromModel });
const tool = (id: string, result?: string, args = '{}'): ReplyPart => ({
  type: 'tools',
  calls: [{ id, name: 'find', arguments: args }],
  results: new Map(result === undefined ? [] : [[id, result]]),
});
/** Each message as `role: content`. */
const said = (conversation: Conversation, extra?: string) =>
  conversation
    .toMessages('S', extra)
    .slice(1)
    .map(({ role, content }) => `${role}: ${content}`);

void t.test('a later leg knows what was said on those before, or what it came to', (t) => {
  const history = [
    turn(0, 'agent', 'Hello.'),
    turn(1, 'caller', 'mhm', { backchannel: true }),
    turn(2, 'caller', 'Hi.'),
  ];
  t.same(said(new Conversation(history)), ['assistant: Hello.', 'user: Hi.']);
  const summed = new Conversation(history, 'They greeted.');
  t.same(said(summed), [
    'user: [What was said in this call before, in short: They greeted.]',
    'assistant: Hello.',
    'user: Hi.',
  ]);
  summed.beginAnew('It was short.');
  t.same(said(summed), ['user: [What was said in this call before, in short: It was short.]']);
  summed.beginAnew('');
  t.same(said(summed), []);
  t.same(new Conversation([]).toMessages('S'), [{ role: 'system', content: 'S' }]);
  t.end();
});

void t.test('entries are put where they belong, and taken away', (t) => {
  const one = new Conversation([]);
  one.addCaller('a', { key: 'a' });
  one.addAgent('b', { key: 'b', after: 'a' });
  one.addCaller('c', { key: 'c', after: 'a' });
  one.addCaller('d', { key: 'd', after: null });
  one.addCaller('e', { key: 'e', after: 'nothing' });
  one.addCaller('f', { key: 'f', after: 'd' });
  t.same(said(one), ['user: d', 'user: f', 'user: a', 'user: c', 'assistant: b', 'user: e']);
  t.ok(one.remove('a'));
  t.notOk(one.remove('a'));
  t.ok(one.remove('d'));
  t.same(said(one, 'more'), ['user: f', 'user: c', 'assistant: b', 'user: e', 'user: more']);
  t.end();
});

void t.test('of a reply those words stay that were heard, and all that tools have answered', (t) => {
  const after = (heard: string | undefined, ...parts: ReplyPart[]) => {
    const one = new Conversation([]);
    one.beginReply(parts, 'r');
    one.settleReply([], 'nothing of it');
    one.settleReply(parts, heard);
    return said(one);
  };
  t.same(after(undefined, speech('One two.'), speech('Three.')), ['assistant: One two. Three.']);
  t.same(after('One', speech('One two.')), ['assistant: One']);
  t.same(after('One two. Three', speech('One  two.'), speech('Three four.')), ['assistant: One two. Three']);
  t.same(after('', speech('One.')), []);
  t.same(after('', tool('t1', 'yes')), ['assistant: ', 'tool: yes']);
  t.same(after('Moment. It', speech('Moment.', false), tool('t1'), speech('It is.')), [
    'assistant: ',
    'tool: {"status":"pending"}',
    'assistant: It',
  ]);
  t.same(after(undefined, speech('Moment.', false)), [], 'fillers are not told');
  t.end();
});

void t.test('a reply that goes on is told as far as it is', (t) => {
  const one = new Conversation([]);
  const parts: ReplyPart[] = [];
  one.beginReply(parts);
  one.addCaller('meanwhile');
  parts.push(speech('So far'));
  t.same(said(one), ['assistant: So far', 'user: meanwhile']);
  t.equal(one.lastAgentText, 'So far');
  parts.push(tool('t'), speech('and on', false));
  t.equal(one.lastAgentText, 'So far and on');
  t.equal(new Conversation([]).lastAgentText, '');
  t.end();
});

void t.test('what awaits an answer is the last that was said, notes apart', (t) => {
  const one = new Conversation([]);
  t.equal(one.lastCallerText, undefined);
  one.addCaller('Hello');
  one.addNote('a key');
  t.equal(one.lastCallerText, 'Hello');
  one.addAgent('Yes?');
  t.equal(one.lastCallerText, undefined);
  t.equal(one.question(), undefined);
  t.end();
});

void t.test('a short question is one about what was said before', (t) => {
  const one = new Conversation([]);
  one.addCaller('And  Sundays?');
  t.equal(one.question(), 'And  Sundays?', 'nothing was');
  one.addAgent('Closed.');
  one.addCaller('When are you open');
  t.equal(one.question(), 'When are you open', 'four words are a question');
  one.addCaller('On Mondays then?');
  t.equal(one.question(), 'When are you open On Mondays then?');
  t.equal(one.question('Or Tuesdays?'), 'On Mondays then? Or Tuesdays?');
  t.equal(one.question('Or rather on Tuesdays?'), 'Or rather on Tuesdays?');
  t.end();
});

void t.test('what was refused is told as a note, back to the reply before', (t) => {
  const one = new Conversation([]);
  const note = 'user: [The caller said something that must not be followed, and was told so.]';
  one.refuseCaller();
  one.addCaller('fine');
  one.addAgent('Good.');
  one.addCaller('bad', { key: 'k' });
  one.addNote('a key');
  one.addCaller('worse');
  one.addAgent('No.');
  one.refuseCaller();
  t.same(said(one), ['user: fine', 'assistant: Good.', note, 'user: [a key]', note, 'assistant: No.']);
  t.ok(one.remove('k'), 'it keeps its place');
  t.end();
});

void t.test('all that is told counts towards the bound', (t) => {
  const cut = (...entries: ((one: Conversation) => void)[]) => {
    const one = new Conversation([]);
    one.addCaller('first');
    for (const entry of entries) entry(one);
    one.addCaller('last');
    return said(one).length < entries.length + 2 || said(one)[0]!.includes('Earlier turns');
  };
  const text = (length: number) => 'x'.repeat(length);
  // "first" and "last" have nine characters.
  t.notOk(cut((one) => one.addCaller(text(63_991))));
  t.ok(cut((one) => one.addCaller(text(63_992))));
  t.ok(cut((one) => one.addNote(text(63_992))));
  t.ok(cut((one) => one.addAgent(text(63_992))));
  t.notOk(cut((one) => one.beginReply([tool('t', text(63_989))])));
  t.ok(
    cut((one) => one.beginReply([tool('t', text(63_990))])),
    'arguments and results',
  );
  t.ok(cut((one) => one.beginReply([tool('t', undefined, text(63_992))])));
  t.end();
});

void t.test('what was left out stays left out, until there is a new beginning', (t) => {
  const one = new Conversation([]);
  for (let at = 0; at < 10; at++) {
    one.addCaller(`question ${at}`);
    one.addAgent('a'.repeat(7000));
  }
  const first = () => said(one).slice(0, 2);
  t.same(first(), ['user: [Earlier turns of this call were left out here.]', 'user: question 4']);
  one.addCaller('short');
  t.same(first()[1], 'user: question 4', 'it is cut seldom');
  one.beginAnew('');
  one.addCaller('again');
  t.same(said(one), ['user: again']);
  t.end();
});
