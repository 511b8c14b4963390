import t from 'tap';
import type { Schemas } from '../../components/schema-form/field.ts';
import { draftFromElsewhere, isDraftOf, liveVersionOf, readDraft, writeDraft } from './agent-draft.ts';
import { agentForm, contentOf, fieldAt, sectionOf, sectionsOf } from './agent-form.ts';

const nullable = (schema: object) => ({ anyOf: [schema, { type: 'null' }] });
const SCHEMAS: Schemas = {
  CreateAgentRequest: {
    type: 'object',
    properties: {
      name: { type: 'string', maxLength: 120 },
      system_prompt: { type: 'string', maxLength: 65_536 },
      llm_id: { type: 'string' },
      config: { $ref: '#/components/schemas/AgentConfigPatch' },
      flow_definition: { anyOf: [{ type: 'object', additionalProperties: {} }, { type: 'null' }] },
    },
    required: ['name'],
  },
  AgentConfig: {
    type: 'object',
    properties: {
      limits: {
        type: 'object',
        properties: {
          max_tool_steps: { type: 'integer', default: 5 },
          warn_before_end_seconds: { type: 'integer', default: 0 },
        },
      },
      guardrails: { type: 'object', properties: { refusal: { type: 'string', default: '' } } },
      moods: { type: 'object', properties: { calm: { type: 'boolean', default: true } } },
      webhooks: { type: 'object', properties: { url: { type: 'string' } } },
    },
  },
  AgentConfigPatch: {
    type: 'object',
    properties: {
      limits: nullable({
        type: 'object',
        properties: {
          max_tool_steps: nullable({ type: 'integer' }),
          warn_before_end_seconds: {
            ...nullable({ type: 'integer' }),
            description: 'Seconds before. Only `0` is taken in this version.',
          },
        },
      }),
      guardrails: nullable({
        type: 'object',
        properties: {
          refusal: { type: 'string', description: 'What is said. Only `""` is taken in this version.' },
        },
      }),
    },
  },
};

void t.test('a form of an agent', async (t) => {
  const form = agentForm(SCHEMAS);
  t.same(
    form.fields.map(({ key }) => key),
    ['name', 'system_prompt', 'llm_id', 'config'],
  );
  t.equal(fieldAt(form, ['config', 'limits', 'max_tool_steps'])?.kind, 'number');
  t.equal(
    fieldAt(form, ['config', 'limits', 'warn_before_end_seconds']),
    undefined,
    'what does nothing is not offered',
  );
  t.equal(fieldAt(form, ['config', 'guardrails']), undefined, 'nor a section of nothing else');

  const sections = sectionsOf(form);
  t.same(
    sections.map(({ id }) => id),
    ['prompt', 'models', 'tools', 'limits', 'more'],
  );
  t.same(sections.at(-1)?.paths, [['config', 'moods']], 'a setting that is new appears by itself');
  t.equal(
    sectionOf(sections, ['config', 'limits', 'max_tool_steps'])?.id,
    'tools',
    'the nearest section has it',
  );
  t.equal(sectionOf(sections, ['config', 'limits', 'max_duration_seconds'])?.id, 'limits');
  t.equal(sectionOf(sections, ['system_prompt'])?.id, 'prompt');

  t.same(contentOf({ id: 'agt_1', name: 'A', config: { moods: {}, webhooks: {} }, version: 3 }).config, {
    moods: {},
  });
});

void t.test('changes that were not saved are kept', async (t) => {
  const kept = new Map<string, string>();
  const store = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  };
  const patch = {
    name: 'B',
    config: { pre_call: { url: 'https://a.example', headers: { 'X-Key': 'secret' } } },
  };
  writeDraft(store, 'agt_1', { version: 3, patch });
  t.same(readDraft(store, 'agt_1'), {
    version: 3,
    patch: { name: 'B', config: { pre_call: { url: 'https://a.example' } } },
  });
  t.notMatch([...kept.values()].join(''), 'secret');
  t.equal(readDraft(store, 'agt_2'), null);
  writeDraft(store, 'agt_1', null);
  t.equal(readDraft(store, 'agt_1'), null);
  kept.set('parley.draft.agt_1', '{"version":"x"}');
  t.equal(readDraft(store, 'agt_1'), null, 'what cannot be read is nothing');
  const refusing = {
    ...store,
    setItem: () => {
      throw new Error('full');
    },
  };
  t.doesNotThrow(() => writeDraft(refusing, 'agt_1', { version: 1, patch }));
});

void t.test('tabs share what was not saved, but for secrets', async (t) => {
  const headers = { 'X-Key': 'secret' };
  const own = { version: 3, patch: { config: { pre_call: { url: 'https://a.example', headers } } } };
  const kept = { version: 3, patch: { name: 'B', config: { pre_call: { url: 'https://b.example' } } } };
  t.same(draftFromElsewhere(own, kept), {
    version: 3,
    patch: { name: 'B', config: { pre_call: { url: 'https://b.example', headers } } },
  });
  t.same(draftFromElsewhere(null, kept), kept);
  t.equal(draftFromElsewhere(own, null), null, 'it was saved or discarded there');
  t.ok(isDraftOf('agt_1', 'parley.draft.agt_1'));
  t.ok(isDraftOf('agt_1', null), 'all was cleared');
  t.notOk(isDraftOf('agt_1', 'parley.draft.agt_1.flow'));
});

void t.test('what callers get', async (t) => {
  t.equal(liveVersionOf(9, undefined), 9);
  t.equal(liveVersionOf(9, { mode: 'latest', splits: [] }), 9);
  const splits = [
    { version: 4, weight: 20 },
    { version: 7, weight: 80 },
  ];
  t.equal(liveVersionOf(9, { mode: 'pinned', splits }), 7);
});
