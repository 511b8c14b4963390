import type { CallEventData, KnownCallEvent } from '@parley/shared/contracts/call-events';
import { speakingAgentOf, type SessionAgent, type SessionAgents } from '../sessions/session-agent.ts';
import type { SessionRecord } from '../sessions/session-record.ts';

/** Memories of callers, as far as agents add to them. */
interface Memories {
  /** @param note the same event again adds nothing */
  note(
    session: SessionRecord,
    agent: SessionAgent | null,
    note: CallEventData<'remember'> & { eventId: string },
  ): Promise<void>;
}

/** The do-not-call list, as far as agents add to it. */
interface DoNotCall {
  /** @param event the same one again adds nothing */
  addFromCall(session: SessionRecord, event: { id: string; reason: string }): Promise<void>;
}

/** What agents note during calls, put where it belongs. */
export class AgentNotes {
  readonly #agents: Pick<SessionAgents, 'version'>;
  readonly #memories: Memories;
  readonly #suppressions: DoNotCall;

  constructor(deps: { agents: Pick<SessionAgents, 'version'>; memories: Memories; suppressions: DoNotCall }) {
    this.#agents = deps.agents;
    this.#memories = deps.memories;
    this.#suppressions = deps.suppressions;
  }

  /** Takes an event of a session; the same one again changes nothing, and what is no note is passed over. */
  async store(session: SessionRecord, event: KnownCallEvent): Promise<void> {
    if (event.type === 'do_not_call')
      await this.#suppressions.addFromCall(session, { id: event.id, reason: event.data.reason });
    if (event.type === 'remember') {
      const agent = await speakingAgentOf(this.#agents, session);
      await this.#memories.note(session, agent, { eventId: event.id, ...event.data });
    }
  }
}
