import { z } from 'zod';
import { ENDED_BY } from '@parley/shared/contracts/session-values';
import { idSchema } from '../http/operation.ts';
import { patchOf } from '../http/patch-schema.ts';
import { VARIABLE_OPS } from '@parley/shared/values/variable-comparison';
import { maybeTime, recordFields, time, toTimes } from '../http/record-schema.ts';
import { mockedFunction, toolMocks, type ToolMock } from '../http/tool-mock-schema.ts';
import { variablesSchema } from '../http/value-schemas.ts';
import { contentOf, RESULT_STATUSES, RUN_STATUSES, TEST_TYPES } from './agent-test-model.ts';
import type { AgentTestRecord, AgentTestResultRecord, AgentTestRunRecord } from './agent-test-model.ts';

/** Filled in where a client gives none. */
const checkId = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/)
  .optional()
  .meta({ example: 'says_price' });
const phrase = z.string().min(1).max(1000);
const toolId = idSchema('tol');
const json = z.record(z.string(), z.unknown());

const check = z
  .discriminatedUnion('kind', [
    z.strictObject({ id: checkId, kind: z.literal('contains'), text: phrase }),
    z.strictObject({ id: checkId, kind: z.literal('not_contains'), text: phrase }),
    z.strictObject({
      id: checkId,
      kind: z.literal('tool_called'),
      tool_id: toolId,
      arguments: json.optional().meta({ description: 'A subset of the arguments.' }),
    }),
    z.strictObject({ id: checkId, kind: z.literal('tool_not_called'), tool_id: toolId }),
    z.strictObject({
      id: checkId,
      kind: z.literal('variable'),
      name: z.string().min(1).max(64),
      op: z.enum(VARIABLE_OPS),
      value: z
        .union([z.string().max(1000), z.number(), z.boolean(), z.array(z.string().max(1000)).max(100)])
        .optional(),
    }),
    z.strictObject({ id: checkId, kind: z.literal('ended_by'), value: z.enum(ENDED_BY) }),
    z.strictObject({ id: checkId, kind: z.literal('judge'), criterion: z.string().min(1).max(2000) }),
    z.strictObject({ id: checkId, kind: z.literal('node_reached'), node_id: z.string().min(1).max(64) }),
    z.strictObject({
      id: checkId,
      kind: z.literal('max_latency_ms'),
      value: z.number().int().min(1).max(600_000).meta({
        description:
          'Milliseconds from the last sound of the caller to the first of the answer; only for the channel voice.',
      }),
    }),
  ])
  .meta({ id: 'AgentTestCheck', example: { id: 'says_price', kind: 'contains', text: '12 euros' } });
export type AgentTestCheck = z.output<typeof check>;

const turn = z.strictObject({
  caller: z.string().trim().min(1).max(4000),
  expect: z.array(check).max(20).default([]),
});

const personaShape = {
  prompt: z.string().min(1).max(8000),
  language: z.string().min(2).max(35),
  llm_id: z
    .string()
    .min(1)
    .max(120)
    .nullable()
    .meta({ description: 'Null: the model of the project, or else of the agent.' }),
};
const persona = z.strictObject({
  prompt: personaShape.prompt,
  language: personaShape.language.default('en-US'),
  llm_id: personaShape.llm_id.default(null),
});

const name = z.string().trim().min(1).max(120).meta({ example: 'Asks for the price' });
const channel = z.enum(['text', 'voice']).meta({
  description:
    'text: the caller writes. voice: a local English voice speaks for the caller, and the agent hears and answers aloud.',
});
const turns = z.array(turn).min(1).max(100);
const maxTurns = z.number().int().min(1).max(100);
const timeoutSeconds = z.number().int().min(10).max(1800);
const checks = z.array(check).max(50);

/** What a test says and expects, as it is stored. */
export interface AgentTestContent {
  channel: z.output<typeof channel>;
  variables: Record<string, string>;
  turns: z.output<typeof turn>[];
  persona: z.output<typeof persona> | null;
  max_turns: number;
  timeout_seconds: number;
  checks: AgentTestCheck[];
  tool_mocks: ToolMock[];
}

const SCRIPTED_EXAMPLE = {
  name: 'Asks for the price',
  type: 'scripted',
  turns: [
    {
      caller: 'What does a pizza cost?',
      expect: [{ id: 'says_price', kind: 'contains', text: '12 euros' }],
    },
  ],
  checks: [{ id: 'friendly', kind: 'judge', criterion: 'The agent is friendly and brief.' }],
};

/** Either a test, or the session whose caller is to say it all again. */
export const createAgentTestRequest = z
  .strictObject({
    name,
    from_session_id: z
      .uuid()
      .optional()
      .meta({ description: 'The session whose caller turns become the script.' }),
    type: z.enum(TEST_TYPES).optional(),
    channel: channel.optional(),
    variables: variablesSchema.optional(),
    turns: turns.optional(),
    persona: persona.optional(),
    max_turns: maxTurns.optional(),
    timeout_seconds: timeoutSeconds.optional(),
    checks: checks.optional(),
    tool_mocks: toolMocks.optional(),
  })
  .meta({ id: 'CreateAgentTestRequest', example: SCRIPTED_EXAMPLE });
