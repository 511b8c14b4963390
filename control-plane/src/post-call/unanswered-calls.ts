import type { Clock } from '@parley/shared/time/clock';
import { KnownAgents } from '../sessions/known-agents.ts';
import { agentOf, type SessionAgents } from '../sessions/session-agent.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { CallEndedWebhook } from './call-ended-webhook.ts';

/** Calls that were dialled and that nobody took: nothing was said, so there is nothing to analyse, but they are told of. */
export class UnansweredCalls {
  readonly #agents: Pick<SessionAgents, 'version'>;
  readonly #webhook: CallEndedWebhook;

  constructor(deps: { agents: SessionAgents; webhook: CallEndedWebhook; clock: Clock }) {
    this.#agents = new KnownAgents(deps);
    this.#webhook = deps.webhook;
  }

  /** Somebody took it: what follows the call tells of it. */
  answered(): Promise<void> {
    return Promise.resolve();
  }

  /** Safe to repeat: a session has one delivery. */
  async ended(session: SessionRecord): Promise<void> {
    // The caller's own call tells of a transfer that failed.
    if (session.parent_session_id != null) return;
    if (session.status !== 'failed' || session.started_at !== null || session.erased_at !== null) return;
    await this.#webhook.deliver(session, await agentOf(this.#agents, session), null);
  }
}
