import t from 'tap';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { defaultAgentConfig } from '@parley/shared/contracts/agent-config';
import { Conversation } from './conversation.ts';
import type { ReplyPart } from '../speech/reply.ts';
import { DtmfCollector } from '../turns/dtmf-collector.ts';
import { backchannelPhrases, stopPhrases, toWords } from '../turns/phrases.ts';
import { SentenceSplitter } from '../speech/sentence-splitter.ts';
import { renderTemplate } from '@parley/shared/templates/template';
import { dictationState } from '../turns/dictation/dictation.ts';
import { isUnfinished, saysTheSame } from '../turns/utterance-text.ts';

void t.test('sentences are cut where a voice can pause', (t) => {
  const split = (text: string, size: number) => {
    const splitter = new SentenceSplitter();
    const pieces: string[] = [];
    for (let at = 0; at < text.length; at += size) pieces.push(...splitter.push(text.slice(at, at + size)));
    const rest = splitter.flush();
    return rest === undefined ? pieces : [...pieces, rest];
  };
  const cases: [string, string[]][] = [
    ['Hello. How are you?', ['Hello.', 'How are you?']],
    ['Dr. Who is here. Really!', ['Dr. Who is here.', 'Really!']],
    ['It costs 3.50 euros. Fine?', ['It costs 3.50 euros.', 'Fine?']],
    ['See example.com for more. Bye.', ['See example.com for more.', 'Bye.']],
    [
      'The table is ready for you, and the band plays at nine. Come early.',
      ['The table is ready for you,', 'and the band plays at nine.', 'Come early.'],
    ],
    ['Wait... what? "Yes." Good.', ['Wait...', 'what?', '"Yes."', 'Good.']],
    ['一つ目。二つ目。', ['一つ目。', '二つ目。']],
    ['', []],
  ];
  for (const [text, pieces] of cases)
    for (const size of [1, 3, 1000]) t.same(split(text, size), pieces, `${text} by ${size}`);
  const long = 'word '.repeat(200);
  t.ok(
    split(long, 7).every((piece) => piece.length <= 281),
    'no piece without end',
  );
  t.equal(split(long, 7).join(' '), long.trim());
  t.end();
});

void t.test('backchannels, stop phrases, and everything else', (t) => {
  const ignore = backchannelPhrases('en-GB', null);
  for (const text of ['Uh-huh.', 'mhm', 'Okay, right.', 'I see'])
    t.equal(ignore.covers(toWords(text), false), true, text);
  for (const text of ['okay but', 'yes', 'I', 'right now'])
    t.equal(ignore.covers(toWords(text), false), false, text);
  t.equal(ignore.covers(toWords('I'), true), true, 'may become "I see"');
  t.equal(
    backchannelPhrases('en', ['sure thing']).covers(toWords('Sure thing!'), false),
    true,
    'the agent has its own',
  );
  t.equal(stopPhrases('en', null).startOf(toWords('Hold on, please')), 'hold on');
  t.equal(stopPhrases('en', null).startOf(toWords('please hold on')), undefined);
  t.equal(
    backchannelPhrases('xx', null).covers(toWords('mhm'), false),
    true,
    'English where there is no list',
  );
  t.end();
});

void t.test('the state of a sentence', (t) => {
  for (const text of ['my number is four one', 'it is 4 1 5', 'anna at example dot', 'b e r'])
    t.equal(dictationState(text, { language: 'en-US' }), 'incomplete', text);
  for (const text of ['a table for two', 'at seven', 'my mail is anna@example.com', ''])
    t.not(dictationState(text, { language: 'en-US' }), 'incomplete', text);
  for (const text of ['I would like to', 'well,', 'and', '']) t.ok(isUnfinished(text, 'en'), text);
  for (const text of ['I would like a coffee.', 'yes', 'What is it for?', 'What is it for? '])
    t.notOk(isUnfinished(text, 'en'), text);
  t.ok(saysTheSame('Book a table.', 'book a table'));
  t.notOk(saysTheSame('book a table', 'book the table'));
  t.end();
});

void t.test('templates', (t) => {
  const missing: string[] = [];
  const render = (text: string) =>
    renderTemplate(
      text,
      (name) => ({ name: 'Asha', empty: '' })[name],
      (name) => missing.push(name),
    );
  t.equal(render('Hi {{name}}, {{ name }}!'), 'Hi Asha, Asha!');
  t.equal(render('{{nobody|friend}} and {{empty|you}}'), 'friend and you');
  t.equal(render('Dear {{nobody}}.'), 'Dear .');
  t.same(missing, ['nobody']);
  t.end();
});

