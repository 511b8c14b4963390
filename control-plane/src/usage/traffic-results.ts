import type { z } from 'zod';
import type { AgentRecord } from '../agents/agent-record.ts';
import { divideRounded, toAmount } from '../http/amount.ts';
import type { Scope } from '../tenancy/scope.ts';
import type { trafficResultsQuery, trafficResultsResponse } from './traffic-result-schema.ts';
import { GOALS, usageSumCollection } from './usage-model.ts';
import { toMinutes, type UsageService } from './usage-service.ts';

type Sums = Record<string, number | bigint>;

/** What came of the calls of an agent, version by version: from sums that are kept as calls end. */
export class TrafficResults {
  readonly #usage: Pick<UsageService, 'asked'>;

  constructor(deps: { usage: Pick<UsageService, 'asked'> }) {
    this.#usage = deps.usage;
  }

  /** One item for each version that was asked for, in its order: without any, those that get callers now. */
  async of(
    scope: Scope,
    agent: Pick<AgentRecord, '_id' | 'project_id' | 'version' | 'traffic'>,
    query: z.output<typeof trafficResultsQuery>,
  ): Promise<z.input<typeof trafficResultsResponse>> {
    const { period, currency } = await this.#usage.asked(scope, query);
    const weights = weightsOf(agent);
    const versions = query.version?.map(Number) ?? [...weights.keys()];
    const [sums = {}] = await scope.collection(usageSumCollection).group<Sums>(
      {
        project_id: agent.project_id,
        quarter: { $gte: new Date(period.starts[0]!), $lt: new Date(period.starts.at(-1)!) },
      },
      { _id: null, ...Object.assign({}, ...versions.map((one) => sumsOf(agent._id, one, currency))) },
    );
    return {
      ...{ from: period.days[0]!, to: period.days.at(-1)!, currency },
      items: versions.map((version) => toItem(version, weights.get(version) ?? 0, sums)),
    };
  }
}

/** Parts of a hundred callers, by version. */
function weightsOf({ version, traffic }: Pick<AgentRecord, 'version' | 'traffic'>): Map<number, number> {
  if (traffic.mode !== 'pinned') return new Map([[version, 100]]);
  return new Map(traffic.splits.map((split) => [split.version, split.weight]));
}

/** Operands of `$group`, named by version and figure. */
function sumsOf(agentId: string, version: number, currency: string): Record<string, object> {
  const path = `$versions.${agentId}.v${version}`;
  const sum = (name: string, of: string) => [`v${version}_${name}`, { $sum: `${path}.${of}` }];
  return Object.fromEntries([
    ...['sessions', 'connected_sessions', 'connected_ms', 'reply_count', 'reply_ms'].map((of) => sum(of, of)),
    ...GOALS.map((goal) => sum(goal, `goals.${goal}`)),
    sum('nano', `amounts.${currency}`),
  ]) as Record<string, object>;
}

function toItem(
  version: number,
  weight: number,
  sums: Sums,
): z.input<typeof trafficResultsResponse>['items'][number] {
  const of = (name: string) => BigInt(sums[`v${version}_${name}`] ?? 0);
  const replies = of('reply_count');
  return {
    ...{ version, weight },
    sessions: Number(of('sessions')),
    connected_sessions: Number(of('connected_sessions')),
    minutes: toMinutes(of('connected_ms')),
    goals: {
      achieved: Number(of('achieved')),
      not_achieved: Number(of('not_achieved')),
      unclear: Number(of('unclear')),
    },
    average_reply_ms: replies === 0n ? null : Number(divideRounded(of('reply_ms'), replies)),
    total_amount: toAmount(of('nano')),
  };
}
