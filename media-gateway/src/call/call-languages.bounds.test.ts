import t from 'tap';
import type { AgentConfig } from '@parley/shared/contracts/agent-config';
import type { SessionPlanWire } from '@parley/shared/contracts/session-plan';
import { builtInSentences } from '../speech/built-in-sentences.ts';
import { agentIn, CallLanguages, listensAlike } from './call-languages.ts';
import { salesDestination, wirePlan } from './fakes.ts';

/** An agent that speaks English, German and French, and of which the caller's language is looked for. */
const planOf = (change: (config: AgentConfig, plan: SessionPlanWire) => void = () => {}) =>
  wirePlan((plan, config) => {
    config.language.additional = ['de-DE', 'fr-FR'];
    config.language.detection = 'every_turn';
    const other = (kind: 'stt' | 'tts', tag: string) => [
      { ...plan[kind][0]!, id: `${kind}-${tag}`, language: tag },
    ];
    plan.languages = {
      'de-DE': { stt: other('stt', 'de'), tts: other('tts', 'de'), greeting: 'Guten Tag.' },
      'fr-FR': { stt: plan.stt, tts: other('tts', 'fr'), greeting: null },
    };
    change(config, plan);
  });

function languages(change?: (config: AgentConfig, plan: SessionPlanWire) => void, found?: string) {
  const plan = planOf(change);
  const told: unknown[] = [];
  const changes: unknown[] = [];
  const asked: unknown[] = [];
  const call = new CallLanguages({
    plan,
    variables: plan.variables,
    detect: (text, among) => (asked.push([text, among]), Promise.resolve(found)),
    emit: (_, data) => void told.push(data),
    onChanged: (how) => void changes.push(how),
  });
  return { plan, call, told, changes, asked };
}

void t.test('a call begins in the language that its variable names, if the agent has it', (t) => {
  const begun = (language?: string) => {
    const one = languages((_, plan) => (plan.variables = language === undefined ? {} : { language }));
    const other = one.call.begin();
    one.call.tellBegun();
    return [other, one.call.current, one.told.length];
  };
  t.same(begun(), [false, 'en-US', 0]);
  t.same(begun('de-DE'), [true, 'de-DE', 1]);
  t.same(begun(' DE '), [true, 'de-DE', 1], 'or one of the same language');
  t.same(begun('de_AT'), [true, 'de-DE', 1]);
  t.same(begun('en-GB'), [false, 'en-US', 0]);
  t.same(begun('sv'), [false, 'en-US', 0]);
  t.end();
});

void t.test('a change takes voice, ears and texts along, and is told once', (t) => {
  const { plan, call, told, changes } = languages();
  t.ok(call.change('de', 'tool'));
  t.match(plan, { stt: [{ id: 'stt-de' }], tts: [{ id: 'tts-de' }], agent: { greeting: 'Guten Tag.' } });
  t.ok(call.change('de-DE', 'tool'), 'it is spoken already');
  t.notOk(call.change('sv', 'tool'));
  t.ok(call.change('fr-FR', 'detection'));
  t.ok(call.change('en-US', 'tool'));
  t.match(plan, { stt: [{ id: 'stt_1' }], agent: { greeting: 'Hello there friend.' } }, 'as it was');
  t.same(told, [
    { language: 'de-DE', previous_language: 'en-US', changed_by: 'tool' },
    { language: 'fr-FR', previous_language: 'de-DE', changed_by: 'detection' },
    { language: 'en-US', previous_language: 'fr-FR', changed_by: 'tool' },
  ]);
  t.same(changes, [{ sameEars: false }, { sameEars: false }, { sameEars: false }]);
  t.end();
});

void t.test('three words show a language, of fewer two turns must agree', (t) => {
  const { call } = languages();
  void call.heard('Ja bitte', 'de');
  t.equal(call.current, 'en-US');
  void call.heard('oui', 'fr');
  t.equal(call.current, 'en-US', 'they do not');
  void call.heard('1 2 3 #', 'fr');
  t.equal(call.current, 'en-US', 'digits are of no language');
  void call.heard('oui', 'fr');
  t.equal(call.current, 'fr-FR');
  void call.heard('Das ist gut', 'de');
  t.equal(call.current, 'de-DE');
  void call.heard('Det är bra', 'sv');
  t.equal(call.current, 'de-DE', 'which the agent does not have');
  const other = languages();
  void other.call.heard('こんにちは', 'de');
  t.equal(other.call.current, 'de-DE', 'four characters of a script without spaces are as many');
  const few = languages();
  void few.call.heard('はい', 'de');
  t.equal(few.call.current, 'en-US');
  t.end();
});

