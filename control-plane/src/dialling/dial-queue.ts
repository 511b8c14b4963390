import type { QueryFilter } from 'mongoose';
import type { SessionRecord } from '../sessions/session-record.ts';
import { DIAL_PRIORITIES } from '../sessions/session-record.ts';
import { scopesOf, SERVER_SCOPE, type SleepingScopes } from './sleeping-scopes.ts';

/** Where the calls are that wait: `DialStore`. */
export interface WaitingCalls {
  /** Of all orgs behind `afterOrg`, by org and then by when they may be dialled, which may be later than now. */
  byOrg(priority: number, afterOrg: string, limit: number): Promise<SessionRecord[]>;
  due(
    orgId: string,
    priority: number,
    where: QueryFilter<SessionRecord>,
    limit: number,
  ): Promise<SessionRecord[]>;
}

/** Calls that are read at a time. */
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

interface FoundOrgs {
  orgs: OrgQueue[];
  lastOrg: string | null;
  full: boolean;
}

/** The orgs that have calls of one priority, from behind the one that was served last, round to itself. */
interface Round {
  /** Had their turn; who had it longest ago comes next. */
  served: OrgQueue[];
  /** Are still to have it, in this order. */
  unserved: OrgQueue[];
  /** Behind which org there may be others; null: all are known. */
  after: string | null;
  /** The org that was served last before this round. */
  readonly last: string;
  /** Whether those up to it are looked at. */
  wrapped: boolean;
}

/**
 * The order of calls that may be dialled: transfers before single calls before campaigns, the orgs in turns, and oldest
 * first within an org. What is held up by a limit is passed over, and what is behind it goes on.
 */
