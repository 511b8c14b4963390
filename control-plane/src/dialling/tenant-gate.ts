import type { Directory } from '../tenancy/directory.ts';
import { agentOf, type SessionAgents } from '../sessions/session-agent.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { SlotOwner } from '../sessions/session-slots.ts';
import type { DialGate, GateVerdict } from './outbound-calls.ts';

/** Limits on sessions that run at one time: `SessionSlots`. */
export interface SessionLimitsOf {
  limitsFor(owner: SlotOwner): Promise<{ bucket: string; limit: number }[]>;
}

/** Numbers that an org must not call: `Suppressions`. */
export interface BlockedNumbers {
  blocks(at: { orgId: string; projectId: string }, numbers: readonly string[]): Promise<ReadonlySet<string>>;
}

const ASK_AGAIN_MS = 60_000;

/** What org, project and agent say: that they may be active, whom they must not call, and how many calls they have at a time. */
export class TenantGate implements DialGate {
  readonly name = 'tenant';
  readonly #directory: Directory;
  readonly #agents: Pick<SessionAgents, 'version'>;
  readonly #suppressions: BlockedNumbers;
  readonly #limits: SessionLimitsOf;

  constructor(deps: {
    directory: Directory;
    agents: Pick<SessionAgents, 'version'>;
    suppressions: BlockedNumbers;
    limits: SessionLimitsOf;
  }) {
    this.#directory = deps.directory;
    this.#agents = deps.agents;
    this.#suppressions = deps.suppressions;
    this.#limits = deps.limits;
  }

  async check(session: SessionRecord, nowMs: number): Promise<GateVerdict> {
    const { org_id: orgId, project_id: projectId, to_number: to } = session;
    const org = await this.#directory.org(orgId);
    if (org?.status !== 'active')
      return { pass: false, until: nowMs + ASK_AGAIN_MS, counts: session.dial!.kind !== 'campaign' };
    const agent = await agentOf(this.#agents, session);
    // A call that is to be transferred goes on, though its agent was archived meanwhile.
    if (!agent || (agent.archived && session.dial!.kind !== 'transfer'))
      return { pass: false, end: { status: 'cancelled', failure_reason: 'internal' } };
    const blocked = await this.#suppressions.blocks({ orgId, projectId }, [to!]);
    if (blocked.has(to!)) return { pass: false, end: { status: 'failed', failure_reason: 'blocked' } };
    const places = await this.#limits.limitsFor({
      ...{ orgId, projectId, agent },
      ...{ visitor: false, accountId: null, dialAccountId: session.dial!.account_id },
    });
    return { pass: true, places };
  }
}
