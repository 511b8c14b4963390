import t from 'tap';
import { ConversationRedaction } from './conversation-redaction.ts';
import { REDACTION_KINDS } from './kinds.ts';

const all = () => new ConversationRedaction({ kinds: REDACTION_KINDS, language: 'en-US' });

void t.test('a later turn that completes a number masks the earlier ones', (t) => {
  const conversation = all();
  t.same(conversation.turn(1, { role: 'caller', text: 'it is 4111 1111' }), [
    { id: 1, text: 'it is [number]', redacted: false },
  ]);
  t.same(conversation.turn(2, { role: 'agent', text: '4111 1111, go on' }).at(-1)!.id, 2);
  const changed = conversation.turn(3, { role: 'caller', text: '1111 1111' });
  t.same(changed, [
    { id: 1, text: 'it is [card_number]', redacted: true },
    { id: 2, text: '[card_number], go on', redacted: true },
    { id: 3, text: '[card_number]', redacted: true },
  ]);
  t.equal(
    conversation.text('It ends with 1111, right?'),
    'It ends with [card_number], right?',
    'a part of it, later',
  );
  t.end();
});

void t.test('what the agent was saying when it was cut off is masked until it is known', (t) => {
  const conversation = all();
  t.same(conversation.turn(1, { role: 'agent', text: 'Is it 4111 1111 1111' }), [
    { id: 1, text: 'Is it [number]', redacted: false },
  ]);
  const said = [
    ...conversation.turn(2, { role: 'caller', text: 'It is 4111 1111 1111 1111' }),
    ...conversation.turn(3, { role: 'agent', text: 'Thank you.' }),
  ];
  t.notMatch(said.map(({ text }) => text).join(), /4111/);
  t.same(
    conversation.turn(4, { role: 'agent', text: 'Your order is 4821077' }).at(-1)!.text,
    'Your order is 4821077',
    'what was announced as something else',
  );
  t.end();
});

void t.test('what turns out to be nothing personal is shown again', (t) => {
  const conversation = all();
  t.same(conversation.turn(1, { role: 'caller', text: 'I counted 48210' })[0]!.text, 'I counted [number]');
  t.same(conversation.turn(2, { role: 'caller', text: 'of them in all' }), [
    { id: 1, text: 'I counted 48210', redacted: false },
    { id: 2, text: 'of them in all', redacted: false },
  ]);
  conversation.turn(3, { role: 'caller', text: 'and 77120' });
  t.same(conversation.settle(), [{ id: 3, text: 'and 77120', redacted: false }], 'when nothing more is said');
  t.end();
});

void t.test('a name that was said once is masked wherever it is said', (t) => {
  const conversation = all();
  conversation.turn(1, { role: 'agent', text: 'May I have your name?' });
  t.equal(conversation.turn(2, { role: 'caller', text: 'Margaret Thompson' })[0]!.text, '[person_name]');
  t.equal(
    conversation.turn(3, { role: 'agent', text: 'Thank you, Margaret.' })[0]!.text,
    'Thank you, [person_name].',
  );
  const known = new ConversationRedaction({ kinds: ['person_name'], language: 'en', names: ['Okonkwo'] });
  t.equal(
    known.text('Mr Okonkwo called 415 555 2671'),
    'Mr [person_name] called 415 555 2671',
    'only the kinds asked for',
  );
  t.end();
});

void t.test('a turn that is told again with another text is masked anew', (t) => {
  const conversation = all();
  conversation.turn(1, { role: 'agent', text: 'Call 415 555 2671 or' });
  t.same(conversation.turn(1, { role: 'agent', text: 'Call' }), [{ id: 1, text: 'Call', redacted: false }]);
  t.end();
});
