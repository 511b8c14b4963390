import type { Clock } from '@parley/shared/time/clock';
import { ExpiringCache } from '../storage/expiring-cache.ts';
import type { SessionAgent, SessionAgents } from './session-agent.ts';

/** How late a change of an agent may be seen. */
const KNOWN_MS = 1000;

/** Agents for work that asks of the same ones again and again: what was read of one holds for a second. */
export class KnownAgents implements Pick<SessionAgents, 'version'> {
  readonly #agents: Pick<SessionAgents, 'version'>;
  readonly #known: ExpiringCache<SessionAgent | null>;

  constructor({ agents, clock }: { agents: Pick<SessionAgents, 'version'>; clock: Clock }) {
    this.#agents = agents;
    this.#known = new ExpiringCache({ clock, ttlMs: KNOWN_MS, maxEntries: 1000 });
  }

  /** @inheritdoc */
  version(agentId: string, version: number): Promise<SessionAgent | null> {
    return this.#known.get(`${agentId}:${version}`, () => this.#agents.version(agentId, version));
  }
}
