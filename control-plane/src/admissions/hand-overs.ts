import { agentsIn, flowDefinitionSchema } from '@parley/shared/contracts/flow-definition';
import { MAX_HAND_OVERS } from '@parley/shared/contracts/hand-over';
import type { HandOverPartWire, HandOverRequest } from '@parley/shared/contracts/hand-over';
import { ConflictError } from '@parley/shared/errors/app-error';
import type { SessionAgent, SessionAgents } from '../sessions/session-agent.ts';
import { speakingAgentOf } from '../sessions/session-agent.ts';
import { effectiveVariables } from '../sessions/session-choices.ts';
import type { HandOver, SessionRecord } from '../sessions/session-record.ts';
import { isTerminal } from '../sessions/session-states.ts';
import type { SessionStore } from '../sessions/session-store.ts';
import { visibleVariables } from '../sessions/session-plan.ts';
import { sessionOver } from './session-legs.ts';
import type { SessionPlans } from './session-plans.ts';

/**
 * Running calls that another agent goes on with. The session stays that of its first agent, whose webhooks, analyses and
 * limits on concurrency hold to the end; a later leg of it begins with the agent that spoke last.
 */
export class HandOvers {
  readonly #store: SessionStore;
  readonly #agents: SessionAgents;
  readonly #plans: Pick<SessionPlans, 'make'>;

  constructor(deps: { store: SessionStore; agents: SessionAgents; plans: Pick<SessionPlans, 'make'> }) {
    this.#store = deps.store;
    this.#agents = deps.agents;
    this.#plans = deps.plans;
  }

  /**
   * Notes that another agent takes the call over, once for each `handover_id`.
   * @returns the agent's part of a plan
   * @throws ConflictError `session_over`, `too_many_hand_overs`, `agent_unavailable`: archived, of another project, or
   *   no destination of the agent that speaks
   */
  async take(sessionId: string, request: HandOverRequest): Promise<HandOverPartWire> {
    const session = await this.#store.find(sessionId);
    if (!session || isTerminal(session.status)) throw sessionOver();
    const before = session.hand_overs ?? [];
    const known = before.find(({ handover_id: id }) => id === request.handover_id);
    if (known) {
      const agent = await this.#agents.version(known.agent_id, known.version);
      if (!agent) throw unavailable();
      return this.#part(session, agent, request);
    }
    if (before.length >= MAX_HAND_OVERS)
      throw new ConflictError(
        'too_many_hand_overs',
        `A call can be handed over at most ${MAX_HAND_OVERS} times.`,
      );
    const agent = await this.#destination(session, request.agent_id);
    const next = handOverOf(session, agent, request);
    const changed = await this.#store.change(
      sessionId,
      { hand_overs: [...before, next] },
      { [`hand_overs.${before.length}`]: { $exists: false } },
    );
    // Another request was faster, perhaps this one's repetition.
    return changed ? this.#part(changed, agent, request) : this.take(sessionId, request);
  }

  async #destination(session: SessionRecord, agentId: string): Promise<SessionAgent> {
    const from = await speakingAgentOf(this.#agents, session);
    const leads = from && leadsTo(from, agentId);
    const agent = leads === true ? await this.#agents.forNewSession(agentId, callerOf(session)) : null;
    if (!agent || agent.archived || agent.project_id !== session.project_id) throw unavailable();
    return agent;
  }

  async #part(
    session: SessionRecord,
    agent: SessionAgent,
    { pass_variables: pass }: HandOverRequest,
  ): Promise<HandOverPartWire> {
    const variables = effectiveVariables(agent, pass ? visibleVariables(session) : {}, { required: false });
    const plan = await this.#plans.make({ ...session, variables }, agent, session.claim_id ?? '');
    const { flow, memories, knowledge, assets, system, stt, llm, tts, languages, tools, limits, prices } =
      plan;
    return {
      ...(prices && { prices }),
      ...{ agent: plan.agent, variables: plan.variables },
      ...{ flow, memories, knowledge, assets, system, stt, llm, tts, languages, tools, limits },
    };
  }
}

/** Whether an agent hands calls over to another: by a destination of its own, or by a node of its flow. */
function leadsTo({ config, flow_definition: flow }: SessionAgent, agentId: string): boolean {
  const named = config.transfer.destinations.some(
    ({ target }) => target.type === 'agent' && target.agent_id === agentId,
  );
  return named || (flow !== null && agentsIn(flowDefinitionSchema.parse(flow)).includes(agentId));
}

/** What is kept of a hand-over, for later legs. */
function handOverOf(session: SessionRecord, agent: SessionAgent, request: HandOverRequest): HandOver {
  const { handover_id, from_index, pass_variables: pass, pass_history, summary } = request;
  return {
    ...{ handover_id, agent_id: agent.agent_id, version: agent.version, leg: session.leg, from_index },
    ...(pass_history === 'all' ? {} : { summary }),
    ...(pass ? {} : { hidden_variables: Object.entries(session.variables) }),
  };
}

/** Whoever keeps their version of an agent. */
function callerOf({ _id, direction, from_number, to_number, user_identifier }: SessionRecord): string {
  return user_identifier ?? (direction === 'inbound' ? from_number : to_number) ?? _id;
}

function unavailable(): ConflictError {
  return new ConflictError('agent_unavailable', 'The agent cannot take over this call.');
}
