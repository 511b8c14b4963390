import t from 'tap';
import { searchedWords, wordsOf } from './session-words.ts';

void t.test('a session is found by names, identifiers and ends of numbers', (t) => {
  const words = wordsOf({
    from_number: '+14155550100',
    to_number: null,
    user_identifier: 'Asha.Rao@example.com',
    variables: { name: 'Åsa O’Neil', external_id: 'CRM-17', card: '4111' },
  });
  const found = (text: string) => {
    const searched = searchedWords(text);
    return searched.length > 0 && searched.every((word) => words.includes(word));
  };
  for (const text of ['0100', '5550100', '+1 (415) 555-0100', '1-415-555-0100', 'asha', 'RAO asha'])
    t.ok(found(text), text);
  for (const text of ['asha.rao@EXAMPLE.com', 'åsa', 'Åsa', 'neil', 'crm-17', '17']) t.ok(found(text), text);
  for (const text of ['100', '+1415', 'as', 'asha bob', '4111', '...', '  ', '+']) t.notOk(found(text), text);
  t.ok(words.length < 25, `${words.length} words`);
  t.same(wordsOf({ from_number: null, to_number: null, user_identifier: null, variables: {} }), []);
  t.equal(wordsOf({ user_identifier: Array.from({ length: 255 }, (_, n) => n).join(' ') }).length, 60);
  t.end();
});
