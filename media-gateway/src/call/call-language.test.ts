import t from 'tap';
import { ProviderError } from '@parley/shared/errors/provider-error';
import { builtInSentences, endsInSentence } from '../speech/built-in-sentences.ts';
import { BACKCHANNELS, STOPS } from '../turns/phrase-tables.ts';
import { backchannelPhrases, stopPhrases, toWords } from '../turns/phrases.ts';
import { fakeCall, wirePlan } from './fakes.ts';

const LANGUAGES = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'pl', 'tr', 'hi', 'ja', 'zh'];

const planIn = (language: string, messages: string[] | null = null) =>
  wirePlan((_plan, config) => {
    config.language.primary = language;
    config.filler.messages = messages;
  });

void t.test('twelve languages have every sentence and every list of phrases, each its own', (t) => {
  for (const part of ['apology', 'givingUp', 'filler', 'goodbye', 'endsIn', 'refusal'] as const)
    t.equal(new Set(LANGUAGES.map((language) => builtInSentences(language)[part])).size, 12, part);
  for (const table of [BACKCHANNELS, STOPS]) t.same(Object.keys(table).sort(), [...LANGUAGES].sort());
  t.same(
    [
      endsInSentence('en-US', 58),
      endsInSentence('pl', 60),
      endsInSentence('ja', 300),
      endsInSentence('fil', 2),
    ],
    [
      'This call will end in 60 seconds.',
      'Ta rozmowa zakończy się za 1 minutę.',
      'この通話は5 分後に終了します。',
      'This call will end in 5 seconds.',
    ],
  );
  t.same(builtInSentences('de-AT'), builtInSentences('de'));
  t.same(builtInSentences('fil'), builtInSentences('en'), 'English where there are none');
  t.end();
});

void t.test('backchannels and stop phrases are those of the language', (t) => {
  const heard: [string, string, string][] = [
    ['de-DE', 'Ach so.', 'Warten Sie mal'],
    ['fr', 'Je vois.', 'Attendez, non'],
    ['es', 'Ya veo', 'Un momento por favor'],
    ['it', 'Ho capito.', 'Aspetta un attimo'],
    ['pt-BR', 'Tá bom.', 'Espera aí'],
    ['nl', 'Oké.', 'Wacht even graag'],
    ['pl', 'Rozumiem.', 'Chwileczkę proszę'],
    ['tr', 'Hı hı.', 'Bir dakika lütfen'],
    ['hi', 'हम्म', 'रुकिए ज़रा'],
    ['ja', 'なるほど。', 'ちょっと待ってください'],
    ['zh', '嗯嗯。', '等一下，我想说'],
  ];
  for (const [language, assent, stop] of heard) {
    t.ok(backchannelPhrases(language, null).covers(toWords(assent), false), assent);
    t.type(stopPhrases(language, null).startOf(toWords(stop)), 'string', stop);
    t.notOk(backchannelPhrases(language, null).covers(toWords(stop), false), stop);
  }
  t.end();
});

void t.test('the model is told the language', async (t) => {
  const call = fakeCall({ plan: planIn('pt-BR') });
  await call.wait(1600);
  await call.hears('Bom dia para todos');
  await call.wait(400);
  t.match(call.requests[0]!.messages[0], { role: 'system', content: /The call is in Brazilian Portuguese/ });
  call.call.end({ ended_by: 'api', hangup_reason: 'api_hangup' });
});

void t.test('a tag with parts that mean nothing is its language', async (t) => {
  const plan = wirePlan((wire, config) => {
    config.language.primary = 'de-AT-CH';
    wire.agent.system_prompt = 'Today is {{system.weekday}}.';
  });
  const call = fakeCall({ plan });
  await call.wait(1600);
  await call.hears('Wann schließen Sie denn?');
  await call.wait(400);
  t.match(call.requests[0]!.messages[0]!.content, /^Today is \w+tag\.[^]*The call is in German:/);
  call.call.end({ ended_by: 'api', hangup_reason: 'api_hangup' });
});

void t.test('what the system says by itself is in the language of the agent', async (t) => {
  const down = new ProviderError('fake-llm', 'unavailable', 'down');
  const failing = fakeCall({ plan: planIn('de-DE'), llm: () => down });
  await failing.wait(1600);
  for (let turn = 0; turn < 2; turn++) {
    await failing.hears('Wann schließen Sie denn?');
    await failing.wait(7000);
  }
  await failing.call.ended;
  const { apology, givingUp, filler } = builtInSentences('de');
  t.same(
    failing
      .texts()
      .filter((text) => text.startsWith('agent'))
      .slice(-2),
    [`agent: ${apology}`, `agent: ${givingUp}`],
  );

  const slow = (messages: string[] | null) =>
    fakeCall({
      plan: planIn('de-DE', messages),
      llm: () => ({ events: [{ type: 'text', text: 'Um zehn.' }], afterMs: 3000 }),
    });
  for (const [messages, said] of [
    [null, filler],
    [['Moment!'], 'Moment!'],
  ] as const) {
    const call = slow(messages === null ? null : [...messages]);
    await call.wait(1600);
    await call.hears('Wann schließen Sie denn?');
    await call.wait(3000);
    t.ok(call.spoken.includes(said), `${said} and not the English one`);
    call.call.end({ ended_by: 'api', hangup_reason: 'api_hangup' });
  }
});
