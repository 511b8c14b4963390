import t from 'tap';
import type { AgentConfig } from '@parley/shared/contracts/agent-config';
import type { SessionPlanWire } from '@parley/shared/contracts/session-plan';
import { builtInSentences } from '../speech/built-in-sentences.ts';
import { fakeCall, wirePlan, type LlmScript } from './fakes.ts';

const planIn = (
  change: (config: AgentConfig, plan: SessionPlanWire) => void = () => {},
  variables: Record<string, string> = {},
) =>
  wirePlan((plan, config) => {
    const other = (kind: 'stt' | 'tts', tag: string) => [
      { ...plan[kind][0]!, id: `${kind}-${tag}`, language: tag },
    ];
    config.language.additional = ['de-DE', 'fr-FR'];
    plan.languages = {
      'de-DE': { stt: other('stt', 'de'), tts: other('tts', 'de'), greeting: 'Guten Tag, {{name}}.' },
      'fr-FR': { stt: other('stt', 'fr'), tts: other('tts', 'fr'), greeting: null },
    };
    plan.variables = variables;
    change(config, plan);
  });

/** Answers in the language that the prompt asks for, and tells of the greeting. */
const llm: LlmScript = ({ messages }) => {
  const german = String(messages[0]!.content).includes('The call is in German');
  const french = String(messages[0]!.content).includes('The call is in French');
  return {
    events: [{ type: 'text', text: german ? 'Das kostet 5 €.' : french ? 'Très bien.' : 'That is $5.' }],
  };
};
const end = { ended_by: 'api', hangup_reason: 'api_hangup' } as const;
const changes = (call: ReturnType<typeof fakeCall>) =>
  call.events.filter(({ type }) => type === 'language').map(({ data }) => data);

void t.test('a caller who speaks another language is understood, answered and spoken to in it', async (t) => {
  const call = fakeCall({
    plan: planIn((config) => {
      config.language.detection = 'every_turn';
      config.filler.after_ms = 500;
      config.filler.messages = ['One moment.'];
    }),
    llm: (request) => {
      const answer = llm(request);
      return 'events' in answer ? { ...answer, afterMs: 1200 } : answer;
    },
  });
  await call.wait(1600);
  const says = async (text: string, language: string | undefined) => {
    await call.wait(400, true);
    await call.wait(300);
    call.stt.onTurnEnd({ text, confidence: 0.9, endMs: undefined, language });
    await call.wait(5000);
  };
  await says('Okay.', 'de');
  t.same(changes(call), [], 'one word is not enough');
  await says('How much is that please?', 'en');
  t.same(changes(call), []);
  await says('Was kostet das denn?', 'de');
  t.same(changes(call), [{ language: 'de-DE', previous_language: 'en-US', changed_by: 'detection' }]);
  t.same(call.spoken.slice(-2), [
    `(tts-de) ${builtInSentences('de').filler}`,
    '(tts-de) Das kostet fünf Euro.',
  ]);
  t.match(call.turns().at(-1), { role: 'agent', text: /Das kostet 5 €\.$/ });
  t.equal(call.listeners.at(-1), 'stt-de', 'and the STT is that of the language');
  t.equal(call.sttFrames.length, call.listeners.length);
  await says('Merci.', 'fr');
  await says('Oui.', 'fr');
  t.match(changes(call).slice(1), [{ language: 'fr-FR' }], 'two turns that agree are enough');
  await says('And now in English?', 'en-GB');
  t.match(changes(call).slice(2), [{ language: 'en-US', previous_language: 'fr-FR' }]);
  t.equal(call.spoken.at(-1), '(tts_1) That is five dollars.');
  call.call.end(end);
  t.equal((await call.call.ended).language, 'en-US');
});

void t.test(
  'the first turn alone decides, where it is asked for, and the text where the STT tells nothing',
  async (t) => {
    const asked: [string, readonly string[]][] = [];
    const call = fakeCall({
      plan: planIn((config) => void (config.language.detection = 'first_turn')),
      llm,
      detect: async (text, among) => {
        asked.push([text, among]);
        return 'de';
      },
    });
    await call.wait(1600);
    await call.hears('Was kostet das denn?');
    await call.wait(2000);
    t.same(asked, [['Was kostet das denn?', ['en-US', 'de-DE', 'fr-FR']]]);
    t.match(changes(call), [{ language: 'de-DE', changed_by: 'detection' }]);
    t.match(call.texts().at(-1), 'agent: Das kostet 5 €.');
    await call.hears('And now in English please');
    await call.wait(2000);
    t.equal(asked.length, 1);
    t.equal(changes(call).length, 1);
    call.call.end(end);
  },
);

