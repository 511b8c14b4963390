import t from 'tap';
import type { AnswerClass } from '@parley/shared/contracts/answer-detection';
import {
  ANSWER_STATES,
  ANSWER_TABLE,
  AnswerDetector,
  CORRECTABLE_MS,
  DOUBTFUL_PAUSE_MS,
  PAUSE_MS,
  SILENCE_MS,
  type AnswerOptions,
} from './answer-detector.ts';
import { ANSWER_PHRASES } from './answer-phrase-tables.ts';
import { AnswerPhrases } from './answer-phrases.ts';

const TICK_MS = 20;

/** Somebody answers, and says or does things in an order. */
class Answer {
  readonly detector: AnswerDetector;
  now = 0;
  greetedAt: number | undefined;
  readonly verdicts: { class: AnswerClass; by: string; at: number }[] = [];
  #lastVoiceAt = -Infinity;

  constructor(options: Partial<AnswerOptions> = {}) {
    this.detector = new AnswerDetector({ language: 'en-US', deadlineMs: 6000, ...options }, 0);
  }

  take({ greet, verdict }: ReturnType<AnswerDetector['passed']>): this {
    if (greet) this.greetedAt ??= this.now;
    if (verdict) this.verdicts.push({ class: verdict.class, by: verdict.by, at: this.now });
    return this;
  }

