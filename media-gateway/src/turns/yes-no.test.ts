import t from 'tap';
import { BACKCHANNELS } from './phrase-tables.ts';
import { yesOrNo, YES_NO_LANGUAGES, type YesNo } from './yes-no.ts';

type Case = [said: string, wanted: YesNo];

// prettier-ignore
const CASES: Record<string, { question: string; cases: Case[] }> = {
  en: { question: 'Shall I book the table for eight?', cases: [
    ['Yes.', 'yes'], ['Yes, please.', 'yes'], ['Yeah, book it.', 'yes'], ['Sure, go ahead, thanks!', 'yes'], ['No problem.', 'yes'], ['Why not', 'yes'],
    ['No.', 'no'], ['No, thank you.', 'no'], ["Don't do that", 'no'], ['No, make it nine.', 'no'],
    ['Yes, but at nine.', 'unclear'], ['Yes?', 'unclear'], ['No, yes, I mean.', 'unclear'], ['What does it cost?', 'unclear'], ['Yes, for ten people', 'unclear'], ['', 'unclear'], ['Not sure', 'unclear'], ['Please.', 'unclear'],
  ] },
  de: { question: 'Soll ich den Termin für Sie buchen?', cases: [
    ['Ja.', 'yes'], ['Ja, bitte buchen Sie den Termin.', 'yes'], ['Kein Problem', 'yes'], ['Machen Sie das gerne', 'yes'],
    ['Nein, danke.', 'no'], ['Lieber nicht', 'no'], ['Ja, aber erst am Montag', 'unclear'], ['Wie bitte?', 'unclear'], ['Nicht gut', 'unclear'],
  ] },
  fr: { question: 'Je réserve la table ?', cases: [
    ["Oui, s'il vous plaît.", 'yes'], ["D'accord, allez-y", 'yes'], ['Pas de problème', 'yes'], ['Non merci', 'no'], ['Pas maintenant', 'no'], ['Oui mais demain', 'unclear'], ['Combien ?', 'unclear'],
  ] },
  es: { question: '¿Reservo la mesa?', cases: [
    ['Sí, por favor', 'yes'], ['No hay problema', 'yes'], ['Claro que sí, la mesa', 'yes'], ['No, gracias', 'no'], ['Mejor no', 'no'], ['Sí, pero mañana', 'unclear'], ['¿Cuánto?', 'unclear'],
  ] },
  it: { question: 'Prenoto il tavolo?', cases: [
    ['Sì, grazie', 'yes'], ["Non c'è problema", 'yes'], ['Va bene', 'yes'], ['No, grazie', 'no'], ['Meglio di no', 'no'], ['Sì, però domani', 'unclear'], ['Quanto costa?', 'unclear'],
  ] },
  pt: { question: 'Posso reservar a mesa?', cases: [
    ['Sim, por favor', 'yes'], ['Pode sim', 'yes'], ['Não tem problema', 'yes'], ['Não, obrigado', 'no'], ['Melhor não', 'no'], ['Sim, mas amanhã', 'unclear'],
  ] },
  nl: { question: 'Zal ik de tafel reserveren?', cases: [
    ['Ja, graag', 'yes'], ['Geen probleem', 'yes'], ['Doe maar', 'yes'], ['Nee, dank u', 'no'], ['Liever niet', 'no'], ['Ja, morgen pas', 'unclear'],
  ] },
  pl: { question: 'Czy mam zarezerwować stolik?', cases: [
    ['Tak, proszę', 'yes'], ['Nie ma problemu', 'yes'], ['No tak', 'yes'], ['Nie, dziękuję', 'no'], ['Raczej nie', 'no'], ['Tak, tylko jutro', 'unclear'],
  ] },
  tr: { question: 'Masayı ayırtayım mı?', cases: [
    ['Evet, lütfen', 'yes'], ['Sorun değil', 'yes'], ['Tamam', 'yes'], ['Hayır, teşekkürler', 'no'], ['Olmaz', 'no'], ['Evet ama yarın', 'unclear'],
  ] },
  hi: { question: 'क्या मैं बुक कर दूँ?', cases: [
    ['जी हाँ', 'yes'], ['हाँ, बुक कर दीजिए', 'yes'], ['ठीक है, धन्यवाद', 'yes'], ['haan ji', 'yes'], ['नहीं', 'no'], ['जी नहीं, धन्यवाद', 'no'], ['हाँ, लेकिन कल', 'unclear'],
  ] },
  ja: { question: '予約してもよろしいですか。', cases: [
    ['はい、お願いします', 'yes'], ['問題ありません', 'yes'], ['いいです', 'yes'], ['いいえ', 'no'], ['いいえ、結構です', 'no'], ['やめてください', 'no'], ['はい、でも明日', 'unclear'], ['いくらですか', 'unclear'],
  ] },
  zh: { question: '要我预订这张桌子吗？', cases: [
    ['好的，谢谢', 'yes'], ['可以', 'yes'], ['没问题', 'yes'], ['是的', 'yes'], ['不用了', 'no'], ['不行', 'no'], ['不可以', 'no'], ['好的，但是明天', 'unclear'], ['多少钱', 'unclear'],
  ] },
};

for (const [language, { question, cases }] of Object.entries(CASES)) {
  void t.test(`a yes and a no are told apart in ${language}`, (t) => {
    for (const [said, wanted] of cases) t.equal(yesOrNo(said, question, language), wanted, said);
    t.end();
  });
}

void t.test('every language of the turns has words for yes and no, and others take the English ones', (t) => {
  t.same([...YES_NO_LANGUAGES].sort(), Object.keys(BACKCHANNELS).sort());
  t.same(Object.keys(CASES).sort(), [...YES_NO_LANGUAGES].sort());
  t.equal(yesOrNo('Yes', 'So?', 'sv-SE'), 'yes');
  t.equal(yesOrNo('Ja', 'Soll ich?', 'de-AT'), 'yes');
  t.end();
});
