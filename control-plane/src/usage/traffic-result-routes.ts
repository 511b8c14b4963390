import { agentTarget } from '../agents/agent-target.ts';
import { defineOperation } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { trafficResultsQuery, trafficResultsResponse } from './traffic-result-schema.ts';
import type { TrafficResults } from './traffic-results.ts';

export function trafficResultRoutes(results: TrafficResults): Operation[] {
  return [
    defineOperation({
      id: 'getAgentTrafficResults',
      method: 'GET',
      path: '/v1/agents/{agent_id}/traffic/results',
      tag: 'Agents',
      summary: 'Get what came of the calls of each version',
      description:
        'Sessions that ended in the period, by the version that they had, tests left out. Summed up as calls end: a few ' +
        'seconds behind. The period has at most 366 days.',
      access: { key: 'viewer', user: 'viewer' },
      target: agentTarget,
      query: trafficResultsQuery,
      responses: { 200: { description: 'The results by version', schema: trafficResultsResponse } },
      handle: ({ scope, item: agent, query }) => results.of(scope, agent, query),
    }),
  ];
}