  silence(ms: number): this {
    for (let passed = 0; passed < ms; passed += TICK_MS) {
      this.now += TICK_MS;
      this.take(this.detector.passed(this.now, this.#lastVoiceAt));
    }
    return this;
  }

  voice(ms: number): this {
    for (let passed = 0; passed < ms; passed += TICK_MS) {
      this.now += TICK_MS;
      this.#lastVoiceAt = this.now;
      this.take(this.detector.passed(this.now, this.#lastVoiceAt));
    }
    return this;
  }

  /** Words that the STT knows by the end of the voice. */
  says(text: string, ms: number): this {
    return this.voice(ms).take(this.detector.words(text, false));
  }

  get classes(): AnswerClass[] {
    return this.verdicts.map((verdict) => verdict.class);
  }
}

void t.test('the table leads on, and nothing leaves its end', async (t) => {
  const order = (state: string) => ANSWER_STATES.findIndex((one) => one === state);
  for (const [stimulus, moves] of Object.entries(ANSWER_TABLE))
    for (const [state, move] of Object.entries<{ does: string; next?: string }>(moves)) {
      if (state === 'settled') t.same(move, { does: 'ignore' }, `${stimulus} when it is known`);
      else if (move.does === 'greet')
        t.ok(order(state) < order('greeted') && move.next === 'greeted', `${stimulus} in ${state}`);
    }
});

void t.test('a person is greeted after a pause that depends on what was said', async (t) => {
  const end = (answer: Answer) => answer.greetedAt! - (answer.now - 2000);
  t.equal(end(new Answer().silence(400).says('Hello?', 500).silence(2000)), PAUSE_MS + 10);
  const doubtful = new Answer().silence(400).says("You've reached Mary", 1400).silence(2000);
  t.equal(end(doubtful), DOUBTFUL_PAUSE_MS);
  t.same(doubtful.classes, [], 'and is not known yet');
  const long = new Answer().says('Good morning, Smith and Sons, Dave speaking, how can I help?', 4200);
  t.equal(end(long.silence(2000)), DOUBTFUL_PAUSE_MS);
  t.same(long.classes, ['human']);
});

void t.test('a click is nobody; silence is greeted', async (t) => {
  const answer = new Answer().silence(300).voice(60).silence(1500);
  t.equal(answer.greetedAt, SILENCE_MS);
  t.same(answer.classes, []);
});

void t.test('time is up', async (t) => {
  const quiet = new Answer({ deadlineMs: 2000, silenceMs: 5000 }).silence(2500);
  t.match(quiet.verdicts, [{ class: 'unknown', by: 'deadline', at: 2000 }]);
  t.equal(quiet.greetedAt, 2000);
  const talker = new Answer({ deadlineMs: 3000 }).says('Well, I was just about to', 2000).voice(2000);
  t.match(talker.verdicts, [{ class: 'human', by: 'deadline', at: 3000 }]);
  t.equal(talker.greetedAt, undefined, 'who still speaks is heard out');
  t.ok(talker.silence(1200).greetedAt !== undefined);
  const music = new Answer({ deadlineMs: 3000 }).voice(4000);
  t.match(music.verdicts, [{ class: 'unknown', by: 'deadline', at: 3000 }]);
  t.equal(music.greetedAt, 3000, 'what never says a word is spoken over');
});

void t.test('beeps', async (t) => {
  const beep = (answer: Answer) => answer.take(answer.detector.beep(answer.now, 1000, 400));
  t.same(beep(new Answer().voice(2000).silence(300)).classes, ['voicemail'], 'behind a greeting');
  t.same(beep(new Answer().silence(1400)).classes, ['voicemail'], 'alone');
  t.same(beep(new Answer().silence(500)).classes, [], 'of the line');
  t.same(beep(new Answer().says('Hello?', 500).silence(600)).classes, ['human'], 'of an oven');
  const hint = new Answer().says("Hi! You've reached Mary", 2000).silence(900);
  t.same(beep(hint).classes, ['voicemail'], 'of a recorder that the agent has begun to greet');
});

void t.test("carriers' verdicts", async (t) => {
  const told = (answer: Answer, verdict: 'human' | 'machine', tone = false) =>
    answer.take(answer.detector.carrier(verdict, tone));
  t.same(told(new Answer().says('Hello?', 500), 'machine').silence(1500).classes, ['human']);
  t.same(told(new Answer().voice(6200), 'machine').classes.at(-1), 'voicemail', 'nobody talks like that');
  t.same(told(new Answer().voice(3000), 'machine', true).classes, ['voicemail']);
  const person = new Answer().says('Hello?', 500).silence(600);
  t.same(told(person, 'machine', true).classes, ['human'], 'of a person whom the agent talks to');
  t.same(told(new Answer().says("You've reached Mary", 1400), 'human').silence(480).greetedAt, 1860);
});

void t.test('what is heard of a person later is no machine; what a machine says is', async (t) => {
  const person = new Answer().says('Hello?', 500).silence(1000);
  person.says("Hello? I'm not available right now, I'll get back to you.", 2500).silence(1000);
  t.same(person.classes, ['human']);
  const machine = new Answer()
    .says('Hi!', 500)
    .silence(600)
    .says('Hi! Leave a message after the tone.', 2500);
  t.same(machine.classes, ['human', 'voicemail']);
  const late = new Answer().says('Hi!', 500).silence(CORRECTABLE_MS).says('After the tone', 2500);
  t.same(late.classes, ['human'], 'nor what is said in the middle of a conversation');
});

void t.test('standard wordings in every language of the tables', async (t) => {
  const examples: Record<string, Record<'voicemail' | 'screening' | 'ivr' | 'person', string>> = {
    en: {
      voicemail:
        'The person you are trying to reach is not available. At the tone, please record your message.',
      screening: "Hi, if you record your name and reason for calling, I'll see if this person is available.",
      ivr: 'Thank you for calling. For English, press one.',
      person: "He's out. Would you like to leave a message?",
    },
    es: {
      voicemail: 'En este momento no puedo atenderle. Deje su mensaje después de la señal.',
      screening: 'Por favor, diga su nombre y el motivo de la llamada.',
      ivr: 'Para ventas, pulse uno. Para soporte, pulse dos.',
      person: 'No está. ¿Quiere dejar un mensaje?',
    },
    fr: {
      voicemail: 'Bonjour, je ne suis pas disponible. Laissez-moi un message après le bip.',
      screening: 'Veuillez indiquer votre nom et le motif de votre appel.',
      ivr: 'Pour le service client, tapez 1.',
      person: 'Il est sorti. Voulez-vous laisser un message ?',
    },
    de: {
      voicemail: 'Ich bin zurzeit nicht da. Bitte sprechen Sie nach dem Signalton.',
      screening: 'Bitte nennen Sie Ihren Namen und den Grund Ihres Anrufs.',
      ivr: 'Für den Vertrieb drücken Sie bitte die 1.',
      person: 'Er ist nicht da. Möchten Sie eine Nachricht hinterlassen?',
    },
    pt: {
      voicemail: 'Sua chamada está sendo encaminhada para a caixa postal. Deixe seu recado após o sinal.',
      screening: 'Por favor, diga seu nome e o motivo da ligação.',
      ivr: 'Para vendas, digite 1.',
      person: 'Ele saiu. Quer deixar um recado?',
    },
    it: {
      voicemail: 'Risponde la segreteria telefonica. Lasciate un messaggio dopo il segnale acustico.',
      screening: 'Dica il suo nome e il motivo della chiamata.',
      ivr: 'Per le vendite, prema uno.',
      person: 'Non è in casa. Vuole lasciare un messaggio?',
    },
    nl: {
      voicemail: 'Ik ben niet bereikbaar. Spreek een bericht in na de piep.',
      screening: 'Zeg uw naam en de reden van uw gesprek.',
      ivr: 'Voor verkoop, toets 1.',
      person: 'Hij is er niet. Wilt u een bericht achterlaten?',
    },
    pl: {
      voicemail: 'Nie mogę odebrać telefonu. Proszę zostawić wiadomość po sygnale.',
      screening: 'Proszę podać imię i powód połączenia.',
      ivr: 'Aby połączyć się z konsultantem, wybierz 2.',
      person: 'Nie ma go. Chce pan zostawić wiadomość?',
    },
    tr: {
      voicemail: 'Aradığınız kişiye şu anda ulaşılamıyor. Sinyal sesinden sonra mesajınızı bırakın.',
      screening: 'Lütfen adınızı ve arama nedeninizi söyleyin.',
      ivr: "Satış için 1'e basın.",
      person: 'Evde yok. Mesaj bırakmak ister misiniz?',
    },
    sv: {
      voicemail: 'Jag kan inte svara just nu. Lämna ett meddelande efter tonen.',
      screening: 'Säg ditt namn och varför du ringer.',
      ivr: 'För kundtjänst, tryck 1.',
      person: 'Han är ute. Vill du lämna ett meddelande?',
    },
    ru: {
      voicemail: 'Абонент не отвечает. Оставьте сообщение после сигнала.',
      screening: 'Назовите ваше имя и причину звонка.',
      ivr: 'Для связи с оператором нажмите 1.',
      person: 'Его нет. Хотите оставить сообщение?',
    },
    hi: {
      voicemail: 'कृपया बीप के बाद अपना संदेश छोड़ें।',
      screening: 'कृपया अपना नाम और कारण बताएं।',
      ivr: 'हिंदी के लिए 1 दबाएं।',
      person: 'वे नहीं हैं। आप कौन बोल रहे हैं?',
    },
    ja: {
      voicemail: 'ただいま電話に出ることができません。発信音の後にメッセージをお願いします。',
      screening: 'お名前とご用件をお話しください。',
      ivr: 'ご予約の方は1を押してください。',
      person: 'はい、どちら様ですか。',
    },
    zh: {
      voicemail: '您拨打的用户暂时无法接听，请在嘀声后留言。',
      screening: '请说出您的姓名和来电原因。',
      ivr: '人工服务请按0。',
      person: '您好，请问您哪位？',
    },
    ar: {
      voicemail: 'اترك رسالتك بعد سماع الصافرة',
      screening: 'من فضلك قل اسمك وسبب الاتصال',
      ivr: 'للغة العربية اضغط 1',
      person: 'ليس هنا. هل تريد ترك رسالة؟',
    },
  };
  t.same(Object.keys(examples).sort(), Object.keys(ANSWER_PHRASES).sort());
  for (const [language, said] of Object.entries(examples)) {
    const phrases = new AnswerPhrases(language);
    t.ok(phrases.read(said.voicemail).voicemail, `${language}: voicemail`);
    t.ok(phrases.read(said.screening).screening, `${language}: screening`);
    t.ok(phrases.read(said.ivr).ivr, `${language}: menu`);
    const person = phrases.read(said.person);
    t.match(person, { voicemail: undefined, screening: undefined, ivr: undefined }, `${language}: person`);
    t.ok(person.hints.length < 2);
  }
  t.ok(
    new AnswerPhrases('fi-FI').read(examples['de']!['voicemail']).voicemail,
    'without a table, in any of them',
  );
  t.ok(new AnswerPhrases('de-DE').read(examples['en']!['voicemail']).voicemail, 'in English everywhere');
});