void t.test('where nothing is to be detected, the caller asks for another language', async (t) => {
  const call = fakeCall({
    plan: planIn((config) => void (config.language.detection = 'off')),
    llm,
    detect: async () => t.fail('not asked') as never,
  });
  await call.wait(1600);
  await call.hears('Was kostet das denn?');
  await call.wait(1000);
  t.same(changes(call), []);
  t.ok(call.requests[0]!.tools.some(({ name }) => name === 'set_language'));
  call.call.end(end);
});

void t.test('the model changes the language, and goes on in the other voice within its reply', async (t) => {
  let asked = 0;
  const call = fakeCall({
    plan: planIn(),
    llm: (request) =>
      ++asked === 1
        ? {
            events: [
              { type: 'text', text: 'Of course. ' },
              {
                type: 'tool_call',
                call: { id: '1', name: 'set_language', arguments: '{"language":"de-DE"}' },
              },
            ],
          }
        : llm(request),
  });
  await call.wait(1600);
  await call.hears('Can we speak German?');
  await call.wait(4000);
  t.match(call.requests[0]!.tools.find(({ name }) => name === 'set_language')?.parameters, {
    properties: { language: { enum: ['en-US', 'de-DE', 'fr-FR'] } },
  });
  t.same(call.spoken.slice(1), ['Of course.', '(tts-de) Das kostet fünf Euro.']);
  t.equal(call.texts().at(-1), 'agent: Of course. Das kostet 5 €.');
  t.match(changes(call), [{ language: 'de-DE', previous_language: 'en-US', changed_by: 'tool' }]);
  await call.wait(200);
  t.equal(call.listeners.at(-1), 'stt-de');
  call.call.end(end);
});

void t.test('a call begins in the language that its variable names, with the greeting of that', async (t) => {
  const german = fakeCall({ plan: planIn(undefined, { language: 'DE', name: 'Frau Lang' }), llm });
  await german.wait(1600);
  t.same(german.spoken, ['(tts-de) Guten Tag, Frau Lang.']);
  t.same(changes(german), [{ language: 'de-DE', previous_language: 'en-US', changed_by: 'variable' }]);
  t.same(german.types().slice(0, 2), ['call_started', 'language']);
  t.ok(german.listeners.every((name) => name === 'stt-de'));
  german.call.end(end);

  const french = fakeCall({ plan: planIn(undefined, { language: 'fr' }), llm });
  await french.wait(1600);
  t.same(french.spoken, ['(tts-fr) Très bien.'], 'without one in the language, the model greets');
  french.call.end(end);

  const unknown = fakeCall({ plan: planIn(undefined, { language: 'Klingon' }), llm });
  await unknown.wait(1600);
  t.same(unknown.spoken, ['Hello there friend.']);
  unknown.call.end(end);
});

void t.test("the owner's own sentences are not said in the wrong language", async (t) => {
  const call = fakeCall({
    plan: planIn(
      (config, plan) => {
        config.end_call.message = 'Bye now.';
        config.silence.reminder_after_seconds = 30;
        plan.limits.max_duration_seconds = 10;
      },
      { language: 'de' },
    ),
  });
  await call.wait(16_000);
  await call.call.ended;
  t.equal(call.spoken.at(-1), `(tts-de) ${builtInSentences('de').goodbye}`);
});

void t.test('without further languages nothing is offered or looked for', async (t) => {
  const call = fakeCall({
    plan: wirePlan((_plan, config) => void (config.language.detection = 'every_turn')),
    detect: async () => t.fail('not asked') as never,
  });
  await call.wait(1600);
  await call.hears('Was kostet das denn?');
  await call.wait(1000);
  t.notOk(call.requests[0]!.tools.some(({ name }) => name === 'set_language'));
  call.call.end(end);
});
