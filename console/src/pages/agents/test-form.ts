import type { components } from '../../api/schema.d.ts';
import { inWords } from '../../components/format.ts';
import { groupOf } from '../../components/schema-form/field.ts';
import type { GroupField, Schemas } from '../../components/schema-form/field.ts';
import type { Json } from '../../components/schema-form/form-value.ts';

/** The form of a test of an agent. */

export type TestType = 'scripted' | 'simulation';

/** Fields that only one kind of test has. */
const ONLY: Readonly<Record<string, TestType>> = {
  turns: 'scripted',
  persona: 'simulation',
  max_turns: 'simulation',
};
/** Chosen beside the form, or another way to make a test. */
const HIDDEN = ['type', 'from_session_id'];

/** @param schemas `components.schemas` of the description */
export function testForm(schemas: Schemas, type: TestType): GroupField {
  const form = groupOf(schemas['CreateAgentTestRequest'] ?? {}, schemas);
  const fields = form.fields.filter(
    ({ key }) => !HIDDEN.includes(key) && (ONLY[key] === undefined || ONLY[key] === type),
  );
  return { ...form, fields };
}

/** What a new test of a kind begins with. */
export function newTest(type: TestType): Json {
  const common = { name: '', type, channel: 'text', checks: [] };
  return type === 'scripted'
    ? { ...common, turns: [{ caller: '', expect: [] }] }
    : { ...common, persona: { prompt: '', language: 'en-US', llm_id: null }, max_turns: 20 };
}

/** The part of a test that the form edits. */
export function testContent(test: Json, form: GroupField): Json {
  return Object.fromEntries(form.fields.flatMap(({ key }) => (key in test ? [[key, test[key]]] : [])));
}

/** How far a run is, in hundredths, for a bar of parts. */
export function runParts(run: { total: number; passed: number; failed: number; errored: number }) {
  const share = (count: number) => (run.total === 0 ? 0 : (100 * count) / run.total);
  return { passed: share(run.passed), failed: share(run.failed), errored: share(run.errored) };
}

type AgentTest = components['schemas']['AgentTest'];
type Check = AgentTest['checks'][number];

/** What a check of a test asks for, by its id; undefined for one that the test has no more. */
export function wantedBy(
  { checks, turns }: Pick<AgentTest, 'checks' | 'turns'>,
  checkId: string,
): string | undefined {
  const check = [...checks, ...turns.flatMap(({ expect }) => expect)].find(({ id }) => id === checkId);
  return check && checkInWords(check);
}

function checkInWords(check: Check): string {
  switch (check.kind) {
    case 'contains':
      return `Says “${check.text}”`;
    case 'not_contains':
      return `Does not say “${check.text}”`;
    case 'tool_called':
      return check.arguments === undefined
        ? `Calls the tool ${check.tool_id}`
        : `Calls the tool ${check.tool_id} with ${JSON.stringify(check.arguments)}`;
    case 'tool_not_called':
      return `Does not call the tool ${check.tool_id}`;
    case 'variable':
      return [check.name, inWords(check.op).toLowerCase(), JSON.stringify(check.value)].join(' ').trim();
    case 'ended_by':
      return `Is ended by: ${inWords(check.value)}`;
    case 'judge':
      return check.criterion;
    case 'node_reached':
      return `Comes to the node ${check.node_id}`;
    case 'max_latency_ms':
      return `Answers within ${check.value} ms`;
  }
}