void t.test('what the LLM is told of a reply that was cut off', (t) => {
  const conversation = new Conversation([]);
  conversation.addCaller('Book it.');
  const calls = [{ id: 'c1', name: 'book', arguments: '{}' }];
  const parts: ReplyPart[] = [
    { type: 'speech', text: 'Let me see now.', fromModel: true },
    {
      type: 'tools',
      calls,
      results: new Map([['c1', '{"ok":true}']]),
    },
    { type: 'speech', text: 'One moment.', fromModel: false },
    { type: 'speech', text: 'It is booked for you.', fromModel: true },
  ];
  conversation.beginReply(parts);
  conversation.settleReply(parts, 'Let me see now. One moment. It is');
  t.same(conversation.toMessages('S').slice(2), [
    {
      role: 'assistant',
      content: 'Let me see now.',
      toolCalls: calls,
    },
    { role: 'tool', toolCallId: 'c1', content: '{"ok":true}' },
    { role: 'assistant', content: 'It is' },
  ]);
  conversation.settleReply(parts, '');
  t.same(conversation.toMessages('S').length, 4, 'of a reply that nobody heard the tool result stays');
  const silent: ReplyPart[] = [{ type: 'speech', text: 'Never heard.', fromModel: true }];
  conversation.beginReply(silent);
  conversation.settleReply(silent, '');
  t.same(
    conversation.toMessages('S').length,
    4,
    'and a reply that nobody heard and that did nothing is gone',
  );
  t.end();
});

void t.test('of a long conversation the LLM gets the newest turns, whole', (t) => {
  const conversation = new Conversation([]);
  const result = 'r'.repeat(3000);
  const hold = (turn: number) => {
    conversation.addCaller(`question ${turn}`);
    conversation.addNote(`note ${turn}`);
    const calls = [{ id: `c${turn}`, name: 'find', arguments: '{}' }];
    conversation.beginReply([
      { type: 'tools', calls, results: new Map([[`c${turn}`, result]]) },
      { type: 'speech', text: `answer ${turn}`, fromModel: true },
    ]);
  };
  const starts = new Set<string>();
  let cuts = 0;
  for (let turn = 0; turn < 200; turn++) {
    hold(turn);
    const messages = conversation.toMessages('S');
    const size = messages.reduce((sum, message) => sum + message.content.length, 0);
    const whole = turn < 20 ? messages.length === 1 + 5 * (turn + 1) : size < 65_000 && size > 45_000;
    if (!whole) t.fail(`turn ${turn}: ${messages.length} messages, ${size} characters`);
    if (messages[1]!.content.startsWith('[Earlier')) {
      cuts++;
      starts.add(messages[2]!.content);
      // No result without its call, no reply without its question.
      const roles = messages.slice(2).map(({ role }) => role);
      const turns = roles.join(' ').split(/ (?=user user)/);
      if (turns.some((roles) => roles !== 'user user assistant tool assistant'))
        t.fail(`turn ${turn} is cut`);
    }
    if (!messages.at(-1)!.content.endsWith(String(turn))) t.fail(`the newest turn, ${turn}, is missing`);
  }
  t.ok(
    cuts > 150 && starts.size < 40,
    `cut ${starts.size} times in ${cuts} requests: the beginning stays for a while`,
  );

  const huge = new Conversation([]);
  huge.addCaller('first');
  huge.addAgent('a'.repeat(70_000));
  huge.addCaller('x'.repeat(90_000));
  t.same(
    huge.toMessages('S', 'and more').map(({ content }) => content.length),
    [1, '[Earlier turns of this call were left out here.]'.length, 90_000, 8],
    'the last turn stays, however long it is',
  );
  t.end();
});

void t.test('keys become entries', (t) => {
  const clock = new ManualClock();
  const entries: string[] = [];
  const config = { ...defaultAgentConfig().dtmf, max_digits: 4 };
  const keys = new DtmfCollector(config, clock, (digits) => entries.push(digits));
  for (const key of '12#') keys.press(key);
  keys.press('#');
  for (const key of '1234') keys.press(key);
  keys.press('7');
  clock.advance(2999);
  t.same(entries, ['12', '#', '1234']);
  clock.advance(1);
  t.same(entries.at(-1), '7', 'by the pause');
  keys.press('8');
  keys.close();
  clock.advance(10_000);
  t.equal(entries.length, 4, 'an unfinished entry ends with the call');
  t.equal(clock.pendingTimers, 0);
  t.end();
});