export type CreateAgentTestRequest = z.output<typeof createAgentTestRequest>;

export const patchAgentTestRequest = patchOf({
  name,
  channel: channel.default('text'),
  variables: variablesSchema.default({}),
  turns,
  persona,
  max_turns: maxTurns.default(20),
  timeout_seconds: timeoutSeconds.default(300),
  checks: checks.default([]),
  tool_mocks: toolMocks.default([]),
}).meta({ id: 'PatchAgentTestRequest', example: { max_turns: 10 } });
export type PatchAgentTestRequest = z.output<typeof patchAgentTestRequest>;

export const AGENT_TEST_READ_ONLY = [
  'id',
  'org_id',
  'project_id',
  'agent_id',
  'type',
  'created_at',
  'updated_at',
] as const;

export const agentTestResponse = z
  .object({
    id: z.string().meta({ example: 'tst_01k5z8r5m2q7v3x9b4n6c8d0ef' }),
    agent_id: z.string(),
    name: z.string(),
    type: z.enum(TEST_TYPES),
    channel,
    variables: z.record(z.string(), z.string()),
    turns: z.array(z.object({ caller: z.string(), expect: z.array(check) })).meta({ example: [] }),
    persona: z.object(personaShape).nullable(),
    max_turns: z.number().int(),
    timeout_seconds: z.number().int(),
    checks: z.array(check).meta({ example: SCRIPTED_EXAMPLE.checks }),
    tool_mocks: z
      .array(
        z.object({
          tool_id: z.string(),
          function: mockedFunction,
          match: json,
          result: z.unknown(),
          error: z.string().nullable(),
        }),
      )
      .meta({ example: [] }),
    ...recordFields,
  })
  .meta({ id: 'AgentTest' });

export function toAgentTestResponse(test: AgentTestRecord): z.input<typeof agentTestResponse> {
  const content = contentOf(test);
  return {
    id: test._id,
    agent_id: test.agent_id,
    name: test.name,
    type: test.type,
    ...content,
    // Those of tests that were stored before functions had mocks of their own.
    tool_mocks: content.tool_mocks.map((mock) => ({ ...mock, function: mock.function ?? null })),
    ...toTimes(test),
  };
}

export const startTestRunRequest = z
  .strictObject({
    test_ids: z
      .array(idSchema('tst'))
      .min(1)
      .max(1000)
      .nullable()
      .default(null)
      .meta({ description: 'Null: all tests of the agent.', example: null }),
    version: z
      .number()
      .int()
      .min(1)
      .max(1_000_000_000)
      .nullable()
      .default(null)
      .meta({ description: 'Null: the newest version.', example: null }),
    iterations: z.number().int().min(1).max(20).default(1),
  })
  .meta({ id: 'StartTestRunRequest' });
export type StartTestRunRequest = z.output<typeof startTestRunRequest>;

const count = z.number().int().min(0);
export const testRunResponse = z
  .object({
    id: z.string().meta({ example: 'trn_01k5z8r5m2q7v3x9b4n6c8d0ef' }),
    agent_id: z.string(),
    agent_version: z.number().int(),
    status: z.enum(RUN_STATUSES),
    total: count,
    passed: count,
    failed: count,
    errored: count,
    created_by: z.string(),
    started_at: maybeTime,
    ended_at: maybeTime,
    ...recordFields,
  })
  .meta({ id: 'AgentTestRun' });

export function toTestRunResponse(run: AgentTestRunRecord): z.input<typeof testRunResponse> {
  return {
    id: run._id,
    agent_id: run.agent_id,
    agent_version: run.agent_version,
    status: run.status,
    total: run.total,
    passed: run.passed,
    failed: run.failed,
    errored: run.errored,
    created_by: run.created_by,
    started_at: time(run.started_at),
    ended_at: time(run.ended_at),
    ...toTimes(run),
  };
}

export const testResultResponse = z
  .object({
    id: z.string().meta({ example: 'trs_01k5z8r5m2q7v3x9b4n6c8d0ef' }),
    test_run_id: z.string(),
    test_id: z.string(),
    iteration: z.number().int(),
    status: z.enum(RESULT_STATUSES),
    session_id: z.uuid().nullable(),
    checks: z.array(z.object({ id: z.string(), passed: z.boolean(), reason: z.string() })),
    error: z
      .string()
      .nullable()
      .meta({ description: 'Why the test could not be completed; null when it was.' }),
    started_at: maybeTime,
    ended_at: maybeTime,
    ...recordFields,
  })
  .meta({ id: 'AgentTestResult' });

export function toTestResultResponse(result: AgentTestResultRecord): z.input<typeof testResultResponse> {
  return {
    id: result._id,
    test_run_id: result.test_run_id,
    test_id: result.test_id,
    iteration: result.iteration,
    status: result.status,
    session_id: result.session_id,
    checks: result.checks,
    error: result.error,
    started_at: time(result.started_at),
    ended_at: time(result.ended_at),
    ...toTimes(result),
  };
}
