/**
 * What callers say to a question that wants a yes or a no, by language. A longer phrase goes before the shorter ones
 * within it: "no problem" is a yes.
 */
export interface YesNoTable {
  yes: readonly string[];
  no: readonly string[];
  /** Words that say neither, and may stand beside either. */
  beside: readonly string[];
}

// prettier-ignore
export const YES_NO: Readonly<Record<string, YesNoTable>> = {
  en: {
    yes: ['yes', 'yeah', 'yep', 'yup', 'ya', 'aye', 'sure', 'sure thing', 'of course', 'certainly', 'absolutely', 'definitely', 'ok', 'okay', 'alright', 'all right', 'go ahead', 'go for it', 'do it', 'do that', 'please do', "that's right", "that's correct", "that's fine", "that's good", 'that works', 'correct', 'right', 'exactly', 'sounds good', 'i agree', 'agreed', 'i confirm', 'confirmed', 'no problem', 'why not', 'by all means', 'perfect', 'fine', 'uh huh', 'mm hmm', 'mhm', 'i do', 'you can', 'you may'],
    no: ['no', 'nope', 'nah', 'not', "don't", 'do not', "don't do it", "don't do that", 'do not do it', 'do not do that', 'never', 'rather not', 'no thanks', 'no thank you', 'not now', 'not yet', 'stop', 'cancel', 'forget it', 'leave it', "that's wrong", 'wrong', 'incorrect', 'negative', "i don't want", "i'd rather not", "that's not right"],
    beside: ['please', 'thanks', 'thank', 'you', 'very', 'much', 'well', 'oh', 'uh', 'um', 'er', 'hmm', 'so', 'then', 'it', 'that', 'just', 'i', 'want', 'would', 'like', 'to', 'good', 'great', 'is', 'the', 'sir', 'madam', "let's", 'let', 'us', 'me', 'for'],
  },
  de: {
    yes: ['ja', 'jawohl', 'jo', 'jep', 'doch', 'klar', 'na klar', 'sicher', 'natürlich', 'selbstverständlich', 'gerne', 'gern', 'genau', 'richtig', 'stimmt', 'das stimmt', 'korrekt', 'okay', 'ok', 'in ordnung', 'alles klar', 'einverstanden', 'machen sie das', 'machen sie', 'mach das', 'mach', 'tun sie das', 'passt', 'auf jeden fall', 'unbedingt', 'kein problem', 'warum nicht', 'bestätigt', 'ich bestätige', 'nichts dagegen', 'gut'],
    no: ['nein', 'nee', 'ne', 'nö', 'nicht', 'kein', 'keine', 'keinesfalls', 'auf keinen fall', 'lieber nicht', 'niemals', 'stopp', 'abbrechen', 'lassen sie das', 'lassen sie es', 'lass das', 'falsch', 'das stimmt nicht', 'nein danke'],
    beside: ['bitte', 'danke', 'schön', 'sehr', 'vielen', 'dank', 'also', 'ach', 'äh', 'ähm', 'hm', 'so', 'das', 'es', 'sie', 'ich', 'mal', 'dann', 'würde', 'möchte', 'will', 'ist', 'super', 'prima', 'na'],
  },
  fr: {
    yes: ['oui', 'ouais', 'si', 'bien sûr', 'bien entendu', 'certainement', 'tout à fait', 'absolument', "d'accord", 'd accord', 'ok', 'okay', 'allez y', 'vas y', 'faites', 'faites le', 'faites ça', 'exactement', "c'est ça", "c'est bon", "c'est correct", "c'est exact", 'correct', 'volontiers', 'parfait', 'entendu', 'pas de problème', 'pourquoi pas', 'je confirme', 'avec plaisir', 'ça marche', 'ça me va'],
    no: ['non', 'pas', 'ne', 'jamais', 'surtout pas', 'pas du tout', 'non merci', 'annulez', 'annule', 'arrêtez', 'laissez tomber', 'faux', "c'est faux", 'plutôt pas'],
    beside: ["s'il", 'vous', 'plaît', 'te', 'merci', 'beaucoup', 'bien', 'alors', 'euh', 'ah', 'hum', 'je', 'le', 'la', 'ça', 'veux', 'voudrais', 'très', 'donc', 'madame', 'monsieur'],
  },
  es: {
    yes: ['sí', 'si', 'claro', 'claro que sí', 'por supuesto', 'desde luego', 'vale', 'de acuerdo', 'ok', 'okay', 'okey', 'adelante', 'hágalo', 'hazlo', 'dale', 'correcto', 'exacto', 'eso es', 'así es', 'está bien', 'perfecto', 'confirmo', 'lo confirmo', 'no hay problema', 'sin problema', 'por qué no', 'cómo no', 'bueno'],
    no: ['no', 'nunca', 'jamás', 'tampoco', 'para nada', 'mejor no', 'no gracias', 'cancele', 'cancela', 'pare', 'déjelo', 'falso', 'incorrecto'],
    beside: ['por', 'favor', 'gracias', 'muchas', 'muy', 'bien', 'pues', 'eh', 'ah', 'este', 'lo', 'quiero', 'quisiera', 'señor', 'señora', 'señorita', 'entonces', 'eso'],
  },
  it: {
    yes: ['sì', 'si', 'certo', 'certamente', 'certo che sì', 'assolutamente', 'assolutamente sì', 'va bene', "d'accordo", 'ok', 'okay', 'esatto', 'esattamente', 'giusto', 'corretto', 'perfetto', 'proceda', 'procedi', 'lo faccia', 'fallo', 'faccia pure', 'confermo', 'lo confermo', 'volentieri', 'nessun problema', 'non c è problema', "non c'è problema", 'perché no', 'naturalmente'],
    no: ['no', 'non', 'mai', 'niente', 'assolutamente no', 'meglio di no', 'no grazie', 'annulli', 'annulla', 'si fermi', 'lasci stare', 'sbagliato'],
    beside: ['per', 'favore', 'piacere', 'grazie', 'mille', 'molto', 'bene', 'allora', 'eh', 'ah', 'ehm', 'lo', 'vorrei', 'voglio', 'signore', 'signora', 'pure', 'prego'],
  },
  pt: {
    yes: ['sim', 'claro', 'claro que sim', 'com certeza', 'certo', 'certamente', 'pode', 'pode ser', 'pode sim', 'pode fazer', 'faça', 'faz favor', 'faça isso', 'está bem', 'tá bom', 'tá', 'ok', 'okay', 'isso', 'isso mesmo', 'exato', 'exatamente', 'correto', 'perfeito', 'confirmo', 'de acordo', 'combinado', 'sem problema', 'não há problema', 'não tem problema', 'porque não', 'por que não', 'quero', 'bora', 'beleza'],
    no: ['não', 'nao', 'nunca', 'jamais', 'de jeito nenhum', 'melhor não', 'não quero', 'não obrigado', 'não obrigada', 'cancele', 'cancela', 'pare', 'deixe', 'errado'],
    beside: ['por', 'favor', 'obrigado', 'obrigada', 'muito', 'bem', 'então', 'eh', 'ah', 'hum', 'eu', 'o', 'a', 'senhor', 'senhora', 'é'],
  },
  nl: {
    yes: ['ja', 'jazeker', 'jawel', 'zeker', 'natuurlijk', 'graag', 'ja graag', 'oké', 'oke', 'ok', 'akkoord', 'prima', 'goed', 'is goed', 'dat is goed', 'klopt', 'dat klopt', 'juist', 'precies', 'correct', 'doe maar', 'doet u maar', 'ga uw gang', 'ga je gang', 'geen probleem', 'waarom niet', 'absoluut', 'ik bevestig', 'bevestigd', 'vooruit'],
    no: ['nee', 'neen', 'niet', 'geen', 'nooit', 'liever niet', 'absoluut niet', 'nee dank u', 'nee bedankt', 'stop', 'annuleer', 'laat maar', 'fout', 'klopt niet', 'dat klopt niet'],
    beside: ['alstublieft', 'alsjeblieft', 'dank', 'dankjewel', 'bedankt', 'u', 'je', 'wel', 'hoor', 'eh', 'uh', 'hm', 'dan', 'dat', 'het', 'ik', 'wil', 'heel', 'maar'],
  },
  pl: {
    yes: ['tak', 'no tak', 'oczywiście', 'jasne', 'pewnie', 'dobrze', 'ok', 'okej', 'okay', 'zgoda', 'zgadzam się', 'zgadza się', 'proszę bardzo', 'śmiało', 'dokładnie', 'potwierdzam', 'chętnie', 'w porządku', 'nie ma problemu', 'nie ma sprawy', 'czemu nie', 'dlaczego nie', 'naturalnie', 'świetnie', 'może być'],
    no: ['nie', 'nigdy', 'lepiej nie', 'raczej nie', 'absolutnie nie', 'nie dziękuję', 'stop', 'anuluj', 'proszę anulować', 'źle', 'nie zgadzam się', 'nie zgadza się'],
    beside: ['proszę', 'dziękuję', 'bardzo', 'no', 'to', 'więc', 'yyy', 'eee', 'hm', 'pan', 'pani', 'ja', 'chcę', 'poproszę', 'niech', 'ale'],
  },
  tr: {
    yes: ['evet', 'tabii', 'tabi', 'tabii ki', 'elbette', 'olur', 'tamam', 'peki', 'doğru', 'aynen', 'kesinlikle', 'lütfen yapın', 'yapın', 'yap', 'onaylıyorum', 'kabul', 'kabul ediyorum', 'hay hay', 'sorun değil', 'sorun yok', 'neden olmasın', 'he', 'ok', 'okey', 'uygun', 'uygundur'],
    no: ['hayır', 'yok', 'değil', 'olmaz', 'asla', 'istemiyorum', 'yapmayın', 'yapma', 'iptal', 'iptal edin', 'dur', 'durun', 'yanlış', 'kesinlikle hayır', 'hayır teşekkürler', 'istemem', 'boş verin'],
    beside: ['lütfen', 'teşekkürler', 'teşekkür', 'ederim', 'çok', 'iyi', 'şey', 'ee', 'hm', 'o', 'bu', 'öyle', 'zaman', 'efendim', 'ben'],
  },
  hi: {
    yes: ['हाँ', 'हां', 'हा', 'जी', 'जी हाँ', 'जी हां', 'हाँ जी', 'हां जी', 'ठीक है', 'ठीक', 'बिल्कुल', 'बिलकुल', 'ज़रूर', 'जरूर', 'सही', 'सही है', 'अच्छा', 'कर दीजिए', 'कर दो', 'कीजिए', 'करो', 'चलो', 'हो जाए', 'कोई बात नहीं', 'क्यों नहीं', 'haan', 'han', 'ha', 'ji', 'haan ji', 'ji haan', 'theek hai', 'thik hai', 'bilkul', 'zaroor', 'sahi hai', 'kar do', 'kar dijiye', 'ok', 'okay', 'ओके', 'यस', 'yes'],
    no: ['नहीं', 'नही', 'ना', 'न', 'मत', 'जी नहीं', 'बिल्कुल नहीं', 'कभी नहीं', 'रहने दो', 'रहने दीजिए', 'रद्द', 'गलत', 'ग़लत', 'मत करो', 'मत कीजिए', 'nahi', 'nahin', 'na', 'mat', 'ji nahi', 'mat karo', 'rehne do', 'galat', 'नो', 'no'],
    beside: ['कृपया', 'धन्यवाद', 'शुक्रिया', 'तो', 'है', 'हूँ', 'मैं', 'यह', 'वो', 'अच्छा', 'please', 'प्लीज़', 'प्लीज', 'dhanyavaad', 'shukriya', 'हम्म', 'hmm', 'सर', 'मैडम', 'दीजिए', 'दो'],
  },
  ja: {
    yes: ['はい', 'ええ', 'うん', 'そうです', 'そうですね', 'お願いします', 'お願い', 'お願いいたします', 'いいです', 'いいですよ', 'それでいいです', 'いいよ', '大丈夫です', '大丈夫', 'もちろん', 'もちろんです', '了解', '了解です', 'わかりました', '分かりました', '承知しました', 'オッケー', 'オーケー', 'オーケーです', 'ok', 'その通り', 'その通りです', '結構ですよ', 'ぜひ', 'よろしく', 'よろしくお願いします', '問題ありません', '問題ないです', '構いません', 'かまいません', '間違いありません', '間違いないです'],
    no: ['いいえ', 'いや', 'いえ', '違います', '違う', 'ちがいます', 'だめ', 'だめです', 'ダメ', '駄目', 'やめて', 'やめてください', 'やめます', '結構です', 'しないで', 'しないでください', '要りません', 'いりません', 'キャンセル', 'キャンセルして', 'キャンセルで', '嫌です', 'いやです', 'よくない', 'よくないです', '待って', '待ってください', 'いらない', '間違い', '間違いです', 'お願いしません'],
    beside: ['です', 'で', 'それ', 'これ', 'ありがとう', 'ありがとうございます', 'どうぞ', 'あの', 'えっと', 'ああ', 'あー', 'へえ', 'では', 'じゃあ', 'ください', 'ね', 'よ', 'が', 'を'],
  },
  zh: {
    yes: ['是', '是的', '对', '对的', '对对', '好', '好的', '好啊', '好呀', '可以', '可以的', '行', '行的', '没问题', '没关系', '当然', '当然可以', '确认', '我确认', '同意', '我同意', '嗯', '嗯嗯', '没错', '不错', '要', '要的', '麻烦你了', '为什么不', 'ok', '是啊', '就这样'],
    no: ['不', '不是', '不对', '不要', '不用', '不用了', '不行', '不可以', '不好', '不同意', '不需要', '没有', '别', '取消', '算了', '错', '错了', '不确认', '不必', '先不', '不是的'],
    beside: ['请', '谢谢', '谢谢你', '谢谢您', '吧', '了', '啊', '呀', '的', '我', '你', '您', '就', '那', '那就', '这个', '嘛', '麻烦', '哦', '呃'],
  },
};
