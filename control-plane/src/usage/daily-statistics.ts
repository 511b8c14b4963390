import type { z } from 'zod';
import { countOf, medianOf } from '@parley/shared/values/log-histogram';
import { invalid } from '../http/validation.ts';
import type { REPLY_LATENCIES } from '../sessions/reply-latencies.ts';
import type { Scope } from '../tenancy/scope.ts';
import {
  MAX_STATISTICS_DAYS,
  type dailyStatisticsResponse,
  type statisticsQuery,
} from './statistics-schema.ts';
import { REPLY_BOUNDS_MS, usageSumCollection, type AgentFigures } from './usage-model.ts';
import { toMinutes, type UsageService } from './usage-service.ts';

/** Sums that are read at once. */
const PAGE = 500;
const DAY_MS = 24 * 3_600_000;
const NO_AGENT = 'none';

type Statistics = z.input<typeof dailyStatisticsResponse>;
type Item = Statistics['items'][number];

/** What the calls of a project were like, by day and agent: from sums that are kept as calls end. */
export class DailyStatistics {
  readonly #usage: Pick<UsageService, 'asked'>;

  constructor(deps: { usage: Pick<UsageService, 'asked'> }) {
    this.#usage = deps.usage;
  }

  /** Items where there are calls, the oldest day first, and the whole period. @throws ValidationError */
  async of(
    scope: Scope,
    { agent_id: agentId, by, ...query }: z.output<typeof statisticsQuery>,
  ): Promise<Statistics> {
    const to = query.to ?? (await this.#usage.asked(scope, query)).period.days.at(-1)!;
    const from = query.from ?? sixDaysBefore(to);
    const { days, starts } = (await this.#usage.asked(scope, { ...query, from, to })).period;
    if (days.length > MAX_STATISTICS_DAYS)
      throw invalid(['query', 'to'], `must be at most ${MAX_STATISTICS_DAYS} days from the first day`);
    const byDay = days.map(() => new Map<string, Sum>());
    const whole = nothing();
    let day = 0;
    for await (const { quarter, statistics = {} } of quarters(scope, starts[0]!, starts.at(-1)!)) {
      while (quarter.getTime() >= starts[day + 1]!) day++;
      for (const [agent, figures] of Object.entries(statistics)) {
        if (agentId !== undefined && agent !== agentId) continue;
        add(byDay[by === 'agent' ? 0 : day]!, by === 'day' ? NO_AGENT : agent, figures);
        addTo(whole, figures);
      }
    }
    const items = byDay.flatMap((agents, at) =>
      [...agents]
        .sort(([, a], [, b]) => b.sessions - a.sessions)
        .map(([agent, figures]): Item => ({
          ...{ date: days[at]!, agent_id: agent === NO_AGENT ? null : agent },
          ...toFigures(figures),
        })),
    );
    const period = { from, to, ...toFigures(whole), ...(whole.sessions === 0 && { answer_rate: null }) };
    return { items, total: items.length, period };
  }
}

/** The sums of a time, in its order. */
async function* quarters(scope: Scope, fromMs: number, toMs: number) {
  const sums = scope.collection(usageSumCollection);
  for (let from = new Date(fromMs); ;) {
    const page = await sums.find(
      { project_id: scope.projectId, quarter: { $gte: from, $lt: new Date(toMs) } },
      { sort: { quarter: 1 }, limit: PAGE },
    );
    yield* page;
    // A project has one sum for a quarter of an hour.
    if (page.length < PAGE) return;
    from = new Date(page.at(-1)!.quarter.getTime() + 1);
  }
}

type Sum = Required<AgentFigures>;

function nothing(): Sum {
  return {
    ...{ sessions: 0, connected_sessions: 0, connected_ms: 0n },
    ...{ ended: {}, replies: {}, latencies: {} },
  };
}

function add(agents: Map<string, Sum>, agent: string, more: AgentFigures): void {
  let sum = agents.get(agent);
  if (!sum) agents.set(agent, (sum = nothing()));
  addTo(sum, more);
}

function addTo(sum: Sum, more: AgentFigures): void {
  sum.sessions += Number(more.sessions);
  sum.connected_sessions += Number(more.connected_sessions);
  sum.connected_ms += BigInt(more.connected_ms);
  addCounts(sum.ended, more.ended);
  addCounts(sum.replies, more.replies);
  for (const [part, bars] of Object.entries(more.latencies ?? {}))
    addCounts((sum.latencies[part] ??= {}), bars);
}

function addCounts(sum: Record<string, number>, more: Record<string, number> = {}): void {
  for (const [name, count] of Object.entries(more)) sum[name] = (sum[name] ?? 0) + Number(count);
}

function toFigures(sum: Sum): Omit<Item, 'date' | 'agent_id'> {
  const { sessions, connected_sessions, connected_ms, ended, replies, latencies } = sum;
  const median = (of: (typeof REPLY_LATENCIES)[number]) => {
    const ms = medianOf(latencies[of] ?? {});
    return ms === null ? null : Math.round(ms);
  };
  return {
    ...{ sessions, connected_sessions },
    minutes: toMinutes(connected_ms),
    answer_rate: Math.round((connected_sessions / Math.max(1, sessions)) * 1000) / 1000,
    end_reasons: Object.entries(ended)
      .map(([reason, count]) => ({ reason, sessions: count }))
      .sort((a, b) => b.sessions - a.sessions),
    reply_times: [...REPLY_BOUNDS_MS, null].map((bound, at) => ({
      up_to_ms: bound,
      sessions: replies[`b${at}`] ?? 0,
    })),
    reply_latency: {
      replies: countOf(latencies['reply'] ?? {}),
      median_ms: median('reply'),
      turn_end_median_ms: median('turn_end'),
      llm_median_ms: median('llm'),
      voice_median_ms: median('voice'),
    },
  };
}

function sixDaysBefore(day: string): string {
  return new Date(Date.parse(day) - 6 * DAY_MS).toISOString().slice(0, 10);
}
