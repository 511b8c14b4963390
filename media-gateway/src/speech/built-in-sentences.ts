/** What the system says by itself, where an agent's owner has set no words of their own. */
export interface BuiltInSentences {
  /** The agent could not answer; the call goes on. */
  apology: string;
  /** The call ends because something failed for good. */
  givingUp: string;
  /** Said while an answer takes long. */
  filler: string;
  /** Asks whom a caller is to be transferred to whether they take the call: by key 1 or a yes. */
  takeCaller: string;
  /** The caller is told that the call is recorded, or asked whether it may be. */
  recordingNotice: string;
  recordingQuestion: string;
  /** Asks whether a value was understood, which stands for `{}`. */
  isThatRight: string;
  /** The call ends, in a language that the agent's owner has given no last words in. */
  goodbye: string;
  /** The agent does not answer, or does not speak about something. */
  refusal: string;
  /** The call is about to reach its longest duration. `{in}` is when: "in 30 seconds". */
  endsIn: string;
}

const SENTENCES: Record<string, BuiltInSentences> = {
  en: {
    apology: 'I am sorry, I had a technical problem. Could you say that again?',
    givingUp: 'I am sorry, something is not working at the moment. Please call again later.',
    filler: 'One moment.',
    takeCaller: 'Somebody is on the line for you. To take the call, press 1 or say yes.',
    recordingNotice: 'This call is recorded.',
    recordingQuestion: 'May we record this call? Please say yes or no.',
    isThatRight: 'I understood: {}. Is that right?',
    goodbye: 'Thank you for calling. Goodbye.',
    refusal: 'I am sorry, I cannot talk about that. Is there anything else I can help you with?',
    endsIn: 'This call will end {in}.',
  },
  de: {
    apology: 'Entschuldigung, ich hatte ein technisches Problem. Können Sie das bitte noch einmal sagen?',
    givingUp: 'Es tut mir leid, im Moment funktioniert etwas nicht. Bitte rufen Sie später noch einmal an.',
    filler: 'Einen Moment, bitte.',
    takeCaller:
      'Jemand möchte mit Ihnen sprechen. Um das Gespräch anzunehmen, drücken Sie die 1 oder sagen Sie ja.',
    recordingNotice: 'Dieses Gespräch wird aufgezeichnet.',
    recordingQuestion: 'Dürfen wir dieses Gespräch aufzeichnen? Bitte sagen Sie ja oder nein.',
    isThatRight: 'Ich habe verstanden: {}. Ist das richtig?',
    goodbye: 'Vielen Dank für Ihren Anruf. Auf Wiederhören.',
    refusal: 'Darüber kann ich leider nicht sprechen. Kann ich Ihnen sonst noch helfen?',
    endsIn: 'Dieses Gespräch endet {in}.',
  },
  fr: {
    apology: "Excusez-moi, j'ai eu un problème technique. Pouvez-vous répéter, s'il vous plaît ?",
    givingUp: 'Je suis désolé, quelque chose ne fonctionne pas pour le moment. Merci de rappeler plus tard.',
    filler: 'Un instant, je vous prie.',
    takeCaller: "Quelqu'un souhaite vous parler. Pour prendre l'appel, appuyez sur 1 ou dites oui.",
    recordingNotice: 'Cet appel est enregistré.',
    recordingQuestion: 'Pouvons-nous enregistrer cet appel ? Répondez par oui ou par non.',
    isThatRight: "J'ai compris : {}. Est-ce exact ?",
    goodbye: 'Merci de votre appel. Au revoir.',
    refusal: 'Je suis désolé, je ne peux pas en parler. Puis-je vous aider pour autre chose ?',
    endsIn: 'Cet appel se terminera {in}.',
  },
  es: {
    apology: 'Perdone, he tenido un problema técnico. ¿Puede repetirlo, por favor?',
    givingUp: 'Lo siento, algo no funciona en este momento. Por favor, llame más tarde.',
    filler: 'Un momento, por favor.',
    takeCaller: 'Alguien quiere hablar con usted. Para aceptar la llamada, pulse 1 o diga sí.',
    recordingNotice: 'Esta llamada se graba.',
    recordingQuestion: '¿Podemos grabar esta llamada? Diga sí o no, por favor.',
    isThatRight: 'He entendido: {}. ¿Es correcto?',
    goodbye: 'Gracias por llamar. Adiós.',
    refusal: 'Lo siento, no puedo hablar de eso. ¿Puedo ayudarle en algo más?',
    endsIn: 'Esta llamada terminará {in}.',
  },
  it: {
    apology: 'Mi scusi, ho avuto un problema tecnico. Può ripetere, per favore?',
    givingUp: 'Mi dispiace, al momento qualcosa non funziona. La preghiamo di richiamare più tardi.',
    filler: 'Un momento, per favore.',
    takeCaller: 'Qualcuno desidera parlare con lei. Per accettare la chiamata, prema 1 o dica sì.',
    recordingNotice: 'Questa chiamata viene registrata.',
    recordingQuestion: 'Possiamo registrare questa chiamata? Risponda sì o no, per favore.',
    isThatRight: 'Ho capito: {}. È corretto?',
    goodbye: 'Grazie per la chiamata. Arrivederci.',
    refusal: 'Mi dispiace, non posso parlare di questo. Posso aiutarla in altro?',
    endsIn: 'Questa chiamata terminerà {in}.',
  },
  pt: {
    apology: 'Desculpe, tive um problema técnico. Pode repetir, por favor?',
    givingUp: 'Lamento, algo não está a funcionar neste momento. Por favor, ligue mais tarde.',
    filler: 'Um momento, por favor.',
    takeCaller: 'Alguém deseja falar consigo. Para aceitar a chamada, prima 1 ou diga sim.',
    recordingNotice: 'Esta chamada é gravada.',
    recordingQuestion: 'Podemos gravar esta chamada? Diga sim ou não, por favor.',
    isThatRight: 'Percebi: {}. Está correto?',
    goodbye: 'Obrigado pela sua chamada. Até breve.',
    refusal: 'Lamento, não posso falar sobre isso. Posso ajudar em mais alguma coisa?',
    endsIn: 'Esta chamada terminará {in}.',
  },
  nl: {
    apology: 'Excuses, ik had een technisch probleem. Kunt u dat nog een keer zeggen?',
    givingUp: 'Het spijt me, er werkt op dit moment iets niet. Belt u later alstublieft nog eens.',
    filler: 'Een ogenblik, alstublieft.',
    takeCaller: 'Iemand wil u spreken. Druk op 1 of zeg ja om het gesprek aan te nemen.',
    recordingNotice: 'Dit gesprek wordt opgenomen.',
    recordingQuestion: 'Mogen wij dit gesprek opnemen? Zegt u alstublieft ja of nee.',
    isThatRight: 'Ik heb verstaan: {}. Klopt dat?',
    goodbye: 'Bedankt voor uw telefoontje. Tot ziens.',
    refusal: 'Het spijt me, daar kan ik niet over praten. Kan ik u ergens anders mee helpen?',
    endsIn: 'Dit gesprek eindigt {in}.',
  },
  pl: {
    apology: 'Przepraszam, wystąpił problem techniczny. Czy można to powtórzyć?',
    givingUp: 'Przepraszam, w tej chwili coś nie działa. Proszę zadzwonić później.',
    filler: 'Chwileczkę.',
    takeCaller: 'Ktoś chce z Państwem rozmawiać. Aby odebrać rozmowę, proszę nacisnąć 1 lub powiedzieć tak.',
    recordingNotice: 'Ta rozmowa jest nagrywana.',
    recordingQuestion: 'Czy możemy nagrać tę rozmowę? Proszę powiedzieć tak lub nie.',
    isThatRight: 'Usłyszałem: {}. Czy to się zgadza?',
    goodbye: 'Dziękuję za telefon. Do widzenia.',
    refusal: 'Przykro mi, nie mogę o tym rozmawiać. Czy mogę pomóc w czymś innym?',
    endsIn: 'Ta rozmowa zakończy się {in}.',
  },
  tr: {
    apology: 'Özür dilerim, teknik bir sorun yaşadım. Tekrar söyler misiniz?',
    givingUp: 'Üzgünüm, şu anda bir şey çalışmıyor. Lütfen daha sonra tekrar arayın.',
    filler: 'Bir saniye lütfen.',
    takeCaller: "Biri sizinle görüşmek istiyor. Görüşmeyi kabul etmek için 1'e basın veya evet deyin.",
    recordingNotice: 'Bu görüşme kaydedilmektedir.',
    recordingQuestion: 'Bu görüşmeyi kaydedebilir miyiz? Lütfen evet veya hayır deyin.',
    isThatRight: 'Şunu anladım: {}. Doğru mu?',
    goodbye: 'Aradığınız için teşekkürler. Hoşça kalın.',
    refusal: 'Üzgünüm, bu konuda konuşamam. Size başka bir konuda yardımcı olabilir miyim?',
    endsIn: 'Bu görüşme {in} sona erecek.',
  },
  hi: {
    apology: 'माफ़ कीजिए, एक तकनीकी समस्या हुई। क्या आप दोबारा कह सकते हैं?',
    givingUp: 'माफ़ कीजिए, इस समय कुछ काम नहीं कर रहा है। कृपया बाद में फिर से कॉल करें।',
    filler: 'एक क्षण, कृपया।',
    takeCaller: 'कोई आपसे बात करना चाहता है। कॉल लेने के लिए 1 दबाएँ या हाँ कहें।',
    recordingNotice: 'यह कॉल रिकॉर्ड की जा रही है।',
    recordingQuestion: 'क्या हम यह कॉल रिकॉर्ड कर सकते हैं? कृपया हाँ या नहीं कहिए।',
    isThatRight: 'मैंने समझा: {}। क्या यह सही है?',
    goodbye: 'कॉल करने के लिए धन्यवाद। नमस्ते।',
    refusal: 'माफ़ कीजिए, मैं इस बारे में बात नहीं कर सकता। क्या मैं किसी और चीज़ में मदद कर सकता हूँ?',
    endsIn: 'यह कॉल {in} समाप्त हो जाएगी।',
  },
  ja: {
    apology: '申し訳ございません、技術的な問題が発生しました。もう一度おっしゃっていただけますか。',
    givingUp: '申し訳ございません、ただいま問題が発生しております。後ほどおかけ直しください。',
    filler: '少々お待ちください。',
    takeCaller: 'お話ししたい方がお待ちです。電話に出る場合は、1を押すか、はいとおっしゃってください。',
    recordingNotice: 'この通話は録音されます。',
    recordingQuestion: 'この通話を録音してもよろしいですか。「はい」か「いいえ」でお答えください。',
    isThatRight: '{}、でよろしいですか。',
    goodbye: 'お電話ありがとうございました。失礼いたします。',
    refusal: '申し訳ございませんが、その件についてはお話しできません。ほかにご用件はございますか。',
    endsIn: 'この通話は{in}に終了します。',
  },
  zh: {
    apology: '抱歉，刚才出了技术问题。请您再说一遍好吗？',
    givingUp: '抱歉，系统目前出现故障。请您稍后再来电。',
    filler: '请稍等。',
    takeCaller: '有人想和您通话。如需接听，请按1或说是。',
    recordingNotice: '本次通话将被录音。',
    recordingQuestion: '我们可以对本次通话录音吗？请回答可以或不可以。',
    isThatRight: '我听到的是：{}。对吗？',
    goodbye: '感谢您的来电，再见。',
    refusal: '抱歉，这个话题我不方便谈。还有什么可以帮您的吗？',
    endsIn: '本次通话将在{in}结束。',
  },
};

/** The sentences of a BCP 47 tag's language; those of English where there are none. */
export function builtInSentences(language: string): BuiltInSentences {
  return SENTENCES[baseOf(language)] ?? SENTENCES['en']!;
}

function baseOf(language: string): string {
  return language.split('-', 1)[0]!.toLowerCase();
}

/** @param seconds until the call ends; told to five seconds below a minute, to a minute from there on */
export function endsInSentence(language: string, seconds: number): string {
  const [amount, unit] =
    seconds < 60
      ? [Math.max(5, Math.round(seconds / 5) * 5), 'second' as const]
      : [Math.round(seconds / 60), 'minute' as const];
  // A language without a sentence of its own gets the English one, whole.
  const tongue = baseOf(language) in SENTENCES ? language : 'en';
  const when = new Intl.RelativeTimeFormat(tongue, { numeric: 'always' }).format(amount, unit);
  return builtInSentences(language).endsIn.replace('{in}', when);
}
