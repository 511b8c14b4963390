import t from 'tap';
import { COLLECTIONS } from '../src/services.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';

/** Stages of a query plan, outermost first. */
function stagesOf(plan: unknown): string[] {
  if (typeof plan !== 'object' || plan === null) return [];
  const { stage, inputStage, inputStages } = plan as {
    stage?: string;
    inputStage?: unknown;
    inputStages?: unknown[];
  };
  return [
    ...(stage === undefined ? [] : [stage]),
    ...stagesOf(inputStage),
    ...(inputStages ?? []).flatMap(stagesOf),
  ];
}

/** Listed within a session, never over a whole project. */
const LISTED_BY_SESSION = ['analysis_results', 'recordings', 'session_events', 'turns'];

void t.test('a page of a tenant is read from an index, in every collection', async (t) => {
  const cp = await openTestControlPlane();
  t.teardown(() => cp[Symbol.asyncDispose]());
  const tenantFilter = {
    project: { org_id: 'org_1', project_id: 'prj_1' },
    shared: { org_id: 'org_1', project_id: { $in: [null, 'prj_1'] } },
    projects: { org_id: 'org_1', project_ids: { $in: [null, 'prj_1'] } },
    org: { org_id: 'org_1' },
  } as const;
  for (const { name, tenancy } of COLLECTIONS) {
    if (tenancy === 'none') continue;
    const own = LISTED_BY_SESSION.includes(name) ? { session_id: 'one' } : {};
    const model = cp.app.services.database.model(COLLECTIONS.find((collection) => collection.name === name)!);
    const explained = (await model
      .find({ $and: [tenantFilter[tenancy], own] } as never)
      .sort({ created_at: -1, _id: -1 })
      .limit(50)
      .explain('queryPlanner')) as unknown as { queryPlanner: { winningPlan: unknown } };
    const stages = stagesOf(explained.queryPlanner.winningPlan);
    t.ok(stages.includes('IXSCAN'), `${name}: ${stages.join(' > ')}`);
    t.notOk(stages.includes('COLLSCAN'), name);
  }
});
