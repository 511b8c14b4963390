import type { QueryFilter } from 'mongoose';
import type { SessionRecord } from '../sessions/session-record.ts';
import { DIAL_PRIORITIES } from '../sessions/session-record.ts';
import { scopesOf, SERVER_SCOPE, type SleepingScopes } from './sleeping-scopes.ts';

/** Where the calls are that wait: `DialStore`. */
export interface WaitingCalls {
  nextOrg(priority: number, after: string): Promise<string | null>;
  due(
    orgId: string,
    priority: number,
    where: QueryFilter<SessionRecord>,
    limit: number,
  ): Promise<SessionRecord[]>;
}

/** Calls of one org that are read at a time. */
const PAGE = 20;
/** Orgs of one round; the next goes on behind them. */
const MAX_ORGS = 100;
const PRIORITIES = Object.values(DIAL_PRIORITIES).sort((a, b) => a - b);

/** What an org's own limit is on, by the beginning of its id. */
const LIMITED: Readonly<Record<string, string>> = { agt: 'agent_id', prj: 'project_id', org: 'org_id' };

/** One org's place in the round. */
interface OrgQueue {
  readonly orgId: string;
  /** Read, and not handed out yet. */
  calls: SessionRecord[];
  /** Whether there may be more than were read. */
  more: boolean;
}

/**
 * The order of calls that may be dialled: transfers before single calls before campaigns, the orgs in turns, and oldest
 * first within an org. What is held up by a limit is passed over, and what is behind it goes on.
 */
export class DialQueue {
  readonly #calls: WaitingCalls;
  readonly #sleeping: SleepingScopes;
  /** By priority, the org whose turn is next first. */
  readonly #rounds = new Map<number, OrgQueue[]>();
  /** The org that was served last, by priority: a new round goes on behind it. */
  readonly #served = new Map<number, string>();
  /** Calls that are held up by something that no other call shares, with their priorities. */
  readonly #heldUp = new Map<string, number>();

  constructor(deps: { calls: WaitingCalls; sleeping: SleepingScopes }) {
    this.#calls = deps.calls;
    this.#sleeping = deps.sleeping;
  }

  /** There may be other calls than were read. @param before only of priorities that go before this one */
  refresh(before = Infinity): void {
    for (const priority of this.#rounds.keys()) if (priority < before) this.#rounds.delete(priority);
    for (const [id, priority] of this.#heldUp) if (priority < before) this.#heldUp.delete(id);
  }

  /** Hands this call out again only after a `refresh`. */
  holdUp(call: SessionRecord): void {
    this.#heldUp.set(call._id, call.dial!.priority);
  }

  /** It was handed out, and a limit that it shares with others refused it: it is the next of its org again. */
  putBack(call: SessionRecord): void {
    const org = this.#rounds.get(call.dial!.priority)?.find(({ orgId }) => orgId === call.org_id);
    org?.calls.unshift(call);
  }

  /** Calls that have been read and may be handed out soon: the first of each org in turn. */
  upcoming(limit: number): SessionRecord[] {
    const firsts = [...this.#rounds.values()].flatMap((round) =>
      round.flatMap(({ calls }) => calls.slice(0, 2)),
    );
    return firsts.slice(0, limit);
  }

  /** The next call; null when none may be dialled now. */
  async next(nowMs: number): Promise<SessionRecord | null> {
    if (this.#sleeping.isAsleep(SERVER_SCOPE, nowMs)) return null;
    for (const priority of PRIORITIES) {
      const round = this.#rounds.get(priority) ?? (await this.#beginRound(priority));
      for (let left = round.length; left > 0; left--) {
        const org = round.shift()!;
        const call = await this.#nextOf(org, priority, nowMs);
        // Its next turn is behind all others; who was handed the last call may put it back.
        if (call || org.calls.length > 0 || org.more) round.push(org);
        if (!call) continue;
        this.#served.set(priority, org.orgId);
        return call;
      }
    }
    return null;
  }

  async #beginRound(priority: number): Promise<OrgQueue[]> {
    const last = this.#served.get(priority) ?? '';
    const round: OrgQueue[] = [];
    // From the org that was served last, round to itself.
    for (let after = last, wrapped = last === ''; round.length < MAX_ORGS;) {
      const orgId = await this.#calls.nextOrg(priority, after);
      if (orgId === null ? wrapped : wrapped && last !== '' && orgId > last) break;
      if (orgId !== null) round.push({ orgId, calls: [], more: true });
      wrapped ||= orgId === null;
      after = orgId ?? '';
    }
    this.#rounds.set(priority, round);
    return round;
  }

  async #nextOf(org: OrgQueue, priority: number, nowMs: number): Promise<SessionRecord | null> {
    for (const scope of ['org', 'limit'])
      if (this.#sleeping.isAsleep(`${scope}:${org.orgId}`, nowMs)) return null;
    const awake = (call: SessionRecord) =>
      !this.#heldUp.has(call._id) && scopesOf(call).every((scope) => !this.#sleeping.isAsleep(scope, nowMs));
    const known = take(org.calls, awake);
    if (known || !org.more) return known;
    // What was read is held up: there may be others behind it.
    const read = new Set(org.calls.map(({ _id }) => _id));
    const page = await this.#calls.due(org.orgId, priority, this.#awakeOnly(nowMs), PAGE);
    org.more = page.length === PAGE;
    org.calls.push(...page.filter(({ _id }) => !read.has(_id)));
    return take(org.calls, awake);
  }

  /** Leaves out what is held up, so that a page is not full of it. */
  #awakeOnly(nowMs: number): QueryFilter<SessionRecord> {
    const asleep = (prefix: string) => this.#sleeping.asleep(prefix, nowMs);
    const conditions = {
      _id: [...this.#heldUp.keys()],
      'dial.account_id': asleep('account:'),
      agent_id: asleep('agent:'),
      campaign_id: asleep('campaign:'),
      project_id: asleep('project:'),
    };
    const limited = asleep('limit:').map((scope) => {
      const [whose = '', accountId] = scope.split(':');
      return {
        [LIMITED[whose.slice(0, 3)] ?? 'org_id']: whose,
        ...(accountId !== undefined && { 'dial.account_id': accountId }),
      };
    });
    return {
      ...Object.fromEntries(
        Object.entries(conditions)
          .filter(([, ids]) => ids.length > 0)
          .map(([field, ids]) => [field, { $nin: ids }]),
      ),
      ...(limited.length > 0 && { $nor: limited }),
    };
  }
}

function take(calls: SessionRecord[], fits: (call: SessionRecord) => boolean): SessionRecord | null {
  const index = calls.findIndex(fits);
  return index === -1 ? null : calls.splice(index, 1)[0]!;
}
