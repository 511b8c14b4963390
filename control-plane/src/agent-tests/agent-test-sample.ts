import { newId } from '@parley/shared/ids/new-id';
import { nthId, unique } from '../composition/sample.ts';
import type { Sample } from '../composition/sample.ts';

const TEST_CONTENT = JSON.stringify({
  variables: {},
  turns: [],
  persona: null,
  max_turns: 20,
  timeout_seconds: 300,
  checks: [],
  tool_mocks: [],
});

export const agentTestSample: Sample = {
  async make({ make, put, project }) {
    const { org_id, project_id, agent_id } = project.ids;
    const body = { name: 'Greets', type: 'scripted', turns: [{ caller: 'Hello' }] };
    const { id: test_id } = await make(`/v1/agents/${agent_id}/tests`, body, project.key);
    const test_run_id = newId('trn');
    await put('agent_test_runs', {
      _id: test_run_id,
      org_id,
      project_id,
      agent_id,
      agent_version: 1,
      status: 'completed',
      total: 1,
      created_by: 'cli',
    });
    return { test_id, test_run_id };
  },
  scenarios: {
    createAgentTest: (_, send) =>
      send(201, { body: { name: unique(), type: 'scripted', turns: [{ caller: 'Hello' }] } }),
    updateAgentTest: (_, send) => send(200, { body: { max_turns: 10 } }),
    deleteAgentTest: async ({ make, project }, send) => {
      const path = `/v1/agents/${project.ids['agent_id']}/tests`;
      const body = { name: unique(), type: 'scripted', turns: [{ caller: 'Hello' }] };
      const { id } = await make(path, body, project.key);
      await send(204, { ids: { test_id: id } });
    },
    startTestRun: (_, send) => send(202),
    cancelTestRun: async ({ put, project }, send) => {
      await send(409);
      const { org_id, project_id, agent_id } = project.ids;
      const test_run_id = newId('trn');
      const run = { org_id, project_id, agent_id, agent_version: 1, total: 1, created_by: 'cli' };
      await put('agent_test_runs', { _id: test_run_id, ...run, status: 'queued' });
      await send(200, { ids: { test_run_id } });
    },
  },
  many: ({ inProject }) => [
    {
      collection: 'agent_tests',
      count: 999,
      record: (n) => ({
        ...inProject,
        _id: nthId('tst', n),
        agent_id: nthId('agt', 1),
        name: `Thing ${n}`,
        type: 'scripted',
        content: TEST_CONTENT,
      }),
    },
    {
      collection: 'agent_test_runs',
      count: 2000,
      record: (n, rare) => ({
        ...inProject,
        _id: nthId('trn', n),
        agent_id: nthId('agt', 1),
        agent_version: 1,
        status: rare ? 'failed' : 'completed',
        total: 1,
        passed: 1,
        created_by: 'cli',
      }),
    },
    {
      collection: 'agent_test_results',
      count: 2000,
      record: (n, rare) => ({
        ...inProject,
        _id: nthId('trs', n),
        agent_id: nthId('agt', 1),
        test_run_id: nthId('trn', 1 + (n % 2)),
        test_id: nthId('tst', 1),
        iteration: 1,
        content: TEST_CONTENT,
        status: rare ? 'error' : 'passed',
      }),
    },
  ],
};
