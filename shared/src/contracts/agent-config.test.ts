import t from 'tap';
import {
  agentConfigSchema,
  defaultAgentConfig,
  windowsSchema,
  type AgentConfigInput,
} from './agent-config.ts';

function problems(config: unknown): string[] {
  const result = agentConfigSchema.safeParse(config);
  return result.success ? [] : result.error.issues.map((issue) => issue.path.join('.'));
}

void t.test('an empty config has every key', async (t) => {
  const config = defaultAgentConfig();
  t.match(config, {
    timezone: null,
    language: { primary: 'en-US', detection: 'off' },
    llm: { temperature: 0.7, max_output_tokens: 400 },
    turn_taking: { mode: 'stt', min_endpointing_ms: 300, backchannel: { enabled: false } },
    filler: { messages: null },
    limits: { max_duration_seconds: 1800, max_cost_amount: null },
    answer_detection: { voicemail: { action: 'hangup', wait_for_beep_seconds: 10 } },
    webhooks: { start_call: { enabled: false }, call_ended: { url: null, timeout_ms: 10_000 } },
    widget: { enabled: false, variables: [] },
  });
  t.same(agentConfigSchema.parse(config), config, 'parsing again changes nothing');
});

void t.test('configs share nothing', async (t) => {
  const changed = defaultAgentConfig();
  changed.end_call.phrases.push('Wait.');
  changed.language.additional.push('de');
  changed.pre_call.headers['x'] = 'y';
  t.match(defaultAgentConfig(), {
    end_call: { phrases: { length: 0 } },
    language: { additional: { length: 0 } },
  });
  t.same(defaultAgentConfig().pre_call.headers, {});
});

void t.test('a part keeps the defaults of its siblings', async (t) => {
  const config = agentConfigSchema.parse({
    llm: { temperature: 0 },
    turn_taking: { backchannel: { enabled: true } },
  });
  t.match(config.llm, { temperature: 0, max_output_tokens: 400 });
  t.match(config.turn_taking, { eagerness: 'balanced', backchannel: { enabled: true, frequency: 0.4 } });
});

void t.test('what is out of bounds or unknown is named', async (t) => {
  const cases: [unknown, string][] = [
    [{ unknown: 1 }, ''],
    [{ llm: { unknown: 1 } }, 'llm'],
    [{ timezone: 'Mars/Base' }, 'timezone'],
    [{ language: { primary: 'english!' } }, 'language.primary'],
    [{ language: { voices: { 'not a tag': {} } } }, 'language.voices.not a tag'],
    [{ llm: { temperature: 2.1 } }, 'llm.temperature'],
    [{ llm: { fallback_llm_ids: ['a', 'b', 'c', 'd'] } }, 'llm.fallback_llm_ids'],
    [
      { turn_taking: { min_endpointing_ms: 2000, max_endpointing_ms: 1999 } },
      'turn_taking.max_endpointing_ms',
    ],
    [{ silence: { reminder_after_seconds: 31 } }, 'silence.end_call_after_seconds'],
    [{ filler: { messages: [] } }, 'filler.messages'],
    [{ limits: { max_cost_amount: '1,50' } }, 'limits.max_cost_amount'],
    [{ limits: { max_cost_amount: '-1' } }, 'limits.max_cost_amount'],
    [{ dtmf: { terminator: '**' } }, 'dtmf.terminator'],
    [{ privacy: { redact: ['mood'] } }, 'privacy.redact.0'],
    [{ pre_call: { url: 'ftp://a.example' } }, 'pre_call.url'],
    [{ widget: { allowed_origins: ['a.example'] } }, 'widget.allowed_origins.0'],
    [{ widget: { allowed_origins: ['https://a.example/'] } }, 'widget.allowed_origins.0'],
  ];
  for (const [config, path] of cases) t.same(problems(config), [path], JSON.stringify(config));
});

void t.test('a transfer destination has one of three targets', async (t) => {
  const destination = (target: unknown) => ({ transfer: { destinations: [{ id: 'sales', target }] } });
  const good: AgentConfigInput = destination({
    type: 'phone',
    phone_number: '+14155550100',
  }) as AgentConfigInput;
  t.match(agentConfigSchema.parse(good).transfer.destinations, [
    { id: 'sales', mode: 'blind', caller_id: 'agent', on_failure: 'return', target: { extension: null } },
  ]);
  t.same(problems(destination({ type: 'agent', agent_id: 'agt_1' })), []);
  t.same(problems(destination({ type: 'variable', name: 'n', allowed_prefixes: ['+44'] })), []);
  t.same(problems(destination({ type: 'phone', phone_number: '4155550100' })), [
    'transfer.destinations.0.target.phone_number',
  ]);
  t.same(problems(destination({ type: 'sip', uri: 'sip:a@b' })), ['transfer.destinations.0.target.type']);
});

void t.test('windows are times of the week that do not cross midnight', async (t) => {
  const accepts = (window: unknown, timezone = 'Asia/Kolkata') =>
    windowsSchema.safeParse({ timezone, windows: [window] }).success;
  t.ok(accepts({ days: ['mon', 'fri'], start: '09:00', end: '24:00' }));
  t.notOk(accepts({ days: ['mon'], start: '18:00', end: '09:00' }));
  t.notOk(accepts({ days: ['mon'], start: '09:00', end: '09:00' }));
  t.notOk(accepts({ days: ['mon'], start: '9:00', end: '18:00' }));
  t.notOk(accepts({ days: [], start: '09:00', end: '18:00' }));
  t.notOk(accepts({ days: ['monday'], start: '09:00', end: '18:00' }));
  t.notOk(accepts({ days: ['mon'], start: '09:00', end: '18:00' }, 'Nowhere'));
});
