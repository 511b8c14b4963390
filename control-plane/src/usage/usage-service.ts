import type { z } from 'zod';
import { NotFoundError, ValidationError } from '@parley/shared/errors/app-error';
import type { Clock } from '@parley/shared/time/clock';
import { divideRounded, toAmount } from '../http/amount.ts';
import type { Directory } from '../tenancy/directory.ts';
import { referenceNotFound } from '../tenancy/references.ts';
import type { Scope } from '../tenancy/scope.ts';
import { usagePeriod } from './usage-days.ts';
import type { UsagePeriod } from './usage-days.ts';
import { usageSumCollection } from './usage-model.ts';
import type { costSummaryResponse, dailyUsageResponse, usageQuery } from './usage-schema.ts';

type UsageQuery = Omit<z.output<typeof usageQuery>, 'project_id'> & { project_id?: string | undefined };

/** Sums over some quarters of an hour, in one currency. */
interface Total {
  sessions: number;
  connected: number;
  ms: bigint;
  nano: bigint;
}

/** As the database gives it: what fits 32 bits is a number. */
type StoredTotal<Id = unknown> = { _id: Id } & Record<keyof Total, number | bigint>;

/** What the calls of a project came to, in the currency of the org's bookings. */
export interface ProjectUsage {
  project_id: string;
  sessions: number;
  connected_ms: bigint;
  amount_nano: bigint;
}

/** What calls came to. A call is of the day on which it ended. */
export class UsageService {
  readonly #directory: Pick<Directory, 'org' | 'project'>;
  readonly #clock: Clock;
  /** Of what is booked for an org. */
  readonly currency: (orgId: string) => Promise<string>;

  constructor(deps: {
    directory: Pick<Directory, 'org' | 'project'>;
    clock: Clock;
    currency: (orgId: string) => Promise<string>;
  }) {
    this.#directory = deps.directory;
    this.#clock = deps.clock;
    this.currency = deps.currency;
  }

  /** @throws ValidationError `reference_not_found` for a project that is none of the org's */
  async costSummary(scope: Scope, query: UsageQuery): Promise<z.input<typeof costSummaryResponse>> {
    const { period, currency } = await this.asked(scope, query);
    const [from, to] = [period.starts[0]!, period.starts.at(-1)!];
    const [total, previous] = await Promise.all([
      this.#total(scope, query.project_id, currency, from, to),
      this.#total(scope, query.project_id, currency, period.previousStart, from),
    ]);
    return {
      org_id: scope.orgId,
      project_id: query.project_id ?? null,
      from: period.days[0]!,
      to: period.days.at(-1)!,
      currency,
      total_amount: toAmount(total.nano),
      sessions: total.sessions,
      connected_sessions: total.connected,
      minutes: toMinutes(total.ms),
      average_cost_per_minute_amount: averagePerMinute(total),
      previous_total_amount: toAmount(previous.nano),
    };
  }

  /**
   * One item for each day, also where nothing was.
   * @throws ValidationError `reference_not_found` for a project that is none of the org's
   */
  async daily(scope: Scope, query: UsageQuery): Promise<z.input<typeof dailyUsageResponse>[]> {
    const { period, currency } = await this.asked(scope, query);
    const { days, starts } = period;
    const stored = await this.#stored<Date>(
      scope,
      query.project_id,
      currency,
      starts[0]!,
      starts.at(-1)!,
      '$quarter',
    );
    const quarters = stored.sort((a, b) => a._id.getTime() - b._id.getTime());
    let next = 0;
    return days.map((date, index) => {
      const total = nothing();
      for (; next < quarters.length && quarters[next]!._id.getTime() < starts[index + 1]!; next++)
        add(total, quarters[next]!);
      return {
        date,
        sessions: total.sessions,
        connected_sessions: total.connected,
        minutes: toMinutes(total.ms),
        amount: toAmount(total.nano),
      };
    });
  }

  /** What calls that ended from one time to before another came to, by project. */
  async byProject(scope: Scope, fromMs: number, toMs: number): Promise<ProjectUsage[]> {
    const currency = await this.currency(scope.orgId);
    const totals = await this.#stored<string>(scope, undefined, currency, fromMs, toMs, '$project_id');
    return totals.map(({ _id, sessions, ms, nano }) => ({
      project_id: _id,
      sessions: Number(sessions),
      connected_ms: BigInt(ms),
      amount_nano: BigInt(nano),
    }));
  }

  /** What period a request is about, and in which currency. @throws ValidationError, as above */
  async asked(scope: Scope, query: UsageQuery): Promise<{ period: UsagePeriod; currency: string }> {
    const org = await this.#directory.org(scope.orgId);
    if (!org) throw new NotFoundError();
    const period = usagePeriod(query, query.timezone ?? org.timezone, this.#clock.now());
    if (query.project_id !== undefined) {
      const project = await this.#directory.project(query.project_id);
      if (project?.org_id !== scope.orgId)
        throw new ValidationError([referenceNotFound(['query', 'project_id'])]);
    }
    return { period, currency: await this.currency(scope.orgId) };
  }

  async #total(
    scope: Scope,
    projectId: string | undefined,
    currency: string,
    fromMs: number,
    toMs: number,
  ): Promise<Total> {
    const total = nothing();
    for (const one of await this.#stored<null>(scope, projectId, currency, fromMs, toMs, null))
      add(total, one);
    return total;
  }

  #stored<Id>(
    scope: Scope,
    projectId: string | undefined,
    currency: string,
    fromMs: number,
    toMs: number,
    by: '$quarter' | '$project_id' | null,
  ): Promise<StoredTotal<Id>[]> {
    return scope.collection(usageSumCollection).group<StoredTotal<Id>>(
      {
        ...(projectId !== undefined && { project_id: projectId }),
        quarter: { $gte: new Date(fromMs), $lt: new Date(toMs) },
      },
      {
        _id: by,
        sessions: { $sum: '$sessions' },
        connected: { $sum: '$connected_sessions' },
        ms: { $sum: '$connected_ms' },
        nano: { $sum: `$amounts.${currency}` },
      },
    );
  }
}

function nothing(): Total {
  return { sessions: 0, connected: 0, ms: 0n, nano: 0n };
}

function add(total: Total, more: StoredTotal): void {
  total.sessions += Number(more.sessions);
  total.connected += Number(more.connected);
  total.ms += BigInt(more.ms);
  total.nano += BigInt(more.nano);
}

/** Rounded once, to a whole millionth. */
function averagePerMinute({ nano, ms }: Total): string {
  return toAmount(ms === 0n ? 0n : divideRounded(nano * 60_000n, ms * 1000n) * 1000n);
}

export function toMinutes(ms: bigint): number {
  return Number(divideRounded(ms, 60n)) / 1000;
}
