import type { z } from 'zod';
import { invalid } from '../http/validation.ts';
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

type Item = z.input<typeof dailyStatisticsResponse>;

/** What the calls of a project were like, by day and agent: from sums that are kept as calls end. */
export class DailyStatistics {
  readonly #usage: Pick<UsageService, 'asked'>;

  constructor(deps: { usage: Pick<UsageService, 'asked'> }) {
    this.#usage = deps.usage;
  }

  /** An item for each agent and day with calls, the oldest day first. @throws ValidationError */
  async of(scope: Scope, { agent_id: agentId, ...query }: z.output<typeof statisticsQuery>): Promise<Item[]> {
    const to = query.to ?? (await this.#usage.asked(scope, query)).period.days.at(-1)!;
    const from = query.from ?? sixDaysBefore(to);
    const { days, starts } = (await this.#usage.asked(scope, { ...query, from, to })).period;
    if (days.length > MAX_STATISTICS_DAYS)
      throw invalid(['query', 'to'], `must be at most ${MAX_STATISTICS_DAYS} days from the first day`);
    const byDay = days.map(() => new Map<string, AgentFigures>());
    let day = 0;
    for await (const { quarter, statistics = {} } of quarters(scope, starts[0]!, starts.at(-1)!)) {
      while (quarter.getTime() >= starts[day + 1]!) day++;
      for (const [agent, figures] of Object.entries(statistics))
        if (agentId === undefined || agent === agentId) add(byDay[day]!, agent, figures);
    }
    return byDay.flatMap((agents, at) =>
      [...agents]
        .sort(([, a], [, b]) => b.sessions - a.sessions)
        .map(([agent, figures]) => toItem(days[at]!, agent, figures)),
    );
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

function add(agents: Map<string, AgentFigures>, agent: string, more: AgentFigures): void {
  const known = agents.get(agent) ?? {
    ...{ sessions: 0, connected_sessions: 0, connected_ms: 0n },
    ...{ ended: {}, replies: {} },
  };
  agents.set(agent, {
    sessions: known.sessions + Number(more.sessions),
    connected_sessions: known.connected_sessions + Number(more.connected_sessions),
    connected_ms: known.connected_ms + BigInt(more.connected_ms),
    ended: sumOf(known.ended, more.ended),
    replies: sumOf(known.replies, more.replies),
  });
}

function sumOf(one: Record<string, number> = {}, other: Record<string, number> = {}): Record<string, number> {
  const sum = { ...one };
  for (const [name, count] of Object.entries(other)) sum[name] = (sum[name] ?? 0) + Number(count);
  return sum;
}

function toItem(date: string, agent: string, figures: AgentFigures): Item {
  const { sessions, connected_sessions, connected_ms, ended = {}, replies = {} } = figures;
  return {
    ...{ date, agent_id: agent === NO_AGENT ? null : agent, sessions, connected_sessions },
    minutes: toMinutes(connected_ms),
    answer_rate: Math.round((connected_sessions / sessions) * 1000) / 1000,
    end_reasons: Object.entries(ended)
      .map(([reason, count]) => ({ reason, sessions: count }))
      .sort((a, b) => b.sessions - a.sessions),
    reply_times: [...REPLY_BOUNDS_MS, null].map((bound, at) => ({
      up_to_ms: bound,
      sessions: replies[`b${at}`] ?? 0,
    })),
  };
}

function sixDaysBefore(day: string): string {
  return new Date(Date.parse(day) - 6 * DAY_MS).toISOString().slice(0, 10);
}
