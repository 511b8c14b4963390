import { z } from 'zod';
import { agentTarget } from '../agents/agent-target.ts';
import { anyOf, listOf, listQuery, toPage } from '../http/list-query.ts';
import { defineOperation, jsonBody, patchBody, HttpResponse } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { item } from '../tenancy/target.ts';
import {
  agentTestCollection,
  agentTestRunCollection,
  RESULT_STATUSES,
  RUN_STATUSES,
} from './agent-test-model.ts';
import {
  AGENT_TEST_READ_ONLY,
  agentTestResponse,
  createAgentTestRequest,
  patchAgentTestRequest,
  startTestRunRequest,
  testResultResponse,
  testRunResponse,
  toAgentTestResponse,
  toTestResultResponse,
  toTestRunResponse,
} from './agent-test-schema.ts';
import type { AgentTestService } from './agent-test-service.ts';

const test = item(agentTestCollection, 'test_id');
const run = item(agentTestRunCollection, 'test_run_id');
const READ = { key: 'viewer', user: 'viewer' } as const;
const WRITE = { key: 'editor', user: 'editor' } as const;
const common = { tag: 'Agent tests', feature: 'agent_tests' } as const;

export function agentTestRoutes({ agentTests }: { agentTests: AgentTestService }): Operation[] {
  return [
    defineOperation({
      ...common,
      id: 'listAgentTests',
      method: 'GET',
      path: '/v1/agents/{agent_id}/tests',
      summary: 'List tests of an agent',
      access: READ,
      target: agentTarget,
      query: listQuery({ sortable: ['name'], q: true }),
      responses: { 200: { description: 'A page of tests', schema: listOf(agentTestResponse) } },
      handle: async ({ scope, item: found, query }) =>
        toPage(await agentTests.list(scope, found._id, query), toAgentTestResponse),
    }),
    defineOperation({
      ...common,
      id: 'createAgentTest',
      method: 'POST',
      path: '/v1/agents/{agent_id}/tests',
      summary: 'Create a test',
      description:
        'A script of caller turns, a caller played by a language model, or (with `from_session_id`) the turns of a ' +
        'past call.',
      access: WRITE,
      target: agentTarget,
      body: jsonBody(createAgentTestRequest, { readOnly: ['id', 'agent_id', 'created_at', 'updated_at'] }),
      responses: { 201: { description: 'The test', schema: agentTestResponse } },
      errors: [409],
      idempotent: {},
      handle: async ({ scope, item: found, body }) =>
        toAgentTestResponse(await agentTests.create(scope, found, body)),
    }),
    defineOperation({
      ...common,
      id: 'getAgentTest',
      method: 'GET',
      path: '/v1/tests/{test_id}',
      summary: 'Read a test',
      access: READ,
      target: test,
      responses: { 200: { description: 'The test', schema: agentTestResponse } },
      handle: ({ item: found }) => toAgentTestResponse(found),
    }),
    defineOperation({
      ...common,
      id: 'updateAgentTest',
      method: 'PATCH',
      path: '/v1/tests/{test_id}',
      summary: 'Change a test',
      description: 'Runs that already exist use the test as it was.',
      access: WRITE,
      target: test,
      body: patchBody(patchAgentTestRequest, { readOnly: AGENT_TEST_READ_ONLY }),
      responses: { 200: { description: 'The test', schema: agentTestResponse } },
      handle: async ({ scope, item: found, body }) =>
        toAgentTestResponse(await agentTests.update(scope, found, body)),
    }),
    defineOperation({
      ...common,
      id: 'deleteAgentTest',
      method: 'DELETE',
      path: '/v1/tests/{test_id}',
      summary: 'Delete a test',
      description: 'Its results are kept.',
      access: WRITE,
      target: test,
      responses: { 204: { description: 'Deleted' } },
      handle: ({ scope, item: found }) => agentTests.delete(scope, found),
    }),
    defineOperation({
      ...common,
      id: 'startTestRun',
      method: 'POST',
      path: '/v1/agents/{agent_id}/test-runs',
      summary: 'Run tests',
      description:
        'Each test talks to the agent in a session of its own, over text. Sessions of tests are neither recorded nor ' +
        'analysed, and trigger no webhook. An org has one run in progress at a time; others wait.',
      access: WRITE,
      target: agentTarget,
      body: jsonBody(startTestRunRequest, { optional: true }),
      responses: { 202: { description: 'The run', schema: testRunResponse } },
      errors: [409],
      idempotent: {},
      handle: async ({ scope, caller, item: found, body }) =>
        new HttpResponse(202, toTestRunResponse(await agentTests.startRun(scope, caller, found, body))),
    }),
    defineOperation({
      ...common,
      id: 'listTestRuns',
      method: 'GET',
      path: '/v1/agents/{agent_id}/test-runs',
      summary: 'List test runs of an agent',
      access: READ,
      target: agentTarget,
      query: listQuery({ filters: { status: anyOf(z.enum(RUN_STATUSES)).optional() } }),
      responses: { 200: { description: 'A page of runs', schema: listOf(testRunResponse) } },
      handle: async ({ scope, item: found, query }) =>
        toPage(await agentTests.runs(scope, found._id, query), toTestRunResponse),
    }),
    defineOperation({
      ...common,
      id: 'getTestRun',
      method: 'GET',
      path: '/v1/test-runs/{test_run_id}',
      summary: 'Read a test run',
      access: READ,
      target: run,
      responses: { 200: { description: 'The run', schema: testRunResponse } },
      handle: ({ item: found }) => toTestRunResponse(found),
    }),
    defineOperation({
      ...common,
      id: 'listTestResults',
      method: 'GET',
      path: '/v1/test-runs/{test_run_id}/results',
      summary: 'List results of a test run',
      access: READ,
      target: run,
      query: listQuery({ filters: { status: anyOf(z.enum(RESULT_STATUSES)).optional() } }),
      responses: { 200: { description: 'A page of results', schema: listOf(testResultResponse) } },
      handle: async ({ scope, item: found, query }) =>
        toPage(await agentTests.results(scope, found._id, query), toTestResultResponse),
    }),
    defineOperation({
      ...common,
      id: 'cancelTestRun',
      method: 'POST',
      path: '/v1/test-runs/{test_run_id}/cancel',
      summary: 'Cancel a test run',
      description: 'Conversations in progress are ended.',
      access: WRITE,
      target: run,
      responses: { 200: { description: 'The run', schema: testRunResponse } },
      errors: [409],
      idempotent: {},
      handle: async ({ scope, item: found }) => toTestRunResponse(await agentTests.cancel(scope, found)),
    }),
  ];
}