export class DialQueue {
  readonly #calls: WaitingCalls;
  readonly #sleeping: SleepingScopes;
  /** By priority. */
  readonly #rounds = new Map<number, Round>();
  /** The org that was served last, by priority: a new round goes on behind it. */
  readonly #served = new Map<number, string>();
  /** Calls that are held up by something that no other call shares, with their priorities. */
  readonly #heldUp = new Map<string, number>();
  /** Calls that were handed out, and of which the store may not know yet what becomes of them. */
  readonly #handedOut = new Set<string>();
  /** Those of them of which it knows by now; what is being read may be older. */
  readonly #letGo = new Set<string>();
  #reads = 0;

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
    this.#handedOut.delete(call._id);
  }

  /** It was handed out, and a limit that it shares with others refused it: it is the next of its org again. */
  putBack(call: SessionRecord): void {
    const round = this.#rounds.get(call.dial!.priority);
    round?.served.find(({ orgId }) => orgId === call.org_id)?.calls.unshift(call);
    this.#handedOut.delete(call._id);
  }

  /** It was handed out, and what became of it stands in the store. Until then it is not handed out again. */
  letGo(call: SessionRecord): void {
    if (this.#reads > 0) this.#letGo.add(call._id);
    else this.#handedOut.delete(call._id);
  }

  /** Calls that have been read and may be handed out soon: the first of each org in turn. */
  upcoming(limit: number): SessionRecord[] {
    const firsts = [...this.#rounds.values()].flatMap(({ unserved, served }) =>
      [...unserved, ...served].flatMap(({ calls }) => calls.slice(0, 2)),
    );
    return firsts.slice(0, limit);
  }

  /** The next call; null when none may be dialled now. Whoever gets it says afterwards what came of it. */
  async next(nowMs: number): Promise<SessionRecord | null> {
    if (this.#sleeping.isAsleep(SERVER_SCOPE, nowMs)) return null;
    const unknown = PRIORITIES.filter((priority) => !this.#rounds.has(priority));
    await Promise.all(unknown.map((priority) => this.#beginRound(priority, nowMs)));
    for (const priority of PRIORITIES) {
      const call = await this.#nextIn(this.#rounds.get(priority)!, priority, nowMs);
      if (!call) continue;
      this.#served.set(priority, call.org_id);
      this.#handedOut.add(call._id);
      return call;
    }
    return null;
  }

  async #nextIn(round: Round, priority: number, nowMs: number): Promise<SessionRecord | null> {
    while (round.unserved.length > 0 || round.after !== null) {
      const org = round.unserved.shift();
      const call = org && (await this.#serve(round, org, priority, nowMs));
      if (call) return call;
      if (!org) await this.#goOn(round, priority, nowMs);
    }
    for (let left = round.served.length; left > 0; left--) {
      const call = await this.#serve(round, round.served.shift()!, priority, nowMs);
      if (call) return call;
    }
    return null;
  }

  async #serve(round: Round, org: OrgQueue, priority: number, nowMs: number): Promise<SessionRecord | null> {
    const call = await this.#nextOf(org, priority, nowMs);
    // Its next turn is behind all others; who was handed the last call may put it back.
    if (call || org.calls.length > 0 || org.more) round.served.push(org);
    return call;
  }

  async #beginRound(priority: number, nowMs: number): Promise<void> {
    const last = this.#served.get(priority) ?? '';
    const round: Round = { served: [], unserved: [], after: last, last, wrapped: last === '' };
    this.#rounds.set(priority, round);
    const found = await this.#find(priority, '', nowMs);
    // Usually one page has them all.
    if (found.full && last !== '') return;
    const behind = found.orgs.filter(({ orgId }) => orgId > last);
    round.unserved = [...behind, ...found.orgs.slice(0, found.orgs.length - behind.length)];
    round.after = found.full ? found.lastOrg : null;
  }

  async #goOn(round: Round, priority: number, nowMs: number): Promise<void> {
    const { last } = round;
    const found = await this.#find(priority, round.after!, nowMs);
    round.unserved = found.orgs.filter(({ orgId }) => !round.wrapped || last === '' || orgId <= last);
    const isEnd = !found.full || (round.wrapped && last !== '' && found.lastOrg! >= last);
    if (!isEnd) round.after = found.lastOrg;
    else if (round.wrapped) round.after = null;
    else Object.assign(round, { after: '', wrapped: true });
    // The others have their turn in the next round.
    if (round.served.length + round.unserved.length >= MAX_ORGS) round.after = null;
  }

  /** Orgs behind `after` that have calls to dial, and whether there may be others behind `lastOrg`. */
  #find(priority: number, after: string, nowMs: number): Promise<FoundOrgs> {
    return this.#read(
      () => this.#calls.byOrg(priority, after, PAGE),
      (page) => {
        const full = page.length === PAGE;
        const lastOrg = page.at(-1)?.org_id ?? null;
        const orgs = [...Map.groupBy(page, ({ org_id }) => org_id)].flatMap(([orgId, calls]) => {
          const due = calls.filter(({ dial }) => dial!.not_before.getTime() <= nowMs);
          const more = full && orgId === lastOrg && due.length === calls.length;
          return due.length > 0 ? [{ orgId, calls: due.filter(this.#isFree), more }] : [];
        });
        return { orgs, lastOrg, full };
      },
    );
  }

  readonly #isFree = ({ _id }: SessionRecord): boolean => !this.#handedOut.has(_id);

  /** @param take what is handed out is still known to it, also where it was let go while this was read */
  async #read<T>(ask: () => Promise<SessionRecord[]>, take: (calls: SessionRecord[]) => T): Promise<T> {
    this.#reads++;
    try {
      return take(await ask());
    } finally {
      if (--this.#reads === 0) {
        for (const id of this.#letGo) this.#handedOut.delete(id);
        this.#letGo.clear();
      }
    }
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
    await this.#read(
      () => this.#calls.due(org.orgId, priority, this.#awakeOnly(nowMs), PAGE),
      (page) => {
        org.more = page.length === PAGE;
        org.calls.push(...page.filter((call) => !read.has(call._id) && this.#isFree(call)));
      },
    );
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
