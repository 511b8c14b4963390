import type { Model } from 'mongoose';
import type { Bus } from '@parley/shared/bus/bus';
import {
  ForbiddenError,
  NotFoundError,
  TooManyRequestsError,
  UnavailableError,
  ValidationError,
} from '@parley/shared/errors/app-error';
import type { Clock } from '@parley/shared/time/clock';
import { addressKey } from '@parley/shared/http/client-address';
import type { SessionAgent, SessionAgents } from '../sessions/session-agent.ts';
import type { Minted, SessionCreation } from '../sessions/session-creation.ts';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import { ExpiringCache } from '../storage/expiring-cache.ts';
import type { Directory } from '../tenancy/directory.ts';
import { widgetDayCollection } from './widget-day-model.ts';
import type { WidgetDayRecord } from './widget-day-model.ts';
import { WIDGET_STARTS_PER_MINUTE } from '../sessions/visitor-limits.ts';

const DAY_MS = 24 * 60 * 60_000;
/** Preflights of a page come in bunches. */
const ORIGINS_TTL_MS = 4000;

/** Who knocks, from which page. */
export interface Visitor {
  agentId: string;
  /** The browser's `Origin`. */
  origin: string | undefined;
  address: string;
}

/** Conversations that visitors of a public page begin, with no credential at all. */
export class WidgetService {
  readonly #agents: SessionAgents;
  readonly #sessions: SessionCreation;
  readonly #days: Model<WidgetDayRecord>;
  readonly #directory: Directory;
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #origins: ExpiringCache<readonly string[]>;

  constructor(deps: {
    agents: SessionAgents;
    sessions: SessionCreation;
    database: Database;
    directory: Directory;
    bus: Bus;
    clock: Clock;
  }) {
    this.#agents = deps.agents;
    this.#sessions = deps.sessions;
    this.#days = deps.database.model(widgetDayCollection);
    this.#directory = deps.directory;
    this.#bus = deps.bus;
    this.#clock = deps.clock;
    this.#origins = new ExpiringCache({ clock: deps.clock, ttlMs: ORIGINS_TTL_MS, maxEntries: 10_000 });
  }

  /** Whether pages of `origin` may read what this agent answers. Seconds old at most. */
  async isAllowedOrigin(agentId: string, origin: string): Promise<boolean> {
    const origins = await this.#origins.get(agentId, async () => {
      const versions = (await this.#agents.choice(agentId))?.versions ?? [];
      return versions.flatMap(({ config: { widget } }) => (widget.enabled ? widget.allowed_origins : []));
    });
    return origins.includes(origin);
  }

  /**
   * Counts the visitor, and looks whether there is anything for them here, in any version that answers at present.
   * @throws TooManyRequestsError `rate_limited`; NotFoundError; ForbiddenError `widget_disabled`, `feature_disabled`,
   *   `org_suspended`, `origin_refused`; UnavailableError
   */
  async admit(visitor: Visitor): Promise<void> {
    await this.#count(visitor.address);
    const choice = await this.#agents.choice(visitor.agentId);
    await this.#accept(visitor, choice?.versions ?? []);
  }

  /**
   * A session for a visitor who was admitted, with a token that only pages of their origin can use.
   * @throws ValidationError for variables that are not the visitor's to set; TooManyRequestsError `daily_limit`,
   *   `concurrency_limit`; what `admit` throws
   */
  async start(
    visitor: Visitor,
    variables: Readonly<Record<string, string>>,
  ): Promise<Minted & { title: string }> {
    const agent = await this.#agents.forNewSession(visitor.agentId, null);
    const origin = await this.#accept(visitor, agent ? [agent] : []);
    if (!agent) throw new NotFoundError();
    const { widget } = agent.config;
    const foreign = Object.keys(variables).filter((name) => !widget.variables.includes(name));
    if (foreign.length > 0) {
      throw new ValidationError(
        foreign.map((name) => ({
          loc: ['body', 'variables', name],
          msg: 'is not a variable that public pages can set',
          type: 'extra_forbidden',
        })),
      );
    }
    const started = await this.#sessions.mintForWidget(agent, {
      variables: { ...variables },
      origin,
      admit: () => this.#countDay(agent),
    });
    return { ...started, title: widget.title };
  }

  /** @returns the origin. @throws where none of these versions of an agent is for visitors of that page */
  async #accept({ origin }: Visitor, versions: readonly SessionAgent[]): Promise<string> {
    const [agent] = versions;
    if (!agent) throw new NotFoundError();
    const [org, project] = await Promise.all([
      this.#directory.org(agent.org_id),
      this.#directory.project(agent.project_id),
    ]);
    if (!org || !project) throw new NotFoundError();
    if (org.status !== 'active')
      throw new ForbiddenError(
        'org_suspended',
        'This org is suspended. Contact the operator of this installation.',
      );
    if (org.feature_flags['public_widget'] === false) {
      throw new ForbiddenError('feature_disabled', 'Sessions from public pages are disabled for this org.');
    }
    const open = versions.map(({ config }) => config.widget).filter(({ enabled }) => enabled);
    if (open.length === 0 || agent.archived || project.archived_at) {
      throw new ForbiddenError(
        'widget_disabled',
        'This agent does not accept sessions from public pages. Enable config.widget.',
      );
    }
    if (origin === undefined || !open.some(({ allowed_origins: allowed }) => allowed.includes(origin))) {
      throw new ForbiddenError(
        'origin_refused',
        'This agent does not accept sessions from this origin. Add it to config.widget.allowed_origins.',
      );
    }
    return origin;
  }

  /** Whom nobody can count nobody lets in: what a page starts costs its owner money. */
  async #count(address: string): Promise<void> {
    const { count, resetAt } = await this.#bus.rates
      .hit(`widget:${addressKey(address)}`, 60)
      .catch((cause: unknown) => {
        throw new UnavailableError(
          'Session limits of public pages cannot be checked. Retry in a few seconds.',
          { cause },
        );
      });
    if (count <= WIDGET_STARTS_PER_MINUTE) return;
    throw new TooManyRequestsError(
      'rate_limited',
      `Session limit of this address reached (${WIDGET_STARTS_PER_MINUTE} a minute).`,
      secondsUntil(resetAt, this.#clock.now()),
    );
  }

  /** Takes one of the day's sessions, atomically. */
  async #countDay(agent: SessionAgent): Promise<void> {
    const limit = agent.config.widget.daily_sessions;
    const now = this.#clock.now();
    const ends = Math.floor(now / DAY_MS + 1) * DAY_MS;
    const id = `${agent.agent_id}:${new Date(now).toISOString().slice(0, 10)}`;
    const takeOne = () =>
      this.#days.findOneAndUpdate({ _id: id, sessions: { $lt: limit } }, { $inc: { sessions: 1 } }).lean();
    if (await takeOne()) return;
    try {
      await this.#days.create({
        _id: id,
        org_id: agent.org_id,
        project_id: agent.project_id,
        sessions: 1,
        expires_at: new Date(ends + DAY_MS),
      });
      return;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
    // There is one: of another visitor of this moment, or full.
    if (await takeOne()) return;
    throw new TooManyRequestsError(
      'daily_limit',
      'Daily session limit of this agent reached.',
      secondsUntil(ends, now),
    );
  }
}

function secondsUntil(at: number, now: number): number {
  return Math.max(1, Math.ceil((at - now) / 1000));
}
