import { groupOf, IDLE } from '../../components/schema-form/field.ts';
import type { Field, GroupField, JsonSchema, Schemas } from '../../components/schema-form/field.ts';
import type { Json, Path } from '../../components/schema-form/form-value.ts';

/** The form of an agent, in sections. A setting that no section names appears in the last one by itself. */

/** Parts of the record that the form edits; webhooks act at once and have routes of their own. */
const WRITABLE = ['name', 'system_prompt', 'greeting', 'llm_id', 'stt_id', 'tts_id', 'tts_voice_id'] as const;
const ELSEWHERE = ['webhooks'];

/** The value of the form, of an agent as the API gives it. */
export function contentOf(agent: Json): Json {
  const config = Object.entries((agent['config'] ?? {}) as Json).filter(([key]) => !ELSEWHERE.includes(key));
  return {
    ...Object.fromEntries(WRITABLE.map((key) => [key, agent[key]])),
    config: Object.fromEntries(config),
  };
}

/**
 * @param schemas `components.schemas` of the description
 * @returns all that can be set; what this version refuses is left out
 */
export function agentForm(schemas: Schemas): GroupField {
  const record = groupOf(schemas['CreateAgentRequest'] ?? {}, schemas);
  const config = groupOf(schemas['AgentConfig'] ?? {}, schemas);
  const sent = schemas['AgentConfigPatch'] ?? {};
  const writable = record.fields.filter(({ key }) => WRITABLE.some((one) => one === key));
  return {
    ...record,
    fields: [
      ...writable.map((field) => ({ ...field, required: true })),
      { ...available(config, sent), key: 'config' },
    ],
  };
}

/** What does nothing yet is said of what is sent, not of what is read. */
function available(group: GroupField, sent: JsonSchema): GroupField {
  const fields = group.fields.flatMap((field): Field[] => {
    const patch = propertyOf(sent, field.key);
    if (IDLE.test(patch?.description ?? '')) return [];
    if (field.kind !== 'group' || !patch) return [field];
    const inner = available(field, patch);
    return inner.fields.length === 0 ? [] : [inner];
  });
  return { ...group, fields };
}

function propertyOf(schema: JsonSchema, key: string): JsonSchema | undefined {
  const known = schema.properties?.[key];
  if (known) return known;
  for (const part of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) {
    const found = propertyOf(part, key);
    if (found) return found;
  }
  return undefined;
}

export interface AgentSection {
  id: string;
  title: string;
  text: string;
  /** In this order. */
  paths: readonly Path[];
}

const config = (...keys: string[]): Path[] => keys.map((key) => ['config', ...key.split('.')]);

const SECTIONS: readonly AgentSection[] = [
  {
    id: 'prompt',
    title: 'Prompt',
    text: 'Who the agent is, what it is to reach, and what it must not do.',
    paths: [['name'], ['system_prompt'], ...config('variables', 'timezone', 'guardrails')],
  },
  {
    id: 'greeting',
    title: 'Greeting',
    text: 'How a call begins.',
    paths: [['greeting'], ...config('greeting')],
  },
  {
    id: 'voice',
    title: 'Voice',
    text: 'How the agent sounds.',
    paths: [['tts_id'], ['tts_voice_id'], ...config('tts', 'background_audio')],
  },
  {
    id: 'models',
    title: 'Models',
    text: 'What thinks, and what listens.',
    paths: [['llm_id'], ...config('llm'), ['stt_id'], ...config('stt')],
  },
  {
    id: 'languages',
    title: 'Languages',
    text: 'Which languages a call may be in.',
    paths: config('language'),
  },
  {
    id: 'turns',
    title: 'Turn-taking',
    text: 'When the caller is done, and what the agent does while it is quiet.',
    paths: config('turn_taking', 'silence', 'filler'),
  },
  {
    id: 'interruption',
    title: 'Interruption',
    text: 'How a caller talks over the agent.',
    paths: config('interruption'),
  },
  {
    id: 'tools',
    title: 'Tools',
    text: 'What the agent can do besides talking.',
    paths: config('transfer', 'pre_call', 'limits.max_tool_steps'),
  },
  {
    id: 'knowledge',
    title: 'Knowledge',
    text: 'What the agent may look up.',
    paths: config('knowledge'),
  },
  {
    id: 'memory',
    title: 'Memory',
    text: 'What it keeps of a caller for the next call.',
    paths: config('memory'),
  },
  {
    id: 'analyses',
    title: 'Analyses',
    text: 'What is found out once a call is over, and where it is kept.',
    paths: config('analysis', 'auto_database'),
  },
  {
    id: 'privacy',
    title: 'Privacy',
    text: 'What is recorded, masked and kept.',
    paths: config('privacy', 'recording'),
  },
  {
    id: 'telephony',
    title: 'Telephony',
    text: 'Calls that it makes, answering machines, and keys.',
    paths: config('telephony', 'answer_detection', 'dtmf'),
  },
  {
    id: 'limits',
    title: 'Limits and end',
    text: 'How long a call may last, what it may cost, and how it ends.',
    paths: config('limits', 'end_call'),
  },
  {
    id: 'widget',
    title: 'Web page',
    text: 'Talking to the agent from a page of yours.',
    paths: config('widget'),
  },
];

/** Sections that have something to set; what no section names stands in `more`. */
export function sectionsOf(form: GroupField): AgentSection[] {
  const named = new Set(SECTIONS.flatMap(({ paths }) => paths.map((path) => path.slice(0, 2).join('.'))));
  const top = (field: Field, path: Path) => !named.has(path.join('.')) && field.key !== 'config';
  const all: { field: Field; path: Path }[] = form.fields.flatMap((field) =>
    field.key === 'config' && field.kind === 'group'
      ? field.fields.map((one) => ({ field: one, path: ['config', one.key] as Path }))
      : [{ field, path: [field.key] as Path }],
  );
  const rest = all.filter(({ field, path }) => !ELSEWHERE.includes(field.key) && top(field, path));
  const known = SECTIONS.map((section) => ({
    ...section,
    paths: section.paths.filter((path) => fieldAt(form, path) !== undefined),
  })).filter(({ paths }) => paths.length > 0);
  return rest.length === 0
    ? known
    : [
        ...known,
        { id: 'more', title: 'More', text: 'Further settings.', paths: rest.map(({ path }) => path) },
      ];
}

export function fieldAt(form: Field, path: Path): Field | undefined {
  return path.reduce<Field | undefined>(
    (field, step) => (field?.kind === 'group' ? field.fields.find(({ key }) => key === step) : undefined),
    form,
  );
}

/** The section in which a place of the form stands. */
export function sectionOf(sections: readonly AgentSection[], path: Path): AgentSection | undefined {
  const starts = (long: Path, short: Path) => short.every((step, index) => long[index] === step);
  const fits = sections.flatMap((section) =>
    section.paths.filter((one) => starts(path, one)).map((one) => ({ section, depth: one.length })),
  );
  return fits.toSorted((a, b) => b.depth - a.depth)[0]?.section;
}