void t.test(
  'a language that the STT does not tell is asked for, and late answers do not count',
  async (t) => {
    const { call, asked } = languages(undefined, 'de');
    const first = call.heard('Das ist gut', undefined);
    t.same(asked, [['Das ist gut', ['en-US', 'de-DE', 'fr-FR']]]);
    await first;
    t.equal(call.current, 'de-DE');
    const late = languages(undefined, 'de');
    const slow = late.call.heard('Das ist gut', undefined);
    void late.call.heard('And now what', 'en');
    await slow;
    t.equal(late.call.current, 'en-US');
    const none = languages();
    await none.call.heard('Das ist gut', undefined);
    t.equal(none.call.current, 'en-US');
  },
);

void t.test('an agent may look at the first turns only, or not at all', (t) => {
  const first = languages((config) => (config.language.detection = 'first_turn'));
  for (const word of ['ja', 'yes', 'oui'])
    void first.call.heard(word, word === 'ja' ? 'de' : word === 'oui' ? 'fr' : 'en');
  void first.call.heard('Das ist gut', 'de');
  t.equal(first.call.current, 'en-US', 'three turns have shown none');
  const telling = languages((config) => (config.language.detection = 'first_turn'));
  void telling.call.heard('That is good', 'en');
  void telling.call.heard('Das ist gut', 'de');
  t.equal(telling.call.current, 'en-US', 'the first has shown it');
  const off = languages((config) => (config.language.detection = 'off'));
  t.notOk(off.call.detects);
  void off.call.heard('Das ist gut', 'de');
  t.equal(off.call.current, 'en-US');
  const alone = languages((config, plan) => {
    config.language.additional = [];
    plan.languages = {};
  });
  t.notOk(alone.call.detects, 'there is one alone');
  t.end();
});

void t.test('another agent goes on in the language that is spoken, if it has that', (t) => {
  const { call, plan } = languages();
  call.change('de', 'tool');
  Object.assign(plan, planOf());
  t.ok(call.agentChanged('de-DE'));
  t.equal(call.current, 'de-DE');
  Object.assign(plan, planOf());
  t.notOk(call.agentChanged('sv'));
  t.equal(call.current, 'en-US');
  t.notOk(call.agentChanged('en-GB'));
  t.end();
});

void t.test('the same ears are the same STT, and what it is told', (t) => {
  const plan = planOf();
  t.ok(listensAlike(plan, planOf()));
  const other = (change: (config: AgentConfig, plan: SessionPlanWire) => void) =>
    listensAlike(plan, planOf(change));
  t.notOk(other((_, plan) => (plan.stt[0]!.id = 'other')));
  t.notOk(other((_, plan) => (plan.stt[0]!.model = 'other')));
  t.notOk(other((_, plan) => (plan.stt[0]!.language = 'de')));
  t.notOk(other((config) => (config.stt.keywords = ['Acme'])));
  t.notOk(other((config) => (config.language.primary = 'en-GB')));
  t.ok(other((_, plan) => (plan.tts[0]!.id = 'other')));
  t.end();
});

void t.test('texts of the owner are in the first language: in others the system has its own', (t) => {
  const { agent } = planOf((config) => {
    config.filler.messages = ['One moment.'];
    config.silence.reminder_messages = ['Hello?'];
    config.silence.end_message = 'Bye.';
    config.end_call.message = '';
    config.greeting.audio_asset_id = 'aud_1';
    config.transfer.destinations = [salesDestination({ announce_to_caller: 'I connect you.' })];
  });
  const german = agentIn(agent, 'de-DE', 'Guten Tag.');
  t.equal(german.greeting, 'Guten Tag.');
  t.match(german.config, {
    language: { primary: 'de-DE', additional: ['en-US'] },
    greeting: { audio_asset_id: null, mode: 'agent_first' },
    filler: { messages: null },
    silence: { reminder_messages: [], end_message: builtInSentences('de').goodbye },
    end_call: { message: '' },
    transfer: { destinations: [{ id: 'sales', announce_to_caller: '', failure_message: '' }] },
  });
  const french = agentIn(agent, 'fr-FR', null);
  t.equal(french.greeting, '');
  t.equal(french.config.greeting.mode, 'agent_first_generated', 'the model greets');
  t.equal(
    agentIn({ ...agent, greeting: '' }, 'fr-FR', null).config.greeting.mode,
    'agent_first',
    'if anybody does',
  );
  const waits = {
    ...agent,
    config: { ...agent.config, greeting: { ...agent.config.greeting, mode: 'caller_first' as const } },
  };
  t.equal(agentIn(waits, 'fr-FR', null).config.greeting.mode, 'caller_first');
  t.end();
});
