import t from 'tap';
import { backchannelPhrases, hesitations, PhraseList, stopPhrases, toWords } from './phrases.ts';
import { isUnfinished, saysTheSame } from './utterance-text.ts';

void t.test('words are told apart by spaces, hyphens and punctuation, however they are written', (t) => {
  t.same(toWords("  Uh-huh, that's RIGHT!  "), ['uh', 'huh', "that's", 'right']);
  t.same(toWords('№ 42/7'), ['42', '7'], 'numbers are words');
  t.same(toWords('हाँ, ठीक है।'), ['हाँ', 'ठीक', 'है'], 'marks belong to their letters');
  t.same(toWords('はい、テス漢字ok'), ['は', 'い', 'テ', 'ス', '漢', '字', 'ok']);
  t.same(toWords(' … '), []);
  t.end();
});

void t.test('phrases cover words only when nothing is left over', (t) => {
  const list = new PhraseList(['uh huh', 'yes', 'I see', '...']);
  const covers = (text: string, growing = false) => list.covers(toWords(text), growing);
  t.ok(covers('Yes, uh-huh, I see.'), 'one after the other');
  t.notOk(covers('Yes, I saw'));
  t.notOk(covers('well yes'));
  t.notOk(covers('yes I'), 'half a phrase');
  t.ok(covers('yes I', true), 'to which more may come');
  t.notOk(covers('yes you', true));
  t.ok(covers(''), 'no word is left over');
  t.notOk(new PhraseList(['...']).covers(['yes'], true), 'a phrase without words covers nothing');
  t.end();
});

void t.test('the phrase that words begin with is found whole', (t) => {
  const list = new PhraseList(['hold on', 'stop', 'stop it now']);
  t.equal(list.startOf(toWords('Hold on, please')), 'hold on');
  t.equal(list.startOf(['stop']), 'stop');
  t.equal(list.startOf(['hold']), undefined, 'more would have to come');
  t.equal(list.startOf(toWords('please hold on')), undefined, 'later is not at the beginning');
  t.end();
});

void t.test("an agent's own phrases take the place of those of the language, English ones stand in", (t) => {
  const listens = (language: string, own: string[] | null, text: string) =>
    backchannelPhrases(language, own).covers(toWords(text), false);
  t.ok(listens('de-AT', null, 'genau'));
  t.ok(listens('DE', null, 'genau'), 'tags may be in capitals');
  t.notOk(listens('de-AT', ['hm'], 'genau'));
  t.ok(listens('de-AT', ['hm'], 'hm'));
  t.notOk(listens('en', [], 'okay'), 'an agent may want none');
  t.ok(listens('sv', null, 'okay'));

  t.equal(stopPhrases('en-US', null).startOf(['stop']), 'stop');
  t.equal(stopPhrases('sv', null).startOf(['stop']), 'stop');
  t.equal(stopPhrases('en', ['basta']).startOf(['stop']), undefined);
  t.equal(stopPhrases('en', ['basta']).startOf(['basta']), 'basta');

  t.ok(hesitations('en-GB').covers(['hmm'], false));
  t.ok(hesitations('sv').covers(['hmm'], false));
  t.notOk(hesitations('en').covers(['yeah'], false), 'which is an answer');
  t.end();
});

void t.test('a sentence sounds unfinished by its last sign, or its last word', (t) => {
  for (const text of ['I want...', 'I want … ', 'first,', 'namely:', 'one;', 'well - ', '我想、', '我想，'])
    t.ok(isUnfinished(text, 'en'), text);
  t.ok(isUnfinished('I would like to', 'en-US'));
  t.ok(isUnfinished('', 'en'), 'nothing was said yet');
  t.ok(isUnfinished('?', 'en'), 'nor was it here');
  t.notOk(isUnfinished('I would like a coffee.', 'en'));
  t.notOk(isUnfinished('What is that for?', 'en'), 'a question is one, whatever it ends with');
  t.notOk(isUnfinished('What is that for? ', 'en'));
  t.notOk(isUnfinished('Go for!', 'en'));
  t.ok(isUnfinished('Why? I asked for', 'en'), 'a question before does not count');
  t.ok(isUnfinished('one, two, ', 'en'));
  t.notOk(isUnfinished('one, two', 'en'));
  t.end();
});

void t.test('two transcripts say the same whatever signs and capitals they have', (t) => {
  t.ok(saysTheSame('book a table', 'Book a table.'));
  t.notOk(saysTheSame('book a table', 'book a table now'));
  t.notOk(saysTheSame('book a table now', 'book a table'));
  t.notOk(saysTheSame('book a table', 'book the table'));
  t.end();
});
